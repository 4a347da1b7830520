// The course of a job in a world of stated times: closed forms by hand, and where every second goes.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <random>

#include "sim/job/availability_forecast.hpp"
#include "sim/job/job_course.hpp"

using namespace trainyard;

namespace {

/// Every node makes a step shorter; state moves in stated times.
struct StatedWorld final : JobWorld {
  Seconds step{10}, save{60}, upload{0}, beside{10}, fetch{30};
  int least = 1;                         ///< nodes that a Plan needs
  bool hosts_suffice = true, devices_suffice = true;
  int deployed = 0;

  std::optional<Deployment> deploy(const std::vector<NodeId>& there, const StateHolder*) override {
    ++deployed;
    if (int(there.size()) < least) return std::nullopt;
    Deployment made;
    made.id = int(there.size());
    made.nodes = there;
    made.used.assign(there.size(), true);
    made.step = step / double(there.size());
    made.step_beside_upload = beside / double(there.size());
    made.save = save;
    made.upload = upload;
    made.tokens = made.samples = 1;
    return made;
  }
  std::optional<StateTransfer> transfer(Deployment&, const StateSources& sources) override {
    if (!sources.in_store && !(sources.hosts && hosts_suffice) && !(sources.devices && devices_suffice)) return std::nullopt;
    return StateTransfer{fetch, {}, {}, Bytes(1), {}};
  }
};

JobRules rules(Seconds every, Seconds restart = Seconds(0)) {
  JobRules made;
  made.saves.to = {CopyPlace::store};
  made.saves.every = every;
  made.restore.restart = restart;
  return made;
}

NodeEvents up_for(Seconds end, int nodes = 1) {
  NodeEvents events;
  events.end = end;
  events.instants.push_back({Seconds(0), {}, {}, {}});
  for (int i = 0; i < nodes; ++i) events.instants[0].ready.push_back(NodeId(i));
  return events;
}

/// The one node is lost after exponential times and replaced at once.
NodeEvents failing(Seconds end, Seconds mean, unsigned seed) {
  NodeEvents events = up_for(end);
  std::mt19937_64 random(seed);
  std::exponential_distribution<double> next(1 / mean.value);
  for (Seconds at(next(random)); at < end; at += Seconds(next(random))) events.instants.push_back({at, {NodeId{0}}, {NodeId{0}}, {}});
  return events;
}

bool sums_up(const JobReport& report) { return std::abs(report.times.total() / report.length - 1) < 1e-9; }

/// The time of a segment of work T with a save C, where losses come after exponential times of mean M and each costs R: Daly 2006, eq. 20.
double segment_time(double m, double t, double c, double r) { return m * std::exp(r / m) * (std::exp((t + c) / m) - 1); }

}  // namespace

TEST_CASE("nothing happens: all of the time is steps, the last one counts by its share") {
  StatedWorld world;
  JobRules none = rules(Seconds(0));
  none.saves.to.clear();
  const JobReport report = JobCourse(world, none, 2).run(up_for(Seconds(1234), 2));
  CHECK(report.tokens == Approx(1234.0 / 5).epsilon(1e-12));
  CHECK(report.times.useful == Seconds(1234));
  CHECK(report.goodput() == Approx(1.0 / 5).epsilon(1e-12));
}

TEST_CASE("a loss costs the step at hand, the steps since the save and the way back") {
  // 30 s to start; steps of 10 s, a save of 60 s after each ten: 30-130, save to 190, 190-290, save to 350. Lost at 375: steps of 20 s and
  // half a step; back at 375 + 30 + 30 = 435.
  StatedWorld world;
  NodeEvents events = up_for(Seconds(500));
  events.instants.push_back({Seconds(375), {NodeId{0}}, {NodeId{0}}, {}});
  const JobReport report = JobCourse(world, rules(Seconds(100), Seconds(30)), 1).run(events);
  CHECK(report.times.lost_work == Seconds(25));
  CHECK(report.times.checkpoint == Seconds(120));
  CHECK(report.times.reconfiguration == Seconds(30 + 60));
  CHECK(report.times.useful == Seconds(265));
  CHECK(report.tokens == Approx(26.5));
  CHECK(report.rollbacks == 1);
  CHECK(report.traffic.from_store == Bytes(1));
}

TEST_CASE("survivors go on from the last whole step") {
  StatedWorld world;
  JobRules live = rules(Seconds(1e6));
  live.restore.from_devices = true;
  NodeEvents events = up_for(Seconds(300), 2);
  events.instants.push_back({Seconds(103), {NodeId{1}}, {}, {}});
  const JobReport report = JobCourse(world, live, 2).run(events);  // steps of 5 s until 100, of 10 s from 133
  CHECK(report.times.lost_work == Seconds(3));
  CHECK(report.times.reconfiguration == Seconds(30));
  CHECK(report.tokens == Approx(20 + 16.7));
  world.devices_suffice = false;         // and where they do not hold all of it, the job begins anew
  const JobReport anew = JobCourse(world, live, 2).run(events);
  CHECK(anew.times.lost_work == Seconds(103));
  CHECK(anew.tokens == Approx(19.7));
}

