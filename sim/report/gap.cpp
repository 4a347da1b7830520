#include "sim/report/gap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>

#include "sim/report/numbers.hpp"
#include "sim/units/text.hpp"

namespace trainyard {
namespace {

constexpr double kLeastShare = 0.005, kLeastSaved = 0.01;
constexpr std::size_t kMostReasons = 3;

bool uneven(const PlanTraits& plan) { return plan.least_layers != plan.most_layers; }

std::string instead(const std::string& first, const std::string& second) {
  return first.empty() || second.empty() || first == second ? "" : fmt::format("{} instead of {}", first, second);
}

std::string counted(double first, const char* what, double second) {
  return fmt::format("{} {} instead of {}", whole(first), what, whole(second));
}

/// Micro-batches hide the filling and emptying of so many stages.
std::string fuller(const PlanTraits& a, const PlanTraits& b) {
  if (a.stages < b.stages) return counted(a.stages, a.stages == 1 ? "stage" : "stages", b.stages);
  if (b.micro_batches > 0 && a.micro_batches > 1.2 * b.micro_batches)
    return counted(a.micro_batches, "micro-batches", b.micro_batches);
  return "";
}

std::string smaller_tensor_groups(const PlanTraits& a, const PlanTraits& b) {
  return a.most_tensor < b.most_tensor ? fmt::format("tensor groups of {} instead of {}", a.most_tensor, b.most_tensor)
                                       : "";
}

std::string follows_speed(const PlanTraits& a, const PlanTraits& b, const char* words) {
  return a.kinds > 1 && uneven(a) && !uneven(b) ? words : "";
}

using Cause = std::string (*)(const PlanTraits& faster, const PlanTraits& slower);

std::string first_of(std::initializer_list<std::string> causes) {
  for (const std::string& cause : causes)
    if (!cause.empty()) return cause;
  return "";
}

std::string of_bubble(const PlanTraits& a, const PlanTraits& b) {
  return first_of({follows_speed(a, b, "stages follow GPU speed"),
                   a.kinds < b.kinds ? "no slower GPUs to wait for" : "", fuller(a, b),
                   instead(a.schedule, b.schedule)});
}
std::string of_tensor(const PlanTraits& a, const PlanTraits& b) { return smaller_tensor_groups(a, b); }
std::string of_pipeline(const PlanTraits& a, const PlanTraits& b) {
  return first_of(
      {a.stages < b.stages ? counted(a.stages, a.stages == 1 ? "stage" : "stages", b.stages) : "",
       a.micro_batches < b.micro_batches ? counted(a.micro_batches, "micro-batches", b.micro_batches) : ""});
}
std::string of_data(const PlanTraits& a, const PlanTraits& b) {
  return first_of(
      {a.zero != b.zero ? fmt::format("ZeRO-{} instead of ZeRO-{}", a.zero, b.zero) : "",
       a.replicas < b.replicas ? counted(a.replicas, a.replicas == 1 ? "replica" : "replicas", b.replicas) : "",
       a.stages > b.stages ? "more stages, so fewer gradients on a GPU" : ""});
}
std::string of_recompute(const PlanTraits& a, const PlanTraits& b) { return instead(a.recompute, b.recompute); }
std::string of_optimizer(const PlanTraits& a, const PlanTraits& b) {
  return a.zero > b.zero ? "the update is shared out" : "";
}
std::string of_compute(const PlanTraits& a, const PlanTraits& b) {
  return first_of({follows_speed(a, b, "faster GPUs hold more layers"), smaller_tensor_groups(a, b),
                   a.micro_batch > b.micro_batch
                       ? fmt::format("micro-batches of {:.4g} instead of {:.4g}", a.micro_batch, b.micro_batch)
                       : ""});
}
std::string unexplained(const PlanTraits&, const PlanTraits&) { return ""; }

struct Kind {
  const char* words;
  Seconds TimeBreakdown::*part;
  Cause cause;
};
constexpr std::array kKinds{Kind{"pipeline bubble", &TimeBreakdown::bubble, of_bubble},
                            Kind{"recomputation", &TimeBreakdown::recompute, of_recompute},
                            Kind{"exposed tensor collectives", &TimeBreakdown::tensor, of_tensor},
                            Kind{"exposed messages between stages", &TimeBreakdown::pipeline, of_pipeline},
                            Kind{"exposed gradient traffic", &TimeBreakdown::data, of_data},
                            Kind{"exposed exchange of tokens between experts", &TimeBreakdown::expert, unexplained},
                            Kind{"exposed exchange of the sequence", &TimeBreakdown::context, unexplained},
                            Kind{"optimizer", &TimeBreakdown::optimizer, of_optimizer},
                            Kind{"exposed copies to and from the host", &TimeBreakdown::offload, unexplained}};

/// Device time a sample.
double a_sample(const StepReport& step, Seconds part) { return part.value * double(step.gpus) / step.samples; }

struct Reason {
  double saved = 0;  ///< device time a sample, a share of the slower one's
  std::string words;
};

std::string with_cause(std::string what, const std::string& cause) {
  return cause.empty() ? what : what + ": " + cause;
}

class Gap {
 public:
  Gap(const CaseResult& faster, const CaseResult& slower) : faster_(faster), slower_(slower) {}

