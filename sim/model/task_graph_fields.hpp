// The members of every type inside a TaskGraph or Timeline, listed once: hashing and serialising walk them.
#pragma once

#include <type_traits>

#include "sim/model/event_trace.hpp"
#include "sim/model/task_graph.hpp"
#include "sim/model/timeline.hpp"

namespace trainyard {

template <class T, class Plain>
concept Is = std::is_same_v<std::remove_const_t<T>, Plain>;

/// Calls `visit(members...)` once with all members of a value, in the order of declaration; const values give const members.
/// A type of the graph that gains a member must gain it here (a test compares).
template <Is<Processor> T, class V> void visit_fields(T& p, V&& visit) { visit(p.name, p.model, p.node, p.memory, p.devices, p.interference); }
template <Is<Interference> T, class V> void visit_fields(T& i, V&& visit) { visit(i.kind, i.flows_keep); }
template <Is<Stream> T, class V> void visit_fields(T& s, V&& visit) { visit(s.processor, s.name, s.discipline); }
template <Is<Channel> T, class V> void visit_fields(T& c, V&& visit) { visit(c.name, c.capacity); }
template <Is<Path> T, class V> void visit_fields(T& p, V&& visit) { visit(p.channels, p.limit, p.latency); }
template <Is<GemmShape> T, class V> void visit_fields(T& s, V&& visit) { visit(s.m, s.n, s.k, s.batch); }
template <Is<Kernel> T, class V> void visit_fields(T& k, V&& visit) { visit(k.kind, k.shape, k.flops, k.bytes, k.alone); }
template <Is<Flow> T, class V> void visit_fields(T& f, V&& visit) { visit(f.path, f.bytes); }
template <Is<Slot> T, class V> void visit_fields(T& s, V&& visit) { visit(s.stream, s.compute_share); }
template <Is<TaskPhase> T, class V> void visit_fields(T& p, V&& visit) { visit(p.delay, p.kernel, p.flows); }
template <Is<Memory> T, class V> void visit_fields(T& m, V&& visit) {
  visit(m.processor, m.kind, m.at_start, m.at_end, m.peak_inside);
}
template <Is<TimePart> T, class V> void visit_fields(T& p, V&& visit) { visit(p.kind, p.time); }
template <Is<TaskLabel> T, class V> void visit_fields(T& l, V&& visit) {
  visit(l.kind, l.pipeline, l.stage, l.micro_batch, l.chunk, l.layer, l.step, l.detail, l.parts);
}
template <Is<Task> T, class V> void visit_fields(T& t, V&& visit) {
  visit(t.label, t.slots, t.phases, t.memory, t.priority, t.release);
}
template <Is<Edge> T, class V> void visit_fields(T& e, V&& visit) { visit(e.from, e.to, e.distance); }
template <Is<Resident> T, class V> void visit_fields(T& r, V&& visit) { visit(r.processor, r.kind, r.bytes); }
template <Is<TaskGraph> T, class V> void visit_fields(T& g, V&& visit) {
  visit(g.processors, g.streams, g.channels, g.paths, g.tasks, g.edges, g.residents, g.period);
}
template <Is<ProcessorLost> T, class V> void visit_fields(T& e, V&& visit) { visit(e.processor); }
template <Is<CapacityChanged> T, class V> void visit_fields(T& e, V&& visit) { visit(e.channel, e.capacity); }
template <Is<Event> T, class V> void visit_fields(T& e, V&& visit) { visit(e.at, e.what); }
template <Is<Timeline> T, class V> void visit_fields(T& t, V&& visit) {
  visit(t.start, t.end, t.status, t.makespan, t.stopped_early, t.halt);
}

}  // namespace trainyard
