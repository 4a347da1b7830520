#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/report/page/views.hpp"

namespace trainyard {
namespace {

using Json = nlohmann::ordered_json;

/// Means of the numbers of a timeline over equal parts of the horizon.
class Course {
 public:
  Course(const Json& timeline, double horizon, std::size_t points)
      : timeline_(timeline), width_(horizon / double(points)), points_(points) {}

  [[nodiscard]] Json times() const {
    Json all = Json::array();
    for (std::size_t p = 0; p <= points_; ++p) all.push_back(width_ * double(p));
    return all;
  }

  [[nodiscard]] Json means(const char* key) const {
    std::vector<double> sums(points_, 0);
    for (std::size_t i = 0; i < timeline_.size(); ++i) {
      add(timeline_[i].at("at_s"),
          i + 1 < timeline_.size() ? timeline_[i + 1].at("at_s").get<double>() : width_ * double(points_),
          number(timeline_[i].at(key)), sums);
    }
    Json means = Json::array();
    for (const double sum : sums) means.push_back(sum / width_);
    return means;
  }

  /// What has come together by the ends of the parts, straight between entries; `total` at the end of the horizon.
  [[nodiscard]] Json sums(const char* key, const Json& total) const {
    Json sums = Json::array();
    std::size_t next = 0;
    std::pair<double, double> before{0, 0};
    for (std::size_t p = 0; p <= points_; ++p) {
      const double at = width_ * double(p);
      for (; next < timeline_.size() && timeline_[next].at("at_s") <= at; ++next)
        before = {timeline_[next].at("at_s"), number(timeline_[next].at(key))};
      const std::pair<double, double> after =
          next < timeline_.size() ? std::pair(timeline_[next].at("at_s").get<double>(), number(timeline_[next].at(key)))
                                  : std::pair(width_ * double(points_), number(total));
      const double share = after.first > before.first ? (at - before.first) / (after.first - before.first) : 1;
      sums.push_back(before.second + (after.second - before.second) * share);
    }
    return sums;
  }

 private:
  static double number(const Json& value) { return value.is_number() ? value.get<double>() : 0; }

  void add(double from, double to, double value, std::vector<double>& sums) const {
    for (auto p = static_cast<std::size_t>(from / width_); p < points_ && width_ * double(p) < to; ++p)
      sums[p] += value * std::max(0.0, std::min(to, width_ * double(p + 1)) - std::max(from, width_ * double(p)));
  }

  const Json& timeline_;
  double width_;
  std::size_t points_;
};

}  // namespace

Json job_view(const Json& record, std::size_t points) {
  const auto found = record.find("timeline");
  if (found == record.end() || !found->is_array() || found->empty() || !record.at("horizon_s").is_number())
    return nullptr;
  const Course course(*found, record.at("horizon_s"), points);
  Json view{{"entries", found->size()}, {"at_s", course.times()}};
  for (const char* key : {"nodes", "nodes_used", "tokens_per_s"}) view[key] = course.means(key);
  if (found->front().contains("tokens_trained"))
    view["tokens_trained"] = course.sums("tokens_trained", record.at("tokens_trained"));
  if (found->front().contains("usd") && record.at("usd_total").is_number())
    view["usd"] = course.sums("usd", record.at("usd_total"));
  return view;
}

}  // namespace trainyard
