// graph.txt of PipeDream's profiler.
#include <fmt/format.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>

#include "workloads/profile_formats.hpp"

namespace trainyard {
namespace {

/// Times in seconds and bytes of the whole micro-batch.
struct GraphNode {
  std::string description;
  Seconds forward{}, backward{};
  Bytes output{}, parameters{};
  std::set<int> inputs, readers;
  SourcePlace place;
};
using Graph = std::map<int, GraphNode>;

/// `4.0`, or `[9175040.0; 262144.0]` where a layer has several outputs.
double sum_of(std::string text) {
  for (char& c : text)
    if (c == '[' || c == ']' || c == ';') c = ' ';
  std::istringstream numbers(text);
  double sum = 0;
  for (double one = 0; numbers >> one;) sum += one;
  return sum;
}

class GraphReader {
 public:
  GraphReader(const ProfileFile& file, Diagnostics& diagnostics) : file_(file), diagnostics_(diagnostics) {}

  Graph read() {
    std::ifstream in(file_.path, std::ios::binary);
    if (!in) {
      diagnostics_.add(file_.place, fmt::format("cannot read {:?}", file_.path));
      return {};
    }
    auto source = std::make_shared<SourceFile>();
    source->name = file_.path;
    for (std::string line; std::getline(in, line);) {
      if (!line.empty() && line.back() == '\r') line.pop_back();
      source->lines.push_back(line);
    }
    for (std::size_t i = 0; i < source->lines.size(); ++i) read_line(source->lines[i], {source, int(i) + 1, 1, ""});
    return std::move(graph_);
  }

 private:
  void read_line(const std::string& line, const SourcePlace& place) {
    static const std::regex node(R"(node(\d+) -- (.*) -- forward_compute_time=([0-9.eE+-]+), backward_compute_time=([0-9.eE+-]+), )"
                                 R"(activation_size=(\[[^\]]*\]|[0-9.eE+-]+), parameter_size=([0-9.eE+-]+)( -- stage_id=\d+)?)");
    static const std::regex edge(R"(\tnode(\d+) -- node(\d+))");
    std::smatch match;
    if (line.find_first_not_of(" \t") == std::string::npos) return;
    if (std::regex_match(line, match, node)) {
      GraphNode& made = graph_[std::stoi(match[1])];
      if (made.place.file) diagnostics_.add(place, fmt::format("node{} stands twice", match[1].str()));
      made.description = match[2];
      made.forward = Seconds(sum_of(match[3]) * 1e-3);
      made.backward = Seconds(sum_of(match[4]) * 1e-3);
      made.output = Bytes(sum_of(match[5]));
      made.parameters = Bytes(sum_of(match[6]));
      made.place = place;
    } else if (std::regex_match(line, match, edge)) {
      add_edge(std::stoi(match[1]), std::stoi(match[2]), place);
    } else {
      diagnostics_.add(place, "neither a node (node1 -- NAME -- forward_compute_time=.., ..) nor an edge (\\tnode1 -- node2)");
    }
  }

  void add_edge(int from, int to, const SourcePlace& place) {
    for (const int end : {from, to})
      if (!graph_.contains(end)) return diagnostics_.add(place, fmt::format("there is no node{}", end));
    graph_[from].readers.insert(to);
    graph_[to].inputs.insert(from);
  }

  const ProfileFile& file_;
  Diagnostics& diagnostics_;
  Graph graph_;
};

/// Samples come in through these; their time is that of reading data.
void drop_inputs(Graph& graph) {
  for (auto node = graph.begin(); node != graph.end();) {
    const bool is_input = node->second.inputs.empty() && node->second.description.starts_with("Input");
    for (const int reader : node->second.readers)
      if (is_input) graph[reader].inputs.erase(node->first);
    node = is_input ? graph.erase(node) : std::next(node);
  }
}

/// Empty where the edges close a circle.
std::vector<int> topological_order(const Graph& graph) {
  std::map<int, std::size_t> waiting;
  std::set<int> ready;
  for (const auto& [number, node] : graph) {
    waiting[number] = node.inputs.size();
    if (node.inputs.empty()) ready.insert(number);
  }
  std::vector<int> order;
  while (!ready.empty()) {
    order.push_back(*ready.begin());
    ready.erase(ready.begin());
    for (const int reader : graph.at(order.back()).readers)
      if (--waiting[reader] == 0) ready.insert(reader);
  }
  return order.size() == graph.size() ? order : std::vector<int>{};
}

std::string name_of(int number) { return fmt::format("node{}", number); }

}  // namespace

void read_graph_profile(const ProfileFile& file, ProfileTable& into, Diagnostics& diagnostics) {
  Diagnostics found;
  Graph graph = GraphReader(file, found).read();
  drop_inputs(graph);
  const std::vector<int> order = topological_order(graph);
  if (found.empty() && order.empty()) found.add(file.place, graph.empty() ? "the graph has no layers" : "the graph's edges close a circle");
  if (!file.samples) found.add(file.place, "`micro_batch` is missing: the file does not say of how many samples its times are");
  keep_mistakes(found, file, diagnostics);
  if (!found.empty()) return;
  const bool first = into.layers.empty();
  ProfileColumn column{file.gpu, file.tensor.value_or(1), *file.samples, {}, {}, {}, {}, "", file.place};
  for (const int number : order) {
    const GraphNode& node = graph.at(number);
    column.forward.push_back(node.forward);
    column.backward.push_back(node.backward);
    column.saved.push_back(node.output);
    column.parameters.push_back(node.parameters);
    ProfileLayer layer{name_of(number), node.parameters, node.output * (1 / *file.samples), node.output * (1 / *file.samples), {}, {}, {}, node.place};
    for (const int input : node.inputs) layer.inputs.push_back(name_of(input));
    if (first) into.layers.push_back(std::move(layer));
  }
  if (column.forward.size() != into.layers.size())
    return diagnostics.add(file.place, fmt::format("{} layers, the first file has {}", column.forward.size(), into.layers.size()));
  into.columns.push_back(std::move(column));
}

}  // namespace trainyard
