#include "sim/engine/message.hpp"

#include "sim/engine/binary.hpp"
#include "sim/model/task_graph_fields.hpp"

namespace trainyard {

template <Is<SimulationRequest> T, class V>
void visit_fields(T& r, V&& visit) {
  visit(r.graph, r.events, r.stop_at_loss, r.steps, r.until_it_repeats);
}
template <Is<WorkerFailure> T, class V>
void visit_fields(T& f, V&& visit) {
  visit(f.why, f.last_words);
}

std::string encode(const SimulationRequest& request) { return binary::encoded(request); }
std::string encode(const SimulationResult& result) { return binary::encoded(result); }
SimulationRequest decode_request(std::string_view bytes) { return binary::decoded<SimulationRequest>(bytes); }
SimulationResult decode_result(std::string_view bytes) { return binary::decoded<SimulationResult>(bytes); }

}  // namespace trainyard