  [[nodiscard]] std::vector<Reason> reasons() const {
    std::vector<Reason> reasons;
    for (const Kind& kind : kKinds) {
      const Seconds before = slower_.step.time.*kind.part, after = faster_.step.time.*kind.part;
      const double share = before / slower_.step.step_time, now = after / faster_.step.step_time;
      if (share - now < kLeastShare || saved(after, before) < kLeastSaved) continue;
      reasons.push_back(
          {saved(after, before), with_cause(fmt::format("{} {} → {}", words_of(kind), percent(share), percent(now)),
                                            kind.cause(faster_.traits, slower_.traits))});
    }
    add_compute(reasons);
    return reasons;
  }

 private:
  /// Where nothing is a pipeline, GPUs wait for others in collectives alone.
  [[nodiscard]] std::string words_of(const Kind& kind) const {
    const bool waits = kind.part == &TimeBreakdown::bubble && faster_.traits.stages <= 1 && slower_.traits.stages <= 1;
    return waits ? "waiting for other GPUs" : kind.words;
  }

  [[nodiscard]] double saved(Seconds after, Seconds before) const {
    return (a_sample(slower_.step, before) - a_sample(faster_.step, after)) /
           a_sample(slower_.step, slower_.step.step_time);
  }

  void add_compute(std::vector<Reason>& reasons) const {
    const Seconds before = slower_.step.time.forward + slower_.step.time.backward,
                  after = faster_.step.time.forward + faster_.step.time.backward;
    if (faster_.step.gpus != slower_.step.gpus || faster_.step.samples != slower_.step.samples ||
        saved(after, before) < kLeastSaved)
      return;
    reasons.push_back(
        {saved(after, before), with_cause(fmt::format("computing {} → {} a step", to_text(before), to_text(after)),
                                          of_compute(faster_.traits, slower_.traits))});
  }

  const CaseResult& faster_;
  const CaseResult& slower_;
};

}  // namespace

std::vector<std::string> gap_reasons(const CaseResult& faster, const CaseResult& slower) {
  if (faster.job || slower.job || !(faster.step.samples > 0) || !(slower.step.samples > 0)) return {};
  std::vector<Reason> reasons = Gap(faster, slower).reasons();
  std::ranges::stable_sort(reasons, [](const Reason& a, const Reason& b) { return a.saved > b.saved; });
  std::vector<std::string> words;
  for (std::size_t i = 0; i < std::min(reasons.size(), kMostReasons); ++i) words.push_back(std::move(reasons[i].words));
  return words;
}

}  // namespace trainyard
