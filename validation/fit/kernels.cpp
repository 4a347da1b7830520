// fit-kernels DATA_FOLDER [--write GPU_FITS_YAML]: fits the efficiency curves of products and of attention to measured latencies,
// prints them and the errors on the shapes that were held out, and puts them into the catalogue.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>

#include "sim/units/error.hpp"
#include "topologies/catalogue.hpp"
#include "validation/csv.hpp"
#include "validation/fit/command_line.hpp"
#include "validation/fit/kernels_fit.hpp"

namespace trainyard::fit {
namespace {

/// Smaller products than these are no work of a training step.
constexpr double kLeastFlops = 2e10, kLeastAttentionFlops = 1e9;
constexpr int kHeldOutOfTen = 3;

struct System {
  const char* name;
  const char* gpu;
  std::vector<std::string> fits;  ///< entries of the catalogue that hold its curves
};
const System kSystems[] = {{"a100_sxm", "A100-SXM4-80GB", {"A100"}}, {"h100_sxm", "H100-SXM5-80GB", {"H100", "H100-500W"}},
                           {"h200_sxm", "H200-SXM-141GB", {"H200"}}, {"b200_sxm", "B200-SXM-180GB", {"B200"}},
                           {"b300_sxm", "B300-SXM-288GB", {"B300"}}, {"gb200", "GB200-186GB", {"GB200"}},
                           {"gb300", "GB300-288GB", {"GB300"}},      {"l40s", "L40S-48GB", {}}};
struct Kind {
  const char* name;
  DataType type;
  const char* word;  ///< of the curve in the catalogue; "": none
};
// The catalogue's 16-bit curves are those beside which its `sustained` factors were found, and stay.
constexpr Kind kKinds[] = {{"bfloat16", DataType::bf16, ""},
                           {"fp8", DataType::fp8, "fp8"},
                           {"fp8_block", DataType::fp8, ""},
                           {"nvfp4", DataType::fp4, "fp4"}};

/// Curves by name of the fit and word of the curve.
using Curves = std::map<std::pair<std::string, std::string>, GemmCurve>;
using AttentionCurves = std::map<std::string, AttentionCurve>;

/// By the sizes of the weight, so that a held-out shape was not seen with another number of rows: 3 of 10.
bool is_held_out(double first, double second) {
  return std::fmod(first * 31 + second * 17, 1009) < 1009 * kHeldOutOfTen / 10.0;
}

double need(const CsvRow& row, const char* column) {
  const auto value = row.number(column);
  if (!value) throw UserError(fmt::format("{}: no number {:?}", column, row[column]));
  return *value;
}

std::vector<MeasuredProduct> products(const CsvTable& table, const std::string& system, const std::string& kind) {
  std::vector<MeasuredProduct> found;
  for (const CsvRow& row : table.rows) {
    if (!row.is("system", system) || !row.is("dtype", kind)) continue;
    const GemmShape shape{need(row, "m"), need(row, "n"), need(row, "k"), 1};
    if (2 * shape.m * shape.n * shape.k >= kLeastFlops)
      found.push_back({shape, Seconds(need(row, "latency_us") * 1e-6), is_held_out(shape.n, shape.k)});
  }
  return found;
}

std::vector<MeasuredAttention> attentions(const CsvTable& table, const std::string& system) {
  std::vector<MeasuredAttention> found;
  for (const CsvRow& row : table.rows) {
    if (!row.is("system", system) || !row.is("attn_dtype", "bfloat16")) continue;
    MeasuredAttention m{need(row, "batch"),
                        need(row, "seq"),
                        need(row, "heads"),
                        need(row, "head_dim"),
                        Seconds(need(row, "latency_us") * 1e-6),
                        false};
    m.held_out = is_held_out(m.heads * m.head_size, m.batch * m.length);
    if (2 * m.batch * m.heads * m.head_size * m.length * m.length >= kLeastAttentionFlops) found.push_back(m);
  }
  return found;
}

/// Experts of inference: the two products of a gated MLP, its activation, and what brings tokens there and back.
std::vector<MeasuredExperts> layers_of_experts(const CsvTable& table, const std::string& system) {
  std::vector<MeasuredExperts> found;
  for (const CsvRow& row : table.rows) {
    if (!row.is("system", system) || !row.is("dtype", "bfloat16")) continue;
    const double tokens = need(row, "num_tokens"), hidden = need(row, "hidden"), width = need(row, "inter") / need(row, "moe_tp");
    const double each = need(row, "topk"), ranks = need(row, "moe_ep"), experts = need(row, "experts") / ranks;
    const double copies = tokens * each / ranks;
    MeasuredExperts m{{{copies / experts, 2 * width, hidden, experts}, {copies / experts, hidden, width, experts}},
                      Bytes(copies * (6 * hidden + 6 * width) + 2 * tokens * hidden),
                      Seconds(need(row, "latency_us") * 1e-6),
                      is_held_out(hidden, width)};
    if (4 * copies * width * hidden >= kLeastFlops) found.push_back(std::move(m));
  }
  return found;
}

/// Single grouped products inside a training framework, forward and backward.
std::vector<MeasuredExperts> grouped_products(const CsvTable& table, const std::string& device) {
  std::vector<MeasuredExperts> found;
  for (const CsvRow& row : table.rows) {
    if (!row.is("op", "group_matmul") || !row.is("device", device)) continue;
    const double m = need(row, "m"), n = need(row, "n"), k = need(row, "k"), experts = need(row, "n_groups");
    const Flops work(2 * m * n * k * experts);
    const bool weights = row.is("stage", "bwd_grad_w"), inputs = row.is("stage", "bwd_grad_act");
    const GemmShape shape = weights ? GemmShape{k, n, m, experts} : inputs ? GemmShape{m, k, n, experts} : GemmShape{m, n, k, experts};
    found.push_back({{shape}, Bytes(0), work / FlopsPerSecond(need(row, "tflops") * 1e12), is_held_out(n, k)});
  }
  return found;
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return NAN;
  std::ranges::sort(values);
  return values[std::min(values.size() - 1, static_cast<std::size_t>(share * double(values.size())))];
}

template <class Measured, class Ratio>
void print_errors(const std::string& what, const std::vector<Measured>& all, const std::string& curve, Ratio ratio_of) {
  std::vector<double> errors;
  for (const Measured& m : all)
    if (m.held_out) errors.push_back(std::abs(ratio_of(m) - 1));
  fmt::print("{:<22} {:>5} {:>5} {:>7.1f} % {:>7.1f} %  {}\n", what, all.size(), errors.size(),
             100 * quantile(errors, 0.5), 100 * quantile(errors, 0.9), curve);
}

std::string curve_text(const GemmCurve& c) {
  return fmt::format("efficiency: {:.3f}, k_half: {:.0f}, quantisation: {:.2f}", c.efficiency, c.k_half,
                     c.quantisation);
}

std::string whole_text(const GemmCurve& c) {
  return fmt::format("{{{}, sustained: {:.3g}, launch: {:.1f} us}}", curve_text(c), c.sustained, c.launch.value * 1e6);
}

/// Replaces the fitted words of a curve but `sustained` and `launch`: the tables' launches hold those of the cast.
std::string gemm_line(const std::string& line, const std::string& word, const GemmCurve& curve) {
  return "      " + word + ": {" + curve_text(curve) + line.substr(line.find(", sustained: "));
}

std::string attention_text(const AttentionCurve& c) {
  return fmt::format("forward: {:.0f} TFLOPS, forward_half_length: {:.0f}, backward: {:.0f} TFLOPS, backward_half_length: {:.0f}",
                     c.forward.value / 1e12, c.forward_half_length, c.backward.value / 1e12, c.backward_half_length);
}

struct Written {
  Curves products;
  std::map<std::string, GemmCurve> grouped;
  AttentionCurves attention;
};

/// The catalogue's lines with those of the fitted curves replaced, and the curves of grouped products before those of attention.
std::string rewritten(std::istream& in, const Written& written) {
  std::string text, name;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("  - name: ")) name = line.substr(10);
    const std::string word = line.starts_with("      ") ? line.substr(6, line.find(':') - 6) : "";
    if (const auto curve = written.products.find({name, word}); curve != written.products.end()) line = gemm_line(line, word, curve->second);
    if (const auto curve = written.attention.find(name); word == "cudnn" && curve != written.attention.end())
      line = "      cudnn: {" + attention_text(curve->second) + "}";
    const auto grouped = written.grouped.find(name);
    if (grouped != written.grouped.end() && line.starts_with("    grouped_gemm: ")) continue;
    if (grouped != written.grouped.end() && line.starts_with("    attention:")) text += "    grouped_gemm: " + whole_text(grouped->second) + "\n";
    text += line + "\n";
  }
  return text;
}

