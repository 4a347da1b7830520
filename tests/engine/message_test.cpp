#include "sim/engine/message.hpp"

#include <catch2/catch.hpp>
#include <limits>

#include "sim/units/error.hpp"
#include "tests/engine/graphs.hpp"

using namespace trainyard;

namespace {

SimulationRequest full_request() {
  SimulationRequest request{random_graph(3), {}, true};
  request.graph.residents.push_back({ProcessorId{0}, MemoryClass::gradients, 3_GB});
  request.graph.edges.push_back({TaskId{0}, TaskId{1}, 2});
  Task& task = request.graph.tasks[0];
  task.memory.push_back({ProcessorId{0}, MemoryClass::buffers, 1_GB, Bytes(-1e9), 2_GB});
  task.label = {TaskKind::expert, 1, 2, 3, 4, 5, 6, "router", {{TaskKind::tensor, 1_ms}}};
  request.events = {{1_s, ProcessorLost{ProcessorId{0}}}, {2_s, CapacityChanged{ChannelId{0}, 7_GBps}}};
  return request;
}

}  // namespace

TEST_CASE("requests come through unchanged") {
  for (unsigned seed = 0; seed < 100; ++seed) {
    const SimulationRequest request{random_graph(seed), random_events(random_graph(seed), seed, true), seed % 2 == 0};
    const SimulationRequest back = decode_request(encode(request));
    CHECK(back.graph == request.graph);
    CHECK(back.events == request.events);
    CHECK(back.stop_at_loss == request.stop_at_loss);
  }
  const SimulationRequest full = full_request();
  CHECK(decode_request(encode(full)).graph == full.graph);
  CHECK(decode_request(encode(full)).events == full.events);
}

TEST_CASE("results come through unchanged") {
  const Timeline line{{1_s, 2_s}, {3_s, 4_s}, {TaskStatus::done, TaskStatus::lost}, 4_s, true, "task 1 waits"};
  CHECK(std::get<Timeline>(decode_result(encode(SimulationResult(line)))) == line);
  const SimulationResult failure = decode_result(encode(SimulationResult(WorkerFailure{"why", "words"})));
  CHECK(std::get<WorkerFailure>(failure).why == "why");
  CHECK(std::get<WorkerFailure>(failure).last_words == "words");
}

TEST_CASE("a message cut short anywhere is refused, so is one too long") {
  const std::string bytes = encode(full_request());
  for (std::size_t length = 0; length < bytes.size(); ++length)
    CHECK_THROWS_AS(decode_request(std::string_view(bytes).substr(0, length)), InternalError);
  CHECK_THROWS_AS(decode_request(bytes + "x"), InternalError);
}

TEST_CASE("a count beyond the message allocates nothing") {
  const std::string bytes(8, '\xff');
  CHECK_THROWS_AS(decode_request(bytes), InternalError);
}
