#include <catch2/catch.hpp>

#include "tests/plan/fixture.hpp"

using namespace trainyard;
using namespace trainyard::test;

namespace {
Workload software_workload(bool distributed, bool sequence_parallel) {
  Workload workload = workload_of(4, 8);
  workload.software.distributed_optimizer = distributed;
  workload.software.sequence_parallel = sequence_parallel;
  return workload;
}
Stage stage_with(const Layout& layout) {
  Stage stage;
  stage.devices = devices(0, members(layout));
  stage.rules.emplace_back().settings.layout = layout;
  return stage;
}
}  // namespace

TEST_CASE("defaults of the settings") {
  const Layout both{equal_axis(AxisKind::data, 2), equal_axis(AxisKind::tensor, 4)};
  const Settings s = settings_of(stage_with(both), LayerId{1}, software_workload(true, true));
  CHECK(s.layout == both);
  CHECK(s.zero == 1);
  CHECK(s.sequence_parallel == true);
  CHECK(s.regather == true);
  CHECK(s.recompute == Recompute{});
  CHECK(s.home.size() == 5);
  CHECK(s.update == Update::end);
  CHECK(s.sync == Sync{});
  CHECK(s.wire == Wire{});
  CHECK(s.slices == Slices{});
  CHECK(s.context_kind == ContextKind::ring);
  CHECK(s.streams.at(Traffic::tensor) == "compute");
  CHECK(s.streams.at(Traffic::data) == "data");
}

TEST_CASE("zero and sequence parallelism follow layout and software") {
  const Layout tensor{equal_axis(AxisKind::tensor, 4)};
  const Layout data{equal_axis(AxisKind::data, 4)};
  const Layout shard{equal_axis(AxisKind::shard, 4)};
  CHECK(settings_of(stage_with(tensor), LayerId{}, software_workload(true, true)).zero == 0);
  CHECK(settings_of(stage_with(data), LayerId{}, software_workload(true, true)).zero == 1);
  CHECK(settings_of(stage_with(data), LayerId{}, software_workload(false, true)).zero == 0);
  CHECK(settings_of(stage_with(shard), LayerId{}, software_workload(false, true)).zero == 3);
  CHECK(settings_of(stage_with(data), LayerId{}, software_workload(true, true)).sequence_parallel == false);
  CHECK(settings_of(stage_with(tensor), LayerId{}, software_workload(true, false)).sequence_parallel == false);
}

TEST_CASE("rules win key by key, the last that matches") {
  Stage stage = stage_with({equal_axis(AxisKind::data, 2)});
  stage.rules[0].settings.zero = 1;
  Rule first, second, experts;
  first.layers = layers(0, 2);
  first.settings.recompute = Recompute{RecomputeKind::full, 1};
  first.settings.home[State::weights].place = Place::host;
  second.layers = layers(2, 3);
  second.settings.recompute = Recompute{RecomputeKind::selective, 1};
  second.settings.home[State::optimizer].place = Place::host;
  experts.operators = "exp*";
  experts.settings.zero = 0;
  stage.rules.insert(stage.rules.end(), {first, second, experts});
  const Workload workload = software_workload(true, true);
  CHECK(settings_of(stage, LayerId{1}, workload).recompute->kind == RecomputeKind::full);
  const Settings both = settings_of(stage, LayerId{2}, workload);
  CHECK(both.recompute->kind == RecomputeKind::selective);
  CHECK(both.home.at(State::weights).place == Place::host);
  CHECK(both.home.at(State::optimizer).place == Place::host);
  CHECK(settings_of(stage, LayerId{3}, workload).home.at(State::weights).place == Place::device);
  CHECK(settings_of(stage, LayerId{3}, workload).zero == 1);
  CHECK(settings_of(stage, LayerId{3}, workload, "experts").zero == 0);
  CHECK(settings_of(stage, LayerId{3}, workload, "mlp").zero == 1);
}

TEST_CASE("globs") {
  CHECK(glob_matches("*", ""));
  CHECK(glob_matches("mixed_*/branch_pool/*", "mixed_3/branch_pool/conv"));
  CHECK_FALSE(glob_matches("mixed_*/branch_pool/*", "mixed_3/branch_1x1/conv"));
  CHECK(glob_matches("a?c*", "abcd"));
  CHECK_FALSE(glob_matches("a?c", "ac"));
  CHECK_FALSE(glob_matches("", "a"));
  CHECK(glob_matches("a*b*c", "aXbYbZc"));
}

TEST_CASE("axes") {
  const Layout layout{equal_axis(AxisKind::data, 2), {AxisKind::tensor, {2, 1, 1}}};
  CHECK(axis_size(layout, AxisKind::tensor) == 3);
  CHECK(axis_size(layout, AxisKind::shard) == 1);
  CHECK(members(layout) == 6);
  CHECK(members({}) == 1);
}