void write_catalogue(const std::string& file, const Written& written) {
  rewrite_file(file, [&](std::istream& in) { return rewritten(in, written); });
}

/// What training reaches of it: as single products do, or where grouped products were measured in training, what those say.
void print_experts(const std::string& what, const std::vector<MeasuredExperts>& all, const DeviceType& device) {
  print_errors(what, all, whole_text(device.grouped_gemm.at(DataType::bf16)),
               [&](const MeasuredExperts& m) { return ratio(m, device, DataType::bf16); });
}

void fit_grouped(const System& system, const CsvTable& layers, const CsvTable& training, Written& written) {
  DeviceType device = catalogue().gpu(system.gpu)->type;
  const double sustained = device.gemm.at(DataType::bf16).sustained;
  const std::vector<MeasuredExperts> inference = layers_of_experts(layers, system.name);
  if (!inference.empty()) {
    fit_experts(device, DataType::bf16, inference);
    print_experts(fmt::format("{} experts", system.name), inference, device);
    device.grouped_gemm[DataType::bf16].sustained = sustained;
  }
  const char* trained = system.name == std::string_view("b200_sxm") ? "B200-SXM" : system.name == std::string_view("a100_sxm") ? "A100-PCIe-80GB" : "";
  if (const std::vector<MeasuredExperts> own = grouped_products(training, trained); !own.empty()) {
    fit_experts(device, DataType::bf16, own);
    print_experts(fmt::format("{} training", system.name), own, device);
  }
  if (device.grouped_gemm.contains(DataType::bf16) && !system.fits.empty()) written.grouped[system.fits.front()] = device.grouped_gemm[DataType::bf16];
}

