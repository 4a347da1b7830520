#include "sim/model/controller.hpp"

#include <algorithm>

namespace trainyard {

AfterEvents StopAtLoss::on_events(Seconds, std::span<const Event> events) noexcept {
  const bool loss = std::any_of(events.begin(), events.end(),
                                [](const Event& event) { return std::holds_alternative<ProcessorLost>(event.what); });
  return loss ? AfterEvents::stop : AfterEvents::go_on;
}

}  // namespace trainyard
