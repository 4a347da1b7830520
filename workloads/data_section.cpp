#include "workloads/data_section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <numbers>
#include <numeric>

#include "sim/config/text_file.hpp"
#include "workloads/length_file.hpp"

namespace trainyard {
namespace {

constexpr double kMostSamples = 1 << 20;

/// SplitMix64 (Steele et al., OOPSLA 2014): the same numbers on every machine, and number i without those before it.
double uniform(std::uint64_t seed, std::uint64_t i) {
  std::uint64_t z = seed * 0xD1B54A32D192ED03ULL + (i + 1) * 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  z ^= z >> 31;
  return (double(z >> 11) + 0.5) / double(1ULL << 53);
}

/// Where lengths come from.
class LengthSource {
 public:
  LengthSource(const View& section, const std::string& directory, std::uint64_t seed, Diagnostics& diagnostics)
      : seed_(seed) {
    if (section.is_list())
      list(section);
    else
      drawn(section, directory, diagnostics);
  }

  /// Of sample number i.
  [[nodiscard]] double length(std::uint64_t i) const {
    if (!listed_.empty()) return listed_[i % listed_.size()];
    const double u = uniform(seed_, 2 * i);
    if (!table_.lengths.empty()) return table_.lengths[std::size_t(std::ranges::lower_bound(sums_, u) - sums_.begin())];
    if (high_ > 0) return low_ + std::floor(u * (high_ - low_ + 1));
    const double normal = std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * uniform(seed_, 2 * i + 1));
    return std::round(median_ * std::exp(sigma_ * normal));
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void drawn(const View& section, const std::string& directory, Diagnostics& diagnostics) {
    int given = 0;
    for (const char* key : {"log_normal", "uniform", "trace"}) given += bool(section[key]);
    if (given != 1)
      return diagnostics.add(section.place(), "lengths are a list, or one of log_normal, uniform and trace");
    if (section["log_normal"]) log_normal(section["log_normal"]);
    if (section["uniform"]) even(section["uniform"], diagnostics);
    if (section["trace"]) trace(section, directory, diagnostics);
  }

  void list(const View& section) {
    for (std::size_t i = 0; i < section.size(); ++i) listed_.push_back(double(section.at(i).integer()));
    text_ = fmt::format("{} lengths in turn", listed_.size());
  }

  void log_normal(const View& section) {
    median_ = section["median"].number();
    sigma_ = section["sigma"].number();
    text_ = fmt::format("log-normal, median {:g}, sigma {:g}", median_, sigma_);
  }

  void even(const View& section, Diagnostics& diagnostics) {
    low_ = double(section.at(0).integer());
    high_ = double(section.at(1).integer());
    if (low_ > high_) diagnostics.add(section.place(), fmt::format("from {} to {}", low_, high_));
    text_ = fmt::format("uniform from {} to {}", low_, high_);
  }

  void trace(const View& section, const std::string& directory, Diagnostics& diagnostics) {
    const View file = section["trace"];
    if (!section["format"]) return diagnostics.add(section.place(), "`format` is missing");
    const std::string path = (std::filesystem::path(directory) / file.text()).lexically_normal().string();
    const TextFile text = read_text_file(path);
    if (!text.error.empty()) return diagnostics.add(file.place(), fmt::format("{}: {}", path, text.error));
    table_ = read_length_file(text.text, section["format"].text(), section["field"].text_or(""));
    if (!table_.problem.empty()) return diagnostics.add(file.place(), fmt::format("{}: {}", path, table_.problem));
    sums_.resize(table_.weights.size());
    std::partial_sum(table_.weights.begin(), table_.weights.end(), sums_.begin());
    sums_.back() = 1;
    text_ = "lengths of " + file.text();
  }