TEST_CASE("a segment between saves takes what Daly's closed form says") {
  constexpr double kM = 6 * 3600, kT = 1800, kC = 60;
  const int segments = 400, batches = 50;
  for (const double r : {60.0, 600.0}) {
    double sum = 0, squares = 0;
    for (int batch = 0; batch < batches; ++batch) {
      StatedWorld world;
      JobRules to_tokens = rules(Seconds(kT), Seconds(r - world.fetch.value));
      to_tokens.tokens = segments * kT / world.step.value;
      const JobReport report = JobCourse(world, to_tokens, 1).run(failing(Seconds(1e8), Seconds(kM), unsigned(batch + 1)));
      CHECK(sums_up(report));
      const double each = (report.length.value - to_tokens.restore.restart.value + kC) / segments;  // the last needs no save, the first no way back
      sum += each;
      squares += each * each;
    }
    const double mean = sum / batches, error = std::sqrt((squares / batches - mean * mean) / (batches - 1));
    CHECK(error / mean < 0.005);
    CHECK(std::abs(mean - segment_time(kM, kT, kC, r)) < 3 * error);
  }
}

TEST_CASE("the interval of Young and Daly wastes no more than one per cent above the least") {
  constexpr double kM = 6 * 3600, kC = 60;
  const NodeEvents events = failing(Seconds(1e8), Seconds(kM), 5);
  const double daly = std::sqrt(2 * kC * kM);
  const auto waste = [&](std::optional<Seconds> every) {
    StatedWorld world;
    world.step = Seconds(1);
    JobRules some = rules(Seconds(0), Seconds(30));
    some.saves.every = every;
    const JobReport report = JobCourse(world, some, 1).run(events);
    CHECK(sums_up(report));
    return 1 - report.times.useful / report.length;
  };
  double least = 1;
  for (double factor = 0.5; factor < 2.01; factor *= std::pow(2, 0.125)) least = std::min(least, waste(Seconds(std::round(factor * daly))));
  CHECK(waste(Seconds(std::round(daly))) < 1.01 * least);
  CHECK(waste(std::nullopt) < 1.01 * least);  // from the losses seen
}

TEST_CASE("a save behind training counts from its arrival in the store, and what it slows is checkpoint time") {
  StatedWorld world;
  world.save = Seconds(5);
  world.upload = Seconds(40);
  world.beside = Seconds(12);
  JobRules async = rules(Seconds(100));
  async.saves.to = {CopyPlace::host, CopyPlace::store};
  async.saves.behind_training = true;
  world.hosts_suffice = false;
  // Steps 0-100, save to 105, four steps of 12 s beside the upload until 153; it arrived at 145.
  NodeEvents events = up_for(Seconds(160));
  CHECK(JobCourse(world, async, 1).run(events).times.checkpoint == Seconds(5 + 8));
  events.instants.push_back({Seconds(144), {NodeId{0}}, {NodeId{0}}, {}});
  CHECK(JobCourse(world, async, 1).run(events).times.lost_work == Seconds(144 - 5 - 6));  // begins anew
  events.instants.back().at = Seconds(146);
  const JobReport arrived = JobCourse(world, async, 1).run(events);
  CHECK(arrived.times.lost_work == Seconds(30 + 5));  // three whole steps beside it, 5 s of the fourth
  CHECK(sums_up(arrived));
}

TEST_CASE("a warning lets the state be saved in time") {
  StatedWorld world;
  JobRules on_notice = rules(Seconds(1e6));
  on_notice.on_notice = OnNotice::save;
  NodeEvents events = up_for(Seconds(1000));
  events.instants.push_back({Seconds(203), {}, {}, {NodeId{0}}});
  events.instants.push_back({Seconds(323), {NodeId{0}}, {NodeId{0}}, {}});  // saved from 210 to 270, then steps until 320
  const JobReport report = JobCourse(world, on_notice, 1).run(events);
  CHECK(report.times.lost_work == Seconds(53));
  CHECK(report.times.checkpoint == Seconds(60));
}

TEST_CASE("a node that is leaving is left in time") {
  StatedWorld world;
  JobRules leave = rules(Seconds(1e6));
  leave.restore.from_devices = true;
  leave.on_notice = OnNotice::leave;
  NodeEvents events = up_for(Seconds(1000), 2);
  events.instants.push_back({Seconds(203), {}, {}, {NodeId{1}}});
  events.instants.push_back({Seconds(323), {NodeId{1}}, {}, {}});
  const JobReport report = JobCourse(world, leave, 2).run(events);  // leaves at 205, goes on at 235
  CHECK(report.times.lost_work == Seconds(0));
  CHECK(report.times.reconfiguration == Seconds(30));
  CHECK(report.tokens == Approx(41 + 76.5));
}

