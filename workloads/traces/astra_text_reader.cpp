#include <fmt/format.h>

#include <map>
#include <optional>
#include <sstream>

#include "sim/units/error.hpp"
#include "workloads/traces/readers.hpp"
#include "workloads/traces/trace_files.hpp"
#include "workloads/traces/trace_number.hpp"

namespace trainyard {
namespace {

constexpr std::size_t kColumns = 12;

struct Header {
  std::string mode;
  std::map<std::string, double> values;  ///< model_parallel_NPU_group, ep, pp, vpp, ga, all_gpus, pp_comm, ..
};

/// Who exchanges: which ranks a tensor, data or expert group holds, tensor ranks innermost, as SimAI numbers them.
struct Layout {
  int tensor = 0, expert = 1, pipeline = 1, world = 0;  ///< 0: not said
};

struct Exchange {
  bool none = true;
  ExchangeKind kind = ExchangeKind::all_reduce;
  std::string suffix;  ///< "", "EP", "DP_EP"
  double bytes = 0;
};

struct Layer {
  std::string name;
  double forward = 0, input_gradient = 0, weight_gradient = 0;  ///< times as they stand
  Exchange after_forward, after_input, after_weight;
};

class TextReader {
 public:
  TextReader(const std::string& path, const TraceReading& reading, TraceTables& tables)
      : path_(path), reading_(reading), tables_(tables), builder_(path, reading.lenient) {}

  TraceFile read() {
    std::istringstream text(trace_text(path_));
    read_header(text);
    const std::vector<Layer> layers = read_layers(text);
    for (const Layer& layer : layers) forward(layer);
    for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) backward(*layer);
    TraceFile file;
    file.rank = builder_.finish();
    file.repairs = builder_.repairs();
    file.world_size = layout_.world > 0 ? layout_.world : std::max(1, layout_.tensor);
    return file;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw UserError(fmt::format("{}:{}: {}", path_, line_, what));
  }

  std::vector<std::string> words_of(std::istream& text) {
    std::string line;
    ++line_;
    if (!std::getline(text, line)) return {};
    std::istringstream parts(line);
    std::vector<std::string> words;
    for (std::string word; parts >> word;) words.push_back(word);
    return words;
  }

  double number(const std::string& word, const char* what) const {
    const std::optional<double> value = number_of_word(word);
    if (!value || *value < 0) fail(fmt::format("{} is \"{}\"; a number from 0 is allowed", what, word));
    return *value;
  }

  /// KEY: VALUE or KEY VALUE; of a list (`checkpoints: 2 2 11`) the first counts.
  void read_header(std::istream& text) {
    const std::vector<std::string> words = words_of(text);
    if (words.empty()) fail("the first line has no mode, such as DATA or HYBRID_TRANSFORMER_FWD_IN_BCKWD");
    header_.mode = words[0];
    std::string key;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const bool is_number = words[i].find_first_not_of("0123456789.") == std::string::npos;
      if (!is_number)
        key = words[i].substr(0, words[i].find(':'));
      else if (!key.empty() && header_.values.contains(key) == false)
        header_.values[key] = number(words[i], key.c_str());
    }
    layout_ = {size("model_parallel_NPU_group", 0), size("ep", 1), size("pp", 1), size("all_gpus", 0)};
    if (layout_.world > 0 && reading_.ranks > 0 && layout_.world != reading_.ranks)
      fail(fmt::format("all_gpus: {}, but `ranks` is {}; both must agree", layout_.world, reading_.ranks));
    if (layout_.world == 0) layout_.world = reading_.ranks;
    if (layout_.pipeline > 1)
      fail(fmt::format(
          "pp: {}: the file holds one stage and does not say what passes between stages; only pp: 1 is replayed",
          layout_.pipeline));
    if (layout_.world > 0 && layout_.world % std::max(1, layout_.tensor) != 0)
      fail(fmt::format("all_gpus: {} is no multiple of model_parallel_NPU_group: {}", layout_.world, layout_.tensor));
  }

  /// Of a group of ranks, or of all.
  [[nodiscard]] int size(const char* key, int fallback) const {
    const auto found = header_.values.find(key);
    if (found == header_.values.end()) return fallback;
    const std::optional<int> value = int_of(found->second);
    if (!value || *value < 1 || *value > kMostRanks)
      fail(fmt::format("{} is {}; at least 1 is allowed{}", key, found->second,
                       value && *value < 1 ? "" : fmt::format(", at most {}, and whole numbers", kMostRanks)));
    return *value;
  }

  std::vector<Layer> read_layers(std::istream& text) {
    const std::vector<std::string> count = words_of(text);
    if (count.size() != 1) fail("the second line is not the number of layers");
    const double declared = number(count[0], "the number of layers");
    std::vector<Layer> layers;
    while (text.peek() != std::istream::traits_type::eof())
      if (const std::vector<std::string> words = words_of(text); !words.empty()) layers.push_back(layer_of(words));
    if (double(layers.size()) != declared && !reading_.lenient)
      fail(fmt::format(
          "{} layers are declared, {} are there; both must agree (`lenient: true` takes those that are there)",
          declared, layers.size()));
    if (layers.empty()) fail("no layer");
    return layers;
  }

