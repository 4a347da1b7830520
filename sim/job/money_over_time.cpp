#include "sim/job/money_over_time.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace trainyard {
namespace {

/// Nodes of one price.
class Account {
 public:
  explicit Account(PriceSeries prices) : prices_(std::move(prices)) {}

  void open(Seconds at) {
    ++held_;
    before_ += prices_.cost(Seconds(0), at);
  }
  void close(Seconds from, Dollars bill) {
    --held_;
    before_ -= prices_.cost(Seconds(0), from);
    closed_ += bill;
  }
  [[nodiscard]] Dollars spent(Seconds at) const {
    return held_ > 0 ? closed_ + double(held_) * prices_.cost(Seconds(0), at) - before_ : closed_;
  }
  [[nodiscard]] DollarsPerSecond price(Seconds at) const { return double(held_) * prices_.at(at); }

 private:
  PriceSeries prices_;
  int held_ = 0;
  Dollars before_{};                     ///< what those that are held would have cost from 0 until they were had
  Dollars closed_{};
};

struct Mark {
  Seconds at{};
  const NodeSpan* span = nullptr;
  bool opens = false;
};

std::vector<Mark> marks_of(const NodeEvents& events) {
  std::vector<Mark> marks;
  for (const NodeSpan& span : events.spans) {
    marks.push_back({span.acquired, &span, true});
    marks.push_back({span.until, &span, false});
  }
  std::ranges::stable_sort(marks, {}, [](const Mark& mark) { return std::pair(mark.at, !mark.opens); });
  return marks;
}

class Accounts {
 public:
  Accounts(const Market& market, const Cluster& cluster) : market_(market), cluster_(cluster) {}

  void take(const Mark& mark) {
    const Node& node = cluster_.nodes[index(mark.span->node)];
    Account& account = accounts_.try_emplace({node.group, node.price}, price_series(market_, node)).first->second;
    if (mark.opens)
      account.open(mark.at);
    else
      account.close(mark.span->acquired, bill(market_, node, mark.span->acquired, mark.at));
  }
  void fill(JobEntry& entry) const {
    for (const auto& [which, account] : accounts_) {
      entry.usd += account.spent(entry.at);
      entry.price += account.price(entry.at);
    }
  }

 private:
  const Market& market_;
  const Cluster& cluster_;
  std::map<std::pair<std::string, DollarsPerSecond>, Account> accounts_;
};

}  // namespace

void add_money_over_time(const Market& market, const Cluster& cluster, const NodeEvents& events, JobReport& report) {
  const std::vector<Mark> marks = marks_of(events);
  const Seconds stored_from = report.length - report.traffic.stored_for;
  Accounts accounts(market, cluster);
  std::size_t next = 0;
  for (JobEntry& entry : report.timeline) {
    for (; next < marks.size() && marks[next].at <= entry.at; ++next) accounts.take(marks[next]);
    accounts.fill(entry);
    if (report.traffic.stored_for.value > 0)
      entry.usd += report.money.storage * std::clamp((entry.at - stored_from) / report.traffic.stored_for, 0.0, 1.0);
  }
}

}  // namespace trainyard