TEST_CASE("new nodes are taken in when it pays") {
  StatedWorld world;
  NodeEvents events = up_for(Seconds(7200), 2);
  events.instants.push_back({Seconds(600), {}, {NodeId{2}}, {}});
  CHECK(JobCourse(world, rules(Seconds(600)), 3).run(events).reconfigurations == 2);
  CHECK(JobCourse(world, rules(Seconds(600), Seconds(86400)), 3).run(events).reconfigurations == 1);
}

TEST_CASE("a forecast by hand: drift, autoregression, and its bounds") {
  const auto near = [](const std::vector<double>& a, const std::vector<double>& b) {
    return std::ranges::equal(a, b, [](double x, double y) { return std::abs(x - y) < 1e-9; });
  };
  CHECK(near(forecast_counts({5, 5, 5, 5}, 3, 32), {5, 5, 5}));
  CHECK(near(forecast_counts({1, 2, 3, 4}, 5, 32), {5, 6, 7, 8, 8}));      // no further than 3 from the first
  CHECK(near(forecast_counts({1, 2, 3, 4}, 3, 6), {5, 6, 6}));
  CHECK(near(forecast_counts({0, 4, 6, 7}, 2, 32), {7.5, 7.75}));          // differences 4, 2, 1: d' = d / 2
  CHECK(near(forecast_counts({3, 2, 1, 0}, 2, 32), {0, 0}));
  CHECK(near(forecast_counts({9}, 2, 32), {9, 9}));
}

TEST_CASE("new nodes are taken in where the forecast says that they stay") {
  StatedWorld world;
  world.least = 1;
  JobRules looks = rules(Seconds(1e6));
  looks.restore.from_devices = true;
  looks.look_ahead = LookAhead{};
  NodeEvents steady = up_for(Seconds(3600), 3);
  steady.instants.push_back({Seconds(1800), {}, {NodeId{3}}, {}});
  CHECK(JobCourse(world, looks, 12).run(steady).reconfigurations == 2);
  // A fleet that lost a node every minute until now, and now gets one: it is taken in when the fall is forgotten.
  NodeEvents falling = up_for(Seconds(1850), 12);
  for (int i = 0; i < 10; ++i) falling.instants.push_back({Seconds(1200 + 60.0 * i), {NodeId(11 - i)}, {}, {}});
  falling.instants.push_back({Seconds(1795), {}, {NodeId{2}}, {}});
  const auto changes = [&] { return JobCourse(world, looks, 12).run(falling).reconfigurations; };
  const std::int64_t cautious = changes();
  falling.end = Seconds(3600);
  CHECK(changes() == cautious + 1);
  looks.look_ahead.reset();
  falling.end = Seconds(1850);
  CHECK(changes() == cautious + 1);
}

TEST_CASE("every node lost at once, none for hours, losses while coming back: time adds up and the job goes on") {
  StatedWorld world;
  world.least = 2;
  NodeEvents events = up_for(Seconds(50000), 3);
  const std::vector<NodeId> all{NodeId{0}, NodeId{1}, NodeId{2}};
  events.instants.push_back({Seconds(1000), all, {}, {}});
  events.instants.push_back({Seconds(15000), {}, {NodeId{1}}, {}});
  events.instants.push_back({Seconds(16000), {}, {NodeId{2}}, {}});
  events.instants.push_back({Seconds(16010), {NodeId{1}}, {NodeId{1}}, {}});  // before it is back
  events.instants.push_back({Seconds(20000), {NodeId{1}}, {}, {}});
  events.instants.push_back({Seconds(20000.5), {NodeId{2}}, {}, {}});
  const JobReport report = JobCourse(world, rules(Seconds(300), Seconds(60)), 3).run(events);
  CHECK(sums_up(report));
  CHECK(report.times.idle == Seconds(14000 + 50000 - 20000.5));
  CHECK(report.times.waiting == Seconds(1000 + 0.5));
  CHECK(report.times.reconfiguration == Seconds(60 + 10 + 90));
  CHECK(report.timeline.back().phase == JobPhase::idle);
}

TEST_CASE("a job that never finds its nodes waits to the end") {
  StatedWorld world;
  world.least = 5;
  const JobReport report = JobCourse(world, rules(Seconds(300)), 3).run(up_for(Seconds(3600), 3));
  CHECK(report.times.waiting == Seconds(3600));
  CHECK(report.tokens == 0);
  const JobReport nobody = JobCourse(world, rules(Seconds(300)), 3).run({Seconds(3600), {}, {}});
  CHECK(nobody.times.idle == Seconds(3600));
}