void fit_system_products(const System& system, const CsvTable& gemms, Curves& written) {
  for (const Kind& kind : kKinds) {
    DeviceType device = catalogue().gpu(system.gpu)->type;
    const std::vector<MeasuredProduct> all = products(gemms, system.name, kind.name);
    if (all.empty() || !device.peak.contains(kind.type)) continue;
    const Around around = fit_products(device, kind.type, all);
    const GemmCurve& curve = device.gemm[kind.type];
    print_errors(fmt::format("{} {}", system.name, kind.name), all,
                 fmt::format("{}, launch: {:.1f} us, casts {:.2f}", curve_text(curve), curve.launch.value * 1e6, around.casts),
                 [&](const MeasuredProduct& m) { return ratio(m, device, kind.type, around); });
    for (const std::string& fit : system.fits)
      if (*kind.word != '\0') written[{fit, kind.word}] = curve;
  }
}

std::vector<MeasuredPass> backward_passes(const CsvTable& table, const std::string& device) {
  std::vector<MeasuredPass> found;
  for (const CsvRow& row : table.rows)
    if (row.is("device", device) && row.is("op", "sdp_bwd") && row.is("qk_head_dim", "128"))
      found.push_back({need(row, "seq_len"), need(row, "heads"), FlopsPerSecond(need(row, "tflops") * 1e12)});
  return found;
}

/// Backward passes were measured on one Blackwell GPU only.
AttentionCurve fit_blackwell_backward(const CsvTable& table) {
  DeviceType device = catalogue().gpu("B200-SXM-180GB")->type;
  const std::vector<MeasuredPass> passes = backward_passes(table, "B200-SXM");
  fit_backward(device, passes);
  std::vector<double> errors;
  for (const MeasuredPass& m : passes) errors.push_back(std::abs(ratio(m, device) - 1));
  const AttentionCurve curve = device.attention[AttentionKernel::cudnn];
  fmt::print("{:<22} {:>5} {:>5} {:>7.1f} % {:>7.1f} %  backward: {:.0f} TFLOPS, backward_half_length: {:.0f} (all fitted to)\n", "b200 backward",
             passes.size(), 0, 100 * quantile(errors, 0.5), 100 * quantile(errors, 0.9), curve.backward.value / 1e12, curve.backward_half_length);
  return curve;
}

/// Of GPUs with tables of their own for the forward kernel of cuDNN; Blackwell's backward rates follow the forward ones of B200.
AttentionCurves fit_attentions(const CsvTable& table, const AttentionCurve& blackwell) {
  AttentionCurves written;
  double b200 = 0;
  for (const System& system : kSystems) {
    DeviceType device = catalogue().gpu(system.gpu)->type;
    const std::vector<MeasuredAttention> all = attentions(table, system.name);
    const Around around = fit_attention(device, all);
    AttentionCurve curve = device.attention[AttentionKernel::cudnn];
    print_errors(fmt::format("{} attention", system.name), all,
                 fmt::format("forward: {:.0f} TFLOPS, forward_half_length: {:.0f}, launch: {:.1f} us", curve.forward.value / 1e12,
                             curve.forward_half_length, around.launch.value * 1e6),
                 [&](const MeasuredAttention& m) { return ratio(m, device, around); });
    if (device.generation == "Ampere" || device.generation == "Ada") continue;  // no such kernel there
    if (system.fits.front() == "B200") b200 = curve.forward.value;
    if (device.generation.starts_with("Blackwell")) {
      curve.backward = blackwell.backward * (curve.forward.value / b200);
      curve.backward_half_length = blackwell.backward_half_length;
    }
    for (const std::string& fit : system.fits) written[fit] = curve;
  }
  return written;
}

void run(const std::string& folder, const std::string& file) {
  const CsvTable gemms = read_csv(folder + "/gemm_measured_aiconfigurator.csv");
  const CsvTable experts = read_csv(folder + "/moe_layer_measured_aiconfigurator.csv");
  const CsvTable training = read_csv(folder + "/simumax_op_efficiency.csv");
  Written written;
  fmt::print("{:<22} {:>5} {:>5} {:>9} {:>9}\n", "held-out shapes", "rows", "out", "median", "p90");
  for (const System& system : kSystems) {
    fit_system_products(system, gemms, written.products);
    fit_grouped(system, experts, training, written);
  }
  const AttentionCurve blackwell = fit_blackwell_backward(training);
  written.attention = fit_attentions(read_csv(folder + "/attention_fwd_measured_aiconfigurator.csv"), blackwell);
  if (!file.empty()) write_catalogue(file, written);
}

}  // namespace
}  // namespace trainyard::fit

int main(int count, char** words) { return trainyard::fit::run_fit(count, words, "fit-kernels DATA_FOLDER [--write topologies/gpu_fits.yaml]", trainyard::fit::run); }