  std::uint64_t seed_;
  std::string text_;
  std::vector<double> listed_, sums_;
  LengthTable table_;
  double median_ = 0, sigma_ = 0, low_ = 0, high_ = 0;
};

/// Samples are drawn until they would fill all packs; the fullest make the batch, what is left waits for the next.
std::vector<SampleSize> packed_batch(const LengthSource& source, double packs, double capacity) {
  std::vector<double> lengths;
  for (double sum = 0; sum < packs * capacity; sum += lengths.back())
    lengths.push_back(std::clamp(source.length(lengths.size()), 1.0, capacity));
  std::vector<SampleSize> sizes;
  for (const std::vector<int>& pack : packed(lengths, capacity)) {
    SampleSize size{0, capacity, 0};
    for (const int i : pack) {
      size.tokens += lengths[std::size_t(i)];
      size.squares += lengths[std::size_t(i)] * lengths[std::size_t(i)];
    }
    sizes.push_back(size);
  }
  while (double(sizes.size()) > packs) sizes.erase(std::ranges::min_element(sizes, {}, &SampleSize::tokens));
  return sizes;
}

bool has_window(const Workload& workload) {
  return std::ranges::any_of(workload.modules, [](const Module& module) {
    return std::ranges::any_of(module.types, [](const LayerType& type) {
      return std::ranges::any_of(type.operators, [](const Operator& op) { return op.attention.window > 0; });
    });
  });
}

/// What the sums over a batch do not say enough for.
std::string refused(const Workload& workload) {
  const auto measured = [](const LayerType& type) { return type.profile.has_value(); };
  if (std::ranges::any_of(workload.modules,
                          [&](const Module& module) { return std::ranges::any_of(module.types, measured); }))
    return "samples of different length with measured layers: not simulated yet";
  return has_window(workload) ? "samples of different length with a window of attention: not simulated yet" : "";
}

bool draw_lengths(const View& section, const std::string& directory, Workload& workload, Diagnostics& diagnostics) {
  Data& data = workload.data;
  const std::size_t before = diagnostics.all().size();
  const LengthSource source(section["lengths"], directory, std::uint64_t(section["seed"].integer_or(1)), diagnostics);
  if (diagnostics.all().size() > before) return false;
  const std::string batching = section["batching"].text_or("padding");
  data.padded = batching == "padding";
  if (batching == "packing") {
    data.batch = packed_batch(source, workload.global_batch, data.sequence_length);
  } else {
    for (int i = 0; i < int(workload.global_batch); ++i) {
      const double tokens = std::clamp(source.length(std::uint64_t(i)), 1.0, data.sequence_length);
      data.batch.push_back({tokens, tokens, tokens * tokens});
    }
  }
  data.batch_text = source.text() + ", " + batching;
  return true;
}

/// What the encoder sees of each sample: images, and the pictures into which it joins the frames of a video, the last of them filled up.
class Pictures {
 public:
  Pictures(const View& section, double joined_frames) : images_(section["images"]), frames_(section["frames"]), joined_(std::max(1.0, joined_frames)) {}

  [[nodiscard]] bool vary() const { return images_.is_list() || frames_.is_list(); }
  [[nodiscard]] View place() const { return frames_ ? frames_ : images_; }
  /// Of sample number i.
  [[nodiscard]] double of(std::size_t i) const {
    const double images = images_.is_list() ? double(images_.at(i % images_.size()).integer()) : images_.number_or(frames_ ? 0 : 1);
    return images + std::ceil(frames(i) / joined_);
  }
  [[nodiscard]] double frames(std::size_t i) const {
    return double(frames_.is_list() ? frames_.at(i % frames_.size()).integer() : frames_.integer_or(0));
  }
  [[nodiscard]] std::string text(double mean) const {
    return fmt::format("{:g} {} on average", mean, frames_ ? fmt::format("images, or {:g} joined frames,", joined_) : "images");
  }

