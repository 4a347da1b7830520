// fit-kernels DATA_FOLDER [--write GPU_FITS_YAML]: fits the efficiency curves of products and of forward attention to
// measured latencies, prints them and the errors on the shapes that were held out, and puts the products' into the
// catalogue.
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
  const char* fit;
};
constexpr System kSystems[] = {{"a100_sxm", "A100-SXM4-80GB", "A100"}, {"h100_sxm", "H100-SXM5-80GB", "H100"},
                               {"h200_sxm", "H200-SXM-141GB", "H200"}, {"b200_sxm", "B200-SXM-180GB", "B200"},
                               {"b300_sxm", "B300-SXM-288GB", "B300"}, {"gb200", "GB200-186GB", "GB200"},
                               {"gb300", "GB300-288GB", "GB300"},      {"l40s", "L40S-48GB", ""}};
struct Kind {
  const char* name;
  DataType type;
};
constexpr Kind kKinds[] = {
    {"bfloat16", DataType::bf16}, {"fp8", DataType::fp8}, {"fp8_block", DataType::fp8}, {"nvfp4", DataType::fp4}};

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

/// Replaces the fitted words of the default curve of a fit; `sustained` stays as it is.
std::string rewritten(std::istream& in, const std::map<std::string, GemmCurve>& curves) {
  std::string text, name;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("  - name: ")) name = line.substr(10);
    const auto curve = curves.find(name);
    const std::size_t sustained = line.find(", sustained: "), launch = line.find(", launch: ");
    if (curve != curves.end() && line.starts_with("      default: {") && sustained != std::string::npos &&
        launch != std::string::npos)
      line = "      default: {" + curve_text(curve->second) + line.substr(sustained, launch - sustained) +
             fmt::format(", launch: {:.1f} us}}", curve->second.launch.value * 1e6);
    text += line + "\n";
  }
  return text;
}

void write_catalogue(const std::string& file, const std::map<std::string, GemmCurve>& curves) {
  rewrite_file(file, [&](std::istream& in) { return rewritten(in, curves); });
}

void run(const std::string& folder, const std::string& file) {
  const CsvTable gemms = read_csv(folder + "/gemm_measured_aiconfigurator.csv");
  const CsvTable attention = read_csv(folder + "/attention_fwd_measured_aiconfigurator.csv");
  std::map<std::string, GemmCurve> written;
  fmt::print("{:<22} {:>5} {:>5} {:>9} {:>9}\n", "held-out shapes", "rows", "out", "median", "p90");
  for (const System& system : kSystems) {
    for (const Kind& kind : kKinds) {
      DeviceType device = catalogue().gpu(system.gpu)->type;
      const std::vector<MeasuredProduct> all = products(gemms, system.name, kind.name);
      if (all.empty() || !device.peak.contains(kind.type)) continue;
      fit_products(device, kind.type, all);
      const GemmCurve& curve = device.gemm[kind.type];
      print_errors(fmt::format("{} {}", system.name, kind.name), all,
                   fmt::format("{}, launch: {:.1f} us", curve_text(curve), curve.launch.value * 1e6),
                   [&](const MeasuredProduct& m) { return ratio(m, device, kind.type); });
      if (kind.type == DataType::bf16 && *system.fit != '\0') written[system.fit] = curve;
    }
    DeviceType device = catalogue().gpu(system.gpu)->type;
    const std::vector<MeasuredAttention> all = attentions(attention, system.name);
    fit_attention(device, all);
    const AttentionCurve& curve = device.attention[AttentionKernel::cudnn];
    print_errors(fmt::format("{} attention", system.name), all,
                 fmt::format("forward: {:.0f} TFLOPS, forward_half_length: {:.0f}", curve.forward.value / 1e12,
                             curve.forward_half_length),
                 [&](const MeasuredAttention& m) { return ratio(m, device); });
  }
  if (!file.empty()) write_catalogue(file, written);
}

}  // namespace
}  // namespace trainyard::fit

int main(int count, char** words) { return trainyard::fit::run_fit(count, words, "fit-kernels DATA_FOLDER [--write topologies/gpu_fits.yaml]", trainyard::fit::run); }
