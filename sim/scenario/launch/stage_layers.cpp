#include "sim/scenario/launch/stage_layers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace trainyard::launch {
namespace {

using Counts = std::vector<std::int64_t>;

class StageReader {
 public:
  StageReader(Reading& reading, const StageArguments& names, Diagnostics& diagnostics)
      : r_(reading),
        s_(reading.settings),
        names_(names),
        diagnostics_(diagnostics),
        layers_(s_.count("model.layers", 0)),
        stages_(std::max<std::int64_t>(1, s_.count("plan.pipeline", 1))) {}

  void read() {
    if (layers_ < 1) return;  // said to be missing elsewhere
    const bool ends = s_.has("raw.first_layers") || s_.has("raw.last_layers");
    extra_ = (s_.has("raw.embedding_is_a_layer") ? 1 : 0) + (s_.has("raw.loss_is_a_layer") ? 1 : 0);
    if (ends && extra_ > 0)
      return mistake(
          "raw.first_layers",
          "--decoder-first/last-pipeline-num-layers and --account-for-..-in-pipeline-split exclude each other");
    if (ends && s_.has("raw.layers_per_chunk"))
      return mistake("raw.layers_per_chunk",
                     "with unequal stages Megatron-LM wants --num-virtual-stages-per-pipeline-rank");
    if (!chunks()) return;
    s_.set("plan.chunks", chunks_);
    const Counts counts = ends ? with_given_ends() : with_extra();
    if (!counts.empty() && std::ranges::any_of(counts, [&](std::int64_t n) { return n != counts.front(); }))
      s_.set("plan.layers", fmt::format("[{}]", fmt::join(counts, ", ")));
  }

 private:
  void mistake(std::string_view key, std::string message) { diagnostics_.add(r_.place(key), std::move(message)); }

  bool chunks() {
    chunks_ = s_.count("raw.chunks", 1);
    if (s_.has("raw.layers_per_chunk")) {
      const std::int64_t each = s_.count("raw.layers_per_chunk", 1), slots = layers_ + extra_;
      if (each < 1 || slots % stages_ != 0 || slots / stages_ % each != 0)
        return mistake("raw.layers_per_chunk",
                       fmt::format("{} layers in {} stages do not divide into chunks of {}", slots, stages_, each)),
               false;
      chunks_ = slots / stages_ / each;
    }
    const char* key = s_.has("raw.chunks") ? "raw.chunks" : "raw.layers_per_chunk";
    if (chunks_ < 1) return mistake(key, "at least 1 chunk a stage"), false;
    if (chunks_ > 1 && stages_ == 1)
      return mistake(key, fmt::format("several chunks a stage need {} above 1", names_.pipeline)), false;
    return true;
  }

  /// The embedding and the loss take the place of a layer in the first and the last visit.
  Counts with_extra() {
    const std::int64_t slots = layers_ + extra_, visits = stages_ * chunks_;
    if (slots % visits != 0) {
      const std::string what = extra_ > 0
                                   ? fmt::format("{} {} and {} for embedding and loss", names_.layers, layers_, extra_)
                                   : fmt::format("{} {}", names_.layers, layers_);
      mistake("model.layers", fmt::format("{} do not divide over {} {}{}", what, names_.pipeline, stages_,
                                          chunks_ > 1 ? fmt::format(" x {} chunks", chunks_) : ""));
      return {};
    }
    Counts counts(static_cast<std::size_t>(visits), slots / visits);
    if (s_.has("raw.embedding_is_a_layer")) --counts.front();
    if (s_.has("raw.loss_is_a_layer")) --counts.back();
    return counts;
  }

