#include "sim/report/figures.hpp"

namespace trainyard {
namespace {

/// Per GPU and per FLOP; nothing where the denominator is not known.
std::optional<double> ratio(double value, double by) {
  return by > 0 ? std::optional<double>(value / by) : std::nullopt;
}

void add_price(Figures& figures, const StepReport& step) {
  if (!step.price_known) return;
  figures.price_usd_per_h = in_dollars_per_hour(step.price);
  figures.usd_per_million_tokens = ratio(step.price.value * step.step_time.value * 1e6, step.tokens);
  figures.usd_per_million_samples = ratio(step.price.value * step.step_time.value * 1e6, step.samples);
}

void add_flops(Figures& figures, const StepReport& step) {
  if (!step.flops_known) return;
  const double seconds = step.step_time.value, gpus = static_cast<double>(step.gpus);
  figures.model_tflops_per_gpu = ratio(step.model_flops.value, seconds * gpus * 1e12);
  figures.hardware_tflops_per_gpu = ratio(step.hardware_flops.value, seconds * gpus * 1e12);
  figures.mfu = ratio(step.model_flops.value, seconds * step.peak.value);
  figures.hfu = ratio(step.hardware_flops.value, seconds * step.peak.value);
}

void add_tokens(Figures& figures, const StepReport& step) {
  if (!(step.tokens > 0)) return;
  const double seconds = step.step_time.value, gpus = static_cast<double>(step.gpus);
  figures.tokens_per_s = ratio(step.tokens, seconds);
  figures.tokens_per_s_per_gpu = ratio(step.tokens, seconds * gpus);
}

/// What was paid in all over what was reached in all.
void add_job(Figures& figures, const JobReport& job) {
  figures.goodput_samples_per_s = ratio(job.samples, job.length.value);
  if (figures.tokens_per_s) figures.goodput_tokens_per_s = ratio(job.tokens, job.length.value);
  figures.price_usd_per_h = figures.usd_per_million_tokens = figures.usd_per_million_samples = std::nullopt;
  if (!job.money.known) return;
  figures.price_usd_per_h = ratio(job.money.total().value * 3600, job.length.value);
  figures.usd_per_million_tokens = ratio(job.money.total().value * 1e6, job.tokens);
  figures.usd_per_million_samples = ratio(job.money.total().value * 1e6, job.samples);
}

}  // namespace

bool has_memory(const CaseResult& result) {
  return result.status != CaseStatus::error && result.step.memory.capacity.value > 0;
}

Figures figures_of(const CaseResult& result) {
  Figures figures;
  if (result.status != CaseStatus::ok) return figures;
  const StepReport& step = result.step;
  const double seconds = step.step_time.value;
  figures.gpus = step.gpus;
  figures.step_time_s = seconds;
  figures.first_step_s = step.first_step_time.value;
  if (step.samples > 0) figures.samples_per_s = ratio(step.samples, seconds);
  add_tokens(figures, step);
  add_flops(figures, step);
  figures.bubble_fraction = step.bubble_fraction;
  figures.exposed_communication_fraction = step.exposed_communication_fraction;
  figures.peak_host_memory_bytes = step.peak_host_memory.value;
  add_price(figures, step);
  if (result.job) add_job(figures, *result.job);
  return figures;
}

}  // namespace trainyard