  Layer layer_of(const std::vector<std::string>& words) const {
    if (words.size() < kColumns || words.size() > kColumns + 1)
      fail(fmt::format("a layer has {} columns, or one more; {} are there", kColumns, words.size()));
    Layer layer;
    layer.name = words[0];
    layer.forward = number(words[2], "the time of the forward pass");
    layer.after_forward = exchange_of(words[3], words[4]);
    layer.input_gradient = number(words[5], "the time of the input gradient");
    layer.after_input = exchange_of(words[6], words[7]);
    layer.weight_gradient = number(words[8], "the time of the weight gradient");
    layer.after_weight = exchange_of(words[9], words[10]);
    return layer;
  }

  /// NONE wins over a size that stands beside it.
  Exchange exchange_of(const std::string& kind, const std::string& bytes) const {
    Exchange made;
    made.bytes = number(bytes, "a size");
    if (kind == "NONE") return made;
    made.none = made.bytes == 0;
    const std::size_t mark = kind.find('_');
    made.suffix = mark == std::string::npos ? "" : kind.substr(mark + 1);
    const bool known_suffix =
        made.suffix.empty() || made.suffix == "EP" || made.suffix == "DP_EP" || made.suffix == "DP";
    if (!exchange_named(kind.substr(0, mark), made.kind) || !known_suffix)
      fail(
          fmt::format("no exchange is called {}; known: NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER, ALLTOALL, "
                      "BROADCAST, with _EP or _DP_EP",
                      kind));
    return made;
  }

  /// Forward and input gradient: the tensor group; weights: the data group. Where the header says no size, all ranks.
  int group_of(const Exchange& exchange, bool weights) {
    const int t = layout_.tensor;
    const bool data_only = header_.mode == "DATA" || header_.mode == "MICRO", tensor_only = header_.mode == "MODEL";
    const int world = layout_.world > 0 ? layout_.world : t;
    if (exchange.suffix == "EP") return tables_.group({"expert", {}, layout_.expert, std::max(1, t)});
    if (exchange.suffix == "DP_EP")
      return tables_.group({"data of experts",
                            {},
                            std::max(1, world / std::max(1, t * layout_.expert)),
                            std::max(1, t * layout_.expert)});
    if (t == 0 || data_only || tensor_only) return tables_.group({"", {}, 0, 1});
    if (!weights && exchange.suffix.empty()) return tables_.group({"tensor", {}, t, 1});
    return tables_.group({"data", {}, std::max(1, world / t), t});
  }

  int add(const std::string& name, TraceNode node) {
    node.id = next_++;
    node.name = tables_.name(name);
    const int at = builder_.add(node);
    return at;
  }

  void depend(int node, int on) {
    if (on >= 0) builder_.depend(node, std::uint64_t(on), Dependency::data);
  }

  int compute(const std::string& name, double time, TaskKind label, int after) {
    TraceNode node;
    node.work = TraceWork::compute;
    node.label = label;
    node.time = Seconds(time * reading_.text_seconds);
    node.product = true;
    const int at = add(name, node);
    depend(at, after);
    return at;
  }

  /// -1: none.
  int exchange(const std::string& name, const Exchange& what, bool weights, int after) {
    if (what.none) return -1;
    TraceNode node;
    node.work = TraceWork::exchange;
    node.exchange = what.kind;
    node.bytes = what.bytes;
    node.group = group_of(what, weights);
    node.label = !what.suffix.empty() ? TaskKind::expert : weights ? TaskKind::data : TaskKind::tensor;
    const int at = add(name, node);
    depend(at, after);
    return at;
  }

  void forward(const Layer& layer) {
    const int computed = compute(layer.name + " forward", layer.forward, TaskKind::forward, last_);
    const int sent = exchange(layer.name + " forward exchange", layer.after_forward, false, computed);
    last_ = sent >= 0 ? sent : computed;
  }

  /// Weight gradients are exchanged beside what follows: nothing in the step waits for them.
  void backward(const Layer& layer) {
    const int weight =
        compute(layer.name + " weight gradient", layer.weight_gradient, TaskKind::weight_gradient, last_);
    (void)exchange(layer.name + " weight exchange", layer.after_weight, true, weight);
    const int input = compute(layer.name + " input gradient", layer.input_gradient, TaskKind::backward, weight);
    const int sent = exchange(layer.name + " input exchange", layer.after_input, false, input);
    last_ = sent >= 0 ? sent : input;
  }

  const std::string& path_;
  const TraceReading& reading_;
  TraceTables& tables_;
  RankBuilder builder_;
  Header header_;
  Layout layout_;
  int line_ = 0;
  std::uint64_t next_ = 0;
  int last_ = -1;
};

}  // namespace

TraceFile read_astra_text(const std::string& path, const TraceReading& reading, TraceTables& tables) {
  return TextReader(path, reading, tables).read();
}

}  // namespace trainyard
