// Tables of Sailor, Metis and Galvatron: times of a transformer's layers.
#include "workloads/profile_formats.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <filesystem>
#include <map>
#include <regex>
#include <set>

#include "sim/config/schema.hpp"
#include "sim/config/view.hpp"

namespace trainyard {
namespace {

constexpr double kMillisecond = 1e-3;

/// A whole number above zero, else nothing.
std::optional<int> count_of(const std::string& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

/// A count that stands as a key.
std::optional<int> key_of(const std::pair<std::string, SourcePlace>& key, const char* what, Diagnostics& diagnostics) {
  const std::optional<int> count = count_of(key.first);
  if (!count) diagnostics.add(key.second, fmt::format("{:?} is no {}", key.first, what));
  return count;
}

/// The JSON document, if it is what the schema wants. (JSON is YAML.)
std::optional<ConfigValue> document_of(const ProfileFile& file, const Schema& schema, Diagnostics& diagnostics) {
  Diagnostics found;
  ConfigValue document = read_yaml_file(file.path, found);
  if (found.empty()) check(document, schema, found);
  keep_mistakes(found, file, diagnostics);
  return found.empty() ? std::optional(std::move(document)) : std::nullopt;
}

ProfileColumn column_of(const ProfileFile& file, int tensor, double samples) {
  ProfileColumn column;
  column.gpu = file.gpu;
  column.tensor = tensor;
  column.samples = samples;
  column.place = file.place;
  return column;
}

/// {layer: [forward, backward, update]} with layers in any order.
void add_sailor_size(const ProfileFile& file, int samples, int tensor, const ConfigValue& layers, ProfileTable& into,
                     Diagnostics& diagnostics) {
  std::map<int, std::pair<Seconds, Seconds>> times;
  double sum = 0;
  for (std::size_t i = 0; i < layers.items.size(); ++i) {
    const std::optional<int> layer = key_of(layers.keys[i], "layer", diagnostics);
    if (!layer) return;
    const View entry(layers.items[i]);
    times[*layer] = {Seconds(entry.at(0).number()), Seconds(entry.at(1).number())};
    sum += entry.at(0).number() + entry.at(1).number();
  }
  if (sum == 0) return;
  ProfileColumn column = column_of(file, tensor, samples);
  int expected = 0;
  for (const auto& [layer, time] : times) {
    if (layer != expected++) return diagnostics.add(layers.place, fmt::format("layer {} is missing", expected - 1));
    column.forward.push_back(time.first);
    column.backward.push_back(time.second);
  }
  into.columns.push_back(std::move(column));
}

/// Tensor size and micro-batch of `DeviceType.A100_tp1_bs4.json` or `.._mbs4_tmp1.json`.
std::optional<std::pair<int, double>> metis_sizes(const ProfileFile& file, Diagnostics& diagnostics) {
  static const std::regex original(R"(_tp(\d+)_bs(\d+)\.json$)"), sailor(R"(mbs(\d+)_tmp(\d+)\.json$)");
  const std::string name = std::filesystem::path(file.path).filename().string();
  std::optional<int> tensor = file.tensor;
  std::optional<double> samples = file.samples;
  std::smatch match;
  if (std::regex_search(name, match, original)) {
    if (!tensor) tensor = count_of(match[1]);
    if (!samples) samples = count_of(match[2]);
  } else if (std::regex_search(name, match, sailor)) {
    if (!samples) samples = count_of(match[1]);
    if (!tensor) tensor = count_of(match[2]);
  }
  if (tensor && samples && *tensor > 0 && *samples > 0) return std::pair(*tensor, *samples);
  diagnostics.add(file.place, fmt::format("neither the scenario nor the name {:?} gives `tensor` and `micro_batch`", name));
  return std::nullopt;
}

/// Forward ms of a sample: of a layer and of the rest, by micro-batch, at one sequence length.
struct GalvatronTimes {
  std::map<int, double> layer, other;
  std::set<int> lengths;
};

GalvatronTimes galvatron_times(const ConfigValue& document, double sequence_length) {
  static const std::regex key(R"(layertype_(0|other)_bsz(\d+)_seq(\d+))");
  GalvatronTimes times;
  for (std::size_t i = 0; i < document.items.size(); ++i) {
    std::smatch match;
    if (!std::regex_match(document.keys[i].first, match, key)) continue;
    const int samples = count_of(match[2]).value_or(0), length = count_of(match[3]).value_or(0);
    times.lengths.insert(length);
    if (length == sequence_length) (match[1] == "0" ? times.layer : times.other)[samples] = View(document.items[i]).number();
  }
  return times;
}

}  // namespace

void keep_mistakes(const Diagnostics& found, const ProfileFile& file, Diagnostics& diagnostics) {
  for (const Diagnostic& one : found.all())
    if (one.place.line > 0)
      diagnostics.add(one.place, one.message);
    else
      diagnostics.add(file.place, fmt::format("{:?} {}", file.path, one.message));
}

void read_sailor_profile(const ProfileFile& file, ProfileTable& into, Diagnostics& diagnostics) {
  const Schema times = schema::list(schema::number(between(0, 1e6), "seconds"), between(2, 3), "forward, backward, update");
  const Schema schema = schema::mapping(
      "micro-batch", schema::mapping("tensor size", schema::mapping("layer", times, "layers"), "by tensor size"), "a profile of Sailor");
  const std::optional<ConfigValue> document = document_of(file, schema, diagnostics);
  if (!document) return;
  for (std::size_t m = 0; m < document->items.size(); ++m) {
    const ConfigValue& sizes = document->items[m];
    const std::optional<int> samples = key_of(document->keys[m], "micro-batch", diagnostics);
    for (std::size_t t = 0; samples && t < sizes.items.size(); ++t)
      if (const std::optional<int> tensor = key_of(sizes.keys[t], "tensor size", diagnostics))
        add_sailor_size(file, *samples, *tensor, sizes.items[t], into, diagnostics);
  }
}

void read_metis_profile(const ProfileFile& file, const ProfileRules& rules, ProfileTable& into, Diagnostics& diagnostics) {
  const std::optional<ConfigValue> document = document_of(file, schema::any("a profile of Metis"), diagnostics);
  const auto sizes = metis_sizes(file, diagnostics);
  if (!document || !sizes || !rules.forward_share) return;
  const ConfigValue* times = document->find("execution_time");
  const ConfigValue* layers = times ? times->find("layer_compute_total_ms") : nullptr;
  if (!layers) return diagnostics.add(document->place, "no execution_time.layer_compute_total_ms: this is no profile of Metis");
  if (!check(*layers, schema::list(schema::number(between(0, 1e9), "ms"), between(1, 1e6), "ms"), diagnostics)) return;
  ProfileColumn column = column_of(file, sizes->first, sizes->second);
  column.rule = fmt::format("both passes were measured together, {} of the time is taken as forward", *rules.forward_share);
  for (std::size_t i = 0; i < layers->items.size(); ++i) {
    const Seconds both(View(layers->items[i]).number() * kMillisecond);
    column.forward.push_back(both * *rules.forward_share);
    column.backward.push_back(both - column.forward.back());
  }
  into.columns.push_back(std::move(column));
}

void read_galvatron_profile(const ProfileFile& file, const ProfileRules& rules, ProfileTable& into, Diagnostics& diagnostics) {
  const Schema schema = schema::mapping("shape", schema::number(between(0, 1e9), "ms"), "a computation profile of Galvatron");
  const std::optional<ConfigValue> document = document_of(file, schema, diagnostics);
  if (!document || !rules.backward_ratio) return;
  into.equal_layers = true;
  const GalvatronTimes times = galvatron_times(*document, rules.sequence_length);
  if (times.layer.empty())
    diagnostics.add(file.place, times.lengths.empty()
                                    ? "the file has no layertype_0_bsz.._seq..: this is no computation profile of Galvatron"
                                    : fmt::format("measured at sequences of {}, not {}", fmt::join(times.lengths, ", "), rules.sequence_length));
  for (const auto& [samples, layer] : times.layer) {
    const auto other = times.other.find(samples);
    if (other == times.other.end() || samples < 1) continue;
    ProfileColumn column = column_of(file, 1, samples);
    column.rule = fmt::format("forward was measured, backward is taken as {} times it; the rest of the model is halved between embedding and head",
                              *rules.backward_ratio);
    const Seconds rest(other->second * samples * kMillisecond);
    column.forward = {rest * 0.5, Seconds(layer * samples * kMillisecond), rest * 0.5};
    for (const Seconds time : column.forward) column.backward.push_back(time * *rules.backward_ratio);
    into.columns.push_back(std::move(column));
  }
}

}  // namespace trainyard