  Counts with_given_ends() {
    const bool first = s_.has("raw.first_layers"), last = s_.has("raw.last_layers");
    const std::int64_t others = stages_ - (first ? 1 : 0) - (last ? 1 : 0);
    const std::int64_t left = layers_ - s_.count("raw.first_layers", 0) - s_.count("raw.last_layers", 0);
    const char* key = first ? "raw.first_layers" : "raw.last_layers";
    if (others < 0 || left < 0 || (others == 0 ? left != 0 : left % (others * chunks_) != 0)) {
      mistake(key, fmt::format("{} layers are left for {} stages{}, which do not divide", left, others,
                               chunks_ > 1 ? fmt::format(" x {} chunks", chunks_) : ""));
      return {};
    }
    Counts counts;
    for (std::int64_t visit = 0; visit < stages_ * chunks_; ++visit) {
      const std::int64_t stage = visit % stages_;
      const std::int64_t middle = others == 0 ? 0 : left / others;
      const std::int64_t whole = first && stage == 0            ? s_.count("raw.first_layers", 0)
                                 : last && stage == stages_ - 1 ? s_.count("raw.last_layers", 0)
                                                                : middle;
      if (whole % chunks_ != 0)
        return mistake(key, fmt::format("{} layers do not divide into {} chunks", whole, chunks_)), Counts{};
      counts.push_back(whole / chunks_);
    }
    return counts;
  }

  Reading& r_;
  Settings& s_;
  const StageArguments& names_;
  Diagnostics& diagnostics_;
  std::int64_t layers_, stages_, chunks_ = 1, extra_ = 0;
};

/// Whether every chunk of a stage holds the same number, and all stages between the first and the last too.
bool has_equal_middle(const Counts& counts, std::size_t stages) {
  for (std::size_t visit = 0; visit < counts.size(); ++visit) {
    const std::size_t stage = visit % stages;
    if (counts[visit] != counts[stage]) return false;
    if (stage > 0 && stage + 1 < stages && counts[visit] != counts[1]) return false;
  }
  return true;
}

bool has_extra_at_ends(const Counts& counts) {
  if (counts.size() < 3) return false;
  const std::int64_t middle = counts[1];
  for (std::size_t i = 1; i + 1 < counts.size(); ++i)
    if (counts[i] != middle) return false;
  const auto fits = [&](std::int64_t end) { return end == middle || end == middle - 1; };
  return fits(counts.front()) && fits(counts.back());
}

}  // namespace

Counts counts_of(const std::string& list) {
  Counts counts;
  for (std::size_t at = 0; at < list.size(); ++at) {
    if (list[at] < '0' || list[at] > '9') continue;
    std::size_t used = 0;
    counts.push_back(std::stoll(list.substr(at), &used));
    at += used;
  }
  return counts;
}

void read_stage_layers(Reading& reading, const StageArguments& names, Diagnostics& diagnostics) {
  StageReader(reading, names, diagnostics).read();
}

std::int64_t fewest_layers(const Settings& s) {
  const Counts counts = counts_of(s.get("plan.layers"));
  if (!counts.empty()) return *std::ranges::min_element(counts);
  return s.count("model.layers", 0) /
         std::max<std::int64_t>(1, s.count("plan.pipeline", 1) * s.count("plan.chunks", 1));
}

std::string write_stage_layers(Settings& s) {
  const std::int64_t chunks = s.count("plan.chunks", 1);
  const std::string list = s.get("plan.layers");
  const Counts counts = counts_of(list);
  s.drop("plan.chunks");
  s.drop("plan.layers");
  if (counts.empty()) {
    if (chunks > 1) s.set("raw.layers_per_chunk", fewest_layers(s) / chunks);
    return "";
  }
  const auto stages = static_cast<std::size_t>(s.count("plan.pipeline", 1));
  if (chunks > 1) s.set("raw.chunks", chunks);
  if (has_equal_middle(counts, stages)) {
    const bool middle = stages > 2;
    if (!middle || counts.front() != counts[1]) s.set("raw.first_layers", counts.front() * chunks);
    if (!middle || counts.back() != counts[1]) s.set("raw.last_layers", counts.back() * chunks);
    return "";
  }
  if (!has_extra_at_ends(counts)) return fmt::format("stages of {} layers", list);
  if (counts.front() < counts[1]) s.set("raw.embedding_is_a_layer", "true");
  if (counts.back() < counts[1]) s.set("raw.loss_is_a_layer", "true");
  return "";
}

}  // namespace trainyard::launch
