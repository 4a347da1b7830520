// What a job has cost by each entry of its timeline.
#pragma once

#include "sim/model/job_report.hpp"
#include "sim/model/market.hpp"
#include "sim/model/node_events.hpp"

namespace trainyard {

/// Adds to `usd` of every entry (which holds the egress up to then) what nodes and storage have cost by then, and fills `price`: of the nodes
/// that are held, at the price of the moment. A node that is still held counts up to the moment, one that is gone by full billing periods.
/// `money` and `length` of the report are there.
void add_money_over_time(const Market& market, const Cluster& cluster, const NodeEvents& events, JobReport& report);

}  // namespace trainyard
