#include "sim/model/job_report.hpp"

#include "sim/units/error.hpp"

namespace trainyard {

const char* name(JobPhase phase) {
  switch (phase) {
    case JobPhase::training: return "training";
    case JobPhase::reconfiguring: return "reconfiguring";
    case JobPhase::waiting: return "waiting";
    case JobPhase::idle: return "idle";
  }
  require(false, "a phase of a job has a name");
  return "";
}

}  // namespace trainyard