 private:
  View images_, frames_;
  double joined_;
};

/// A sample's frames and images become tokens, which are part of its sequence.
bool fit_in_sequence(const Pictures& pictures, double samples, const Workload& workload, Diagnostics& diagnostics) {
  const std::vector<LayerType>& types = workload.modules.front().types;
  const auto projector = std::ranges::find(types, "projector", &LayerType::name);
  for (std::size_t i = 0; i < std::size_t(samples); ++i) {
    const double tokens = pictures.of(i) * projector->samples.tokens;
    if (pictures.frames(i) == 0 || tokens <= workload.data.sequence_length) continue;
    diagnostics.add(pictures.place().place(), fmt::format("a sample of {:.0f} frames has {:.0f} tokens of pictures, more than sequence_length {:.0f}", pictures.frames(i),
                                                          tokens, workload.data.sequence_length));
    return false;
  }
  return true;
}

/// The mean goes to the encoder's layers, what a sample has over it to the batch.
void read_pictures(const View& section, double joined_frames, Workload& workload, Diagnostics& diagnostics) {
  Data& data = workload.data;
  const Pictures pictures(section, joined_frames);
  const auto sees_images = [](const LayerType& type) { return type.samples.width > 0; };
  if (!std::ranges::any_of(workload.modules.front().types, sees_images) || (section["frames"] && joined_frames == 0))
    return diagnostics.add(pictures.place().place(), fmt::format("{} need a model with an encoder of images", section["frames"] ? "frames" : "images"));
  if (!fit_in_sequence(pictures, pictures.vary() ? workload.global_batch : 1, workload, diagnostics)) return;
  double mean = pictures.vary() ? 0 : pictures.of(0);
  if (pictures.vary()) {
    if (data.batch.empty())
      data.batch.assign(std::size_t(workload.global_batch),
                        {data.sequence_length, data.sequence_length, data.sequence_length * data.sequence_length});
    for (std::size_t i = 0; i < data.batch.size(); ++i) mean += data.batch[i].images = pictures.of(i);
    mean /= double(data.batch.size());
    if (mean == 0) return diagnostics.add(pictures.place().place(), "no sample has an image");
    for (SampleSize& sample : data.batch) sample.images /= mean;
    data.batch_text += (data.batch_text.empty() ? "" : ", ") + pictures.text(mean);
  }
  for (LayerType& type : workload.modules.front().types)
    if (sees_images(type)) type.samples.sequences = mean;
}

}  // namespace

std::vector<std::vector<int>> packed(const std::vector<double>& lengths, double capacity) {
  std::vector<int> order(lengths.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater<>(), [&](int i) { return lengths[std::size_t(i)]; });
  std::vector<std::vector<int>> packs;
  std::multimap<double, std::size_t> room;  // left -> pack
  for (const int i : order) {
    const double length = lengths[std::size_t(i)];
    auto best = room.lower_bound(length);
    if (best == room.end()) {
      packs.emplace_back();
      best = room.emplace(capacity, packs.size() - 1);
    }
    const auto [left, pack] = *best;
    packs[pack].push_back(i);
    room.erase(best);
    room.emplace(left - length, pack);
  }
  for (std::vector<int>& pack : packs) std::ranges::sort(pack);
  std::ranges::sort(packs, {}, [](const std::vector<int>& pack) { return pack.front(); });
  return packs;
}

Schema data_schema() {
  using namespace schema;
  const Range tokens = between(1, 1 << 24);
  return object(
      {optional("images",
                one_of({number(between(0, 1e4), "on average"),
                        list(integer(between(0, 1e4), "images"), between(1, 1 << 20), "of the samples, in turn")},
                       "images of a sample, for models with an encoder of images"),
                "1"),
       optional("frames",
                one_of({integer(between(0, 1e5), "of every sample"),
                        list(integer(between(0, 1e5), "frames"), between(1, 1 << 20), "of the samples, in turn")},
                       "frames of a sample's video, of which the encoder joins as many in a patch as the model says; beside `images`, else instead")),
       optional(
           "lengths",
           one_of(
               {list(integer(tokens, "tokens"), between(1, 1 << 20), "in turn"),
                object({optional("log_normal", object({required("median", number(above(0, 1 << 24), "tokens")),
                                                       required("sigma", number(between(0, 10), "of the logarithm"))},
                                                      "log-normal distribution")),
                        optional("uniform", list(integer(tokens, "tokens"), between(2, 2), "shortest and longest")),
                        optional("trace", text("file of requests")),
                        optional("format", choice({"azure", "mooncake", "servegen", "vidur"}, "of the file")),
                        optional("field", text("column or key of the lengths; default: prompt and answer together "
                                               "(servegen: input_tokens)"))},
                       "drawn")},
               "tokens of the samples; longer than `sequence_length` are cut")),
       optional("batching",
                choice({"padding", "packing", "varying"},
                       "padding: a micro-batch's samples are as long as its longest; packing: samples fill sequences "
                       "of `sequence_length`, "
                       "of which the global batch counts; varying: neither, so that micro-batches differ"),
                "padding"),
       optional("seed", integer(between(0, 1e9), "of the draws"), "1")},
      "samples of different length");
}

void read_data(const View& section, const std::string& directory, Workload& workload, Diagnostics& diagnostics, double joined_frames) {
  Data& data = workload.data;
  if (data.sequence_length == 0) return diagnostics.add(section.place(), "data needs samples with tokens");
  const bool sees = section["images"] || section["frames"];
  if (!section["lengths"] && !sees) return diagnostics.add(section.place(), "data says `lengths`, `images` or `frames`");
  const bool varies = section["lengths"] || section["images"].is_list() || section["frames"].is_list();
  if (const std::string why = varies ? refused(workload) : ""; !why.empty())
    return diagnostics.add(section.place(), why);
  if (varies && workload.global_batch > kMostSamples)
    return diagnostics.add(section.place(), fmt::format("a batch of {}: at most {:.0f} samples that differ",
                                                        workload.global_batch, kMostSamples));
  if (section["lengths"] && !draw_lengths(section, directory, workload, diagnostics)) return;
  if (sees) read_pictures(section, joined_frames, workload, diagnostics);
}

}  // namespace trainyard
