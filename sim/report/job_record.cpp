#include "sim/report/job_record.hpp"

namespace trainyard {
namespace {

using Json = nlohmann::ordered_json;

Json timeline_of(const JobReport& job) {
  Json all = Json::array();
  const auto priced = [&](double value) { return job.money.known ? Json(value) : Json(nullptr); };
  for (const JobEntry& entry : job.timeline)
    all.push_back({{"at_s", entry.at.value}, {"phase", name(entry.phase)}, {"nodes", entry.nodes}, {"nodes_used", entry.used},
                   {"tokens_per_s", entry.tokens_per_s}, {"tokens_trained", entry.tokens}, {"usd", priced(entry.usd.value)},
                   {"price_usd_per_h", priced(in_dollars_per_hour(entry.price))}, {"plan", entry.plan.empty() ? Json(nullptr) : Json(entry.plan)}});
  return all;
}

Json on_demand_of(const JobReport& job) {
  const OnDemandJob none;
  const OnDemandJob& other = job.on_demand ? *job.on_demand : none;
  const bool priced = job.on_demand && other.price_known;
  Json made;
  made["tokens_per_s"] = job.on_demand ? Json(other.tokens_per_s) : Json(nullptr);
  made["price_usd_per_h"] = priced ? Json(in_dollars_per_hour(other.price)) : Json(nullptr);
  made["usd_per_million_tokens"] = priced && other.tokens_per_s > 0 ? Json(other.price.value / other.tokens_per_s * 1e6) : Json(nullptr);
  return made;
}

void add_spread(Json& onto, const char* key, const std::optional<SeedSpread>& seeds, Spread SeedSpread::*which) {
  onto[key] = seeds ? Json{{"mean", ((*seeds).*which).mean}, {"half_width", ((*seeds).*which).half_width}}
                    : Json{{"mean", nullptr}, {"half_width", nullptr}};
}

Json seeds_of(const std::optional<SeedSpread>& seeds) {
  Json made;
  made["seeds"] = seeds ? Json(seeds->seeds) : Json(nullptr);
  add_spread(made, "goodput_tokens_per_s", seeds, &SeedSpread::goodput);
  add_spread(made, "tokens_trained", seeds, &SeedSpread::tokens);
  add_spread(made, "usd_total", seeds, &SeedSpread::usd);
  add_spread(made, "usd_per_million_tokens", seeds, &SeedSpread::usd_per_million_tokens);
  add_spread(made, "useful_fraction", seeds, &SeedSpread::useful_fraction);
  add_spread(made, "preemptions", seeds, &SeedSpread::preemptions);
  return made;
}

}  // namespace

void add_job_record(Json& record, const CaseResult& result) {
  const bool has = result.job.has_value();
  const JobReport none;
  const JobReport& job = has ? *result.job : none;
  const auto add = [&](const char* key, auto value) { record[key] = has ? Json(value) : Json(nullptr); };
  const auto dollars = [&](const char* key, Dollars value) { record[key] = has && job.money.known ? Json(value.value) : Json(nullptr); };
  record["recovery"] = result.recovery.empty() ? Json(nullptr) : Json(result.recovery);
  add("horizon_s", job.length.value);
  add("goodput_tokens_per_s", job.goodput());
  add("tokens_trained", job.tokens);
  add("samples_trained", job.samples);
  dollars("usd_total", job.money.total());
  dollars("usd_nodes", job.money.nodes);
  dollars("usd_storage", job.money.storage);
  dollars("usd_egress", job.money.egress);
  record["tokens_per_usd"] = has && job.money.known && job.money.total().value > 0 ? Json(job.tokens / job.money.total().value) : Json(nullptr);
  add("gpu_hours", job.gpu_hours);
  add("energy_kwh", job.energy_kwh);
  add("preemptions", job.preemptions);
  add("failures", job.failures);
  add("useful_s", job.times.useful.value);
  add("lost_work_s", job.times.lost_work.value);
  add("reconfiguration_s", job.times.reconfiguration.value);
  add("checkpoint_s", job.times.checkpoint.value);
  add("waiting_s", job.times.waiting.value);
  add("idle_s", job.times.idle.value);
  add("reconfigurations", job.reconfigurations);
  add("rollbacks", job.rollbacks);
  add("saves", job.saves);
  add("state_from_devices_bytes", job.traffic.from_devices.value);
  add("state_from_hosts_bytes", job.traffic.from_hosts.value);
  add("state_from_store_bytes", job.traffic.from_store.value);
  add("state_to_store_bytes", job.traffic.to_store.value);
  add("detailed_steps", job.detailed_steps);
  add("plans", job.plans);
  record["time_to_target_s"] = job.time_to_target ? Json(job.time_to_target->value) : Json(nullptr);
  record["usd_to_target"] = job.usd_to_target ? Json(job.usd_to_target->value) : Json(nullptr);
  record["on_demand"] = on_demand_of(job);
  record["over_seeds"] = seeds_of(result.seeds);
  record["timeline"] = timeline_of(job);
}

}  // namespace trainyard
