#include "sim/model/controller.hpp"

#include <catch2/catch.hpp>

using namespace trainyard;

TEST_CASE("StopAtLoss stops at losses only, RunOn never") {
  const EventTrace change{{1_s, CapacityChanged{ChannelId{0}, 1_GBps}}};
  EventTrace both = change;
  both.push_back({1_s, ProcessorLost{ProcessorId{0}}});
  CHECK(StopAtLoss().on_events(1_s, change) == AfterEvents::go_on);
  CHECK(StopAtLoss().on_events(1_s, both) == AfterEvents::stop);
  CHECK(RunOn().on_events(1_s, both) == AfterEvents::go_on);
}
