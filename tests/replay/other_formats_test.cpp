// PyTorch, Kineto, ASTRA-sim and AICB: small files by hand with the oddities of real ones.
#include <catch2/catch.hpp>

#include "sim/model/execution_trace.hpp"
#include "sim/units/error.hpp"
#include "tests/replay/trace_fixture.hpp"
#include "workloads/traces/trace_section.hpp"

using namespace trainyard;
using namespace trainyard::fixture;

namespace {

/// The message that refuses the text, without the folder.
std::string refusal(const std::string& name, const std::string& text, const std::string& format = "") {
  const TraceFolder folder;
  folder.write(name, text);
  try {
    (void)read_trace(folder.path() + "/" + name, format);
  } catch (const UserError& error) {
    std::string what = error.what();
    const std::size_t at = what.find(folder.path() + "/");
    return at == std::string::npos ? what : what.erase(at, folder.path().size() + 1);
  }
  return "";
}

ExecutionTrace read(const std::string& name, const std::string& text, const std::string& format = "") {
  const TraceFolder folder;
  folder.write(name, text);
  return read_trace(folder.path() + "/" + name, format);
}

Replay run(const std::string& name, const std::string& text, const ReplaySetting& setting = {}) {
  const TraceFolder folder;
  folder.write(name, text);
  ReplaySetting with = setting;
  with.trace = name;
  return replay(folder, with);
}

std::string kernel(const char* name, double begin, double time, int stream, int correlation = -1) {
  return "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"" + std::string(name) +
         "\", \"pid\": 0, \"tid\": " + std::to_string(stream) + ", \"ts\": " + std::to_string(begin) +
         ", \"dur\": " + std::to_string(time) + ", \"args\": {\"stream\": " + std::to_string(stream) +
         ", \"correlation\": " + std::to_string(correlation) + "}}";
}
std::string call(const char* name, double begin, double time, int correlation) {
  return "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"" + std::string(name) +
         "\", \"pid\": \"x\", \"tid\": 3000000000, \"ts\": " + std::to_string(begin) +
         ", \"dur\": " + std::to_string(time) + ", \"args\": {\"correlation\": " + std::to_string(correlation) + "}}";
}
std::string kineto(const std::string& events) { return "{\"schemaVersion\": 1, \"traceEvents\": [" + events + "]}"; }

const std::string kTextHead =
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 4 checkpoints: 0 "
    "checkpoint_initiates: 0 pp_comm 50331648\r\n";

std::string pytorch(const std::string& nodes, const std::string& schema = "1.0.1") {
  return "{\"schema\": \"" + schema + "\", \"pid\": 1, \"nodes\": [" + nodes + "]}";
}
std::string operation(int id, int parent, const char* name, const std::string& inputs = "",
                      const std::string& shapes = "", const std::string& more = "") {
  return "{\"name\": \"" + std::string(name) + "\", \"id\": " + std::to_string(id) +
         ", \"parent\": " + std::to_string(parent) + ", \"seq_id\": -1, \"inputs\": [" + inputs +
         "], \"input_shapes\": [" + shapes + "], \"outputs\": [], \"output_shapes\": []" + more + "}";
}
const std::string kRoot = operation(1, 1, "[pytorch|profiler|execution_graph|thread]");

}  // namespace

TEST_CASE(
    "Kineto: kernels take their stream's order, their launches and gaps as recorded, whatever order the events are "
    "in") {
  const Replay made =
      run("trace_0.json", kineto(kernel("second", 150, 30, 7, 2) + "," + call("cudaLaunchKernel", 100, 5, 1) + "," +
                                 call("cudaLaunchKernel", 120, 5, 2) + "," + kernel("first", 108, 20, 7, 1)));
  REQUIRE(made.error.empty());
  CHECK(made.step() == Approx(80e-6));  // from the first launch at 100 to 180
  CHECK(made.result.replay->ranks[0].work.value == Approx(50e-6));
}

TEST_CASE("Kineto: the host waits for the device") {
  // launched at 0, runs 10..110; the host waits until 115 and launches again at 130
  const Replay made =
      run("trace_0.json", kineto(call("cudaLaunchKernel", 1000, 5, 1) + "," + kernel("first", 1010, 100, 7, 1) + "," +
                                 call("cudaStreamSynchronize", 1020, 95, 9) + "," +
                                 call("cudaLaunchKernel", 1130, 5, 2) + "," + kernel("second", 1140, 10, 7, 2)));
  CHECK(made.step() == Approx(150e-6));
}

TEST_CASE("Kineto: a kernel of another stream that ended last before it is what it waited for") {
  const ExecutionTrace trace = read("trace_0.json", kineto(kernel("a", 1000, 100, 7) + "," + kernel("b", 1100, 50, 9) +
                                                           "," + kernel("c", 1150, 10, 7)));
  const RankTrace& rank = trace.files[0];
  REQUIRE(rank.nodes.size() == 3);
  CHECK(rank.edges.size() == 3);  // b after a, c after a (its stream) and after b
}

TEST_CASE(
    "Kineto: launches that are missing, kernels before their launch, times of zero, a trailing key, text for numbers") {
  const ExecutionTrace trace = read(
      "trace_rank-3.json",
      "{\"traceEvents\": [" + kernel("orphan", 2000.25, 10, 7, 44) + "," + kernel("zero", 0, 0, 7) + "," +
          call("cudaLaunchKernel", 2020, 5, 2) + "," + kernel("early", 2015, 10, 7, 2) +
          ", {\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"text\", \"ts\": \"2030\", \"dur\": 0, \"args\": {}}" +
          "], \"distributedInfo\": {\"backend\": \"nccl\"}}");
  CHECK(trace.files[0].rank == 3);
  int kernels = 0;
  for (const TraceNode& node : trace.files[0].nodes) kernels += node.work == TraceWork::compute;
  CHECK(kernels == 3);
}

TEST_CASE("Kineto: one launch with many kernels (a graph)") {
  const ExecutionTrace trace = read("t.json", kineto(call("cudaGraphLaunch", 10, 5, 1) + "," +
                                                     kernel("a", 20, 5, 7, 1) + "," + kernel("b", 25, 5, 7, 1)));
  CHECK(trace.files[0].nodes.size() >= 3);
}

TEST_CASE("Kineto: numbers beyond 64 bits are numbers, and text that is no UTF-8 is not") {
  const std::string huge =
      "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"ts\": 5, \"dur\": 2, \"args\": {\"stream\": 7, "
      "\"address\": 99999999999999999999999}}";
  CHECK(read("t.json", kineto(huge)).files[0].nodes.size() == 1);
  CHECK(refusal("t.json", kineto("{\"name\": \"\xff\"}")).find("no JSON from here on") != std::string::npos);
}

TEST_CASE("Kineto: what is refused") {
  CHECK(refusal("t.json", kineto("")) == "t.json: no event of a device and no launch; at least one kernel is needed");
  CHECK(refusal("t.json", kineto(kernel("k", 5, -1, 7))) ==
        "t.json: event 0 (k): a duration of -1 us; 0 or more is allowed");
  CHECK(refusal("t.json", "{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"dur\": 1}]}") ==
        "t.json: event 0 (k): `ts` or `dur` is no number");
  CHECK(refusal("t.json", "{\"traceEvents\": [\n{\"name\": \"a \"quote\" inside\"}]}") ==
        "t.json:2:14: no JSON from here on");
  CHECK(refusal("t.json", kineto(kernel("k", 5, 1, 7)).substr(0, 120)) ==
        "t.json:1:121: no JSON: the file ends inside a value");
  CHECK(refusal("t.json", kineto(kernel("k", 5, 1, 7)), "pytorch") == "t.json: looks like format kineto, not pytorch");
}

TEST_CASE("PyTorch: operations in order of their ids, and an exchange beside what follows until its wait") {
  const std::string tensor = "[5, 6, 0, 1048576, 2, \"cuda:0\"]";
  const std::string nodes =
      kRoot + "," +
      operation(9, 1, "record_param_comms", "7, 0, 1, \"wait\", [], [], 1", "[], [], [], [], [], [], []") + "," +
      operation(3, 1, "aten::mm", tensor + "," + tensor, "[1024, 1024], [1024, 1024]", ", \"dur\": 50, \"ts\": 10") +
      "," +
      operation(5, 1, "record_param_comms", "[" + tensor + "], 7, 9382511, 0, \"allreduce\", [], [], 2",
                "[[1024, 1024]], [], [], [], [], [], [], []") +
      "," + operation(6, 5, "nccl:all_reduce") + "," +
      operation(7, 1, "aten::add_", tensor, "[1024, 1024]", ", \"dur\": 400, \"ts\": 80") + "," +
      operation(11, 1, "aten::mul_", tensor, "[1024, 1024]", ", \"dur\": 30, \"ts\": 600");
  const Replay made = run("et_0.json", pytorch(nodes), {.gpus = 2});
  REQUIRE(made.error.empty());
  CHECK(made.result.replay->exchanges == 1);
  CHECK(made.result.replay->exchanged.value == 2097152);
  CHECK(made.step() == Approx(480e-6));  // 50, then 400 beside the exchange, then 30
  CHECK(made.result.replay->nodes == 7);
}

TEST_CASE("PyTorch: the later dialect, and shapes give products and bytes") {
  const auto later = [](int id, const char* name, const std::string& values, const std::string& shapes) {
    return "{\"id\": " + std::to_string(id) + ", \"name\": \"" + name +
           "\", \"ctrl_deps\": 1, \"inputs\": {\"values\": [" + values + "], \"shapes\": [" + shapes +
           "], \"types\": []}, \"outputs\": {\"values\": [], \"shapes\": [], \"types\": []}, \"attrs\": [{\"name\": "
           "\"rf_id\", \"type\": \"uint64\", \"value\": 7}]}";
  };
  const std::string tensor = "[5, 6, 0, 1048576, 2, \"cuda:0\"]";
  const ExecutionTrace trace =
      read("et_0.json", pytorch(later(1, "execution_trace", "", "") + "," +
                                    later(4, "aten::mm", tensor + "," + tensor, "[512, 2048], [2048, 512]") + "," +
                                    later(5, "aten::view", tensor, "[512, 2048]") + "," +
                                    later(6, "aten::gelu", tensor, "[512, 2048]"),
                                "1.1.0-chakra.0.0.4"));
  const RankTrace& rank = trace.files[0];
  CHECK(rank.shapes == std::vector<GemmShape>{{512, 512, 2048, 1}});
  CHECK(rank.nodes[2].work == TraceWork::none);
  CHECK(rank.nodes[3].bytes == 2097152);
}

TEST_CASE("PyTorch: what is refused") {
  CHECK(refusal("et.json", pytorch("")) == "et.json: no nodes: the trace ended before its first operation");
  CHECK(refusal("et.json", pytorch(kRoot, "2.7.0")) ==
        "et.json: schema \"2.7.0\"; 1.0.1, 1.0.2, 1.0.3, 1.1.0 and 1.1.1 are read");
  CHECK(refusal("et.json", pytorch(kRoot + "," + operation(4, 3, "aten::mm"))) ==
        "et.json: node 4: has parent 3, which is not in the file; every parent must be there (`lenient: true` does "
        "without)");
  CHECK(refusal("et.json", pytorch(kRoot + "," + operation(4, 5, "a") + "," + operation(5, 4, "b"))) ==
        "et.json: node 4: is among its own parents; parents must form a tree");
  CHECK(refusal("et.json", pytorch(kRoot + "," + operation(4, 4, "aten::mm") + "," + operation(4, 1, "aten::mm"))) ==
        "et.json: node 4: the id stands twice in the file; every node needs an id of its own");
  CHECK(refusal("et.json", pytorch(kRoot + "," + operation(4, 1, "record_param_comms", "7, \"teleport\"")))
            .find("et.json: node 4: no collective among \"teleport\"; known: allreduce") == 0);
  CHECK(refusal("et.json", pytorch(kRoot + "," + operation(-4, 1, "aten::mm"))) ==
        "et.json: node 1 in the list: `id` is -4; a whole number from 0 is allowed");
  CHECK(refusal("et.json", pytorch(kRoot + "," + operation(4, 1, "aten::mm", "", "", ", \"dur\": -3"))) ==
        "et.json: node 4: a duration of -3 us; 0 or more is allowed");
  CHECK(refusal("et.json", pytorch(kRoot), "kineto") == "et.json: looks like format pytorch, not kineto");
}

TEST_CASE(
    "ASTRA-sim text: forward in order, backward in reverse, and CRLF, tabs, a key without a colon, NONE with a size, "
    "no final newline") {
  const Replay made = run("w.txt", kTextHead +
                                       "2\r\nfirst\t-1\t1000\tNONE\t33554432\t2000 NONE 0 3000 NONE 0 100\r\nsecond -1 "
                                       "10 NONE 0 20 NONE 0 30 NONE 0 100");
  REQUIRE(made.error.empty());
  CHECK(made.step() == Approx(6060e-9));
  CHECK(made.result.step.gpus == 4);
  CHECK(made.result.replay->exchanges == 0);
  CHECK(run("w.txt", "DATA\n1\na -1 5 NONE 0 5 NONE 0 5 NONE 0 1\n", {.more = ", time_unit: 1 us"}).step() ==
        Approx(15e-6));
}

TEST_CASE("ASTRA-sim text: tensor and data groups") {
  const ExecutionTrace trace = read("w.txt", kTextHead + "1\na -1 5 ALLREDUCE 16 5 NONE 0 5 REDUCESCATTER 16 1\n");
  REQUIRE(trace.groups.size() == 2);
  CHECK(trace.groups[0] == TraceGroup{"tensor", {}, 2, 1});
  CHECK(trace.groups[1] == TraceGroup{"data", {}, 2, 2});
  CHECK(trace.file_of_rank.size() == 4);
}

TEST_CASE("ASTRA-sim text: a header that does not say how many ranks there are takes the scenario's") {
  const std::string text =
      "HYBRID_TRANSFORMER model_parallel_NPU_group: 2\n1\na -1 5 NONE 0 5 NONE 0 5 ALLREDUCE 1048576 1\n";
  CHECK(run("w.txt", text, {.more = ", ranks: 8"}).step() > 20e-6);  // over four data ranks
  CHECK(run("w.txt", text).step() == Approx(15e-9));                 // two tensor ranks and nobody else
  CHECK(run("w.txt", kTextHead + "1\na -1 5 NONE 0 5 NONE 0 5 NONE 0 1\n", {.more = ", ranks: 8"}).error ==
        "w.txt:1: all_gpus: 4, but `ranks` is 8; both must agree");
}

TEST_CASE("a folder with files of two formats needs to be told which") {
  const TraceFolder folder;
  folder.write("a_0.json", kineto(kernel("k", 5, 1, 7)));
  folder.write("b_0.json", pytorch(kRoot));
  folder.write("notes.txt", "not a trace");
  CHECK(replay(folder).error.find("holds files of format kineto and of pytorch; say in `format` which are meant") !=
        std::string::npos);
  CHECK(replay(folder, {.more = ", format: kineto"}).error.empty());
}

TEST_CASE("ASTRA-sim text: what is refused") {
  const std::string layer = "a -1 5 NONE 0 5 NONE 0 5 NONE 0 1\n";
  CHECK(refusal("w.txt", kTextHead + "839\n" + layer) ==
        "w.txt:3: 839 layers are declared, 1 are there; both must agree (`lenient: true` takes those that are there)");
  CHECK(refusal("w.txt", kTextHead + "0\n" + layer) ==
        "w.txt:3: 0 layers are declared, 1 are there; both must agree (`lenient: true` takes those that are there)");
  CHECK(refusal("w.txt", kTextHead + "1\na -1 -5 NONE 0 5 NONE 0 5 NONE 0 1\n") ==
        "w.txt:3: the time of the forward pass is \"-5\"; a number from 0 is allowed");
  CHECK(refusal("w.txt", kTextHead + "1\na -1 5 SHUFFLE 8 5 NONE 0 5 NONE 0 1\n")
            .find("w.txt:3: no exchange is called SHUFFLE; known: NONE, ALLREDUCE") == 0);
  CHECK(refusal("w.txt", kTextHead + "1\na -1 5\n") == "w.txt:3: a layer has 12 columns, or one more; 3 are there");
  CHECK(refusal("w.txt", "DATA pp: 12\n1\n" + layer).find("w.txt:1: pp: 12: the file holds one stage") == 0);
  CHECK(refusal("w.txt", "X model_parallel_NPU_group: 3 all_gpus: 4\n1\n" + layer) ==
        "w.txt:1: all_gpus: 4 is no multiple of model_parallel_NPU_group: 3");
  CHECK(refusal("w.txt", "X model_parallel_NPU_group: 0\n1\n" + layer) ==
        "w.txt:1: model_parallel_NPU_group is 0; at least 1 is allowed");
}

TEST_CASE("AICB: None, empty sizes of groups, milliseconds, a line before the header") {
  const std::string head =
      "comm_type,comm_group,comm_group_size,msg_size,stage,dst,src,additional,_elapsed_time,algbw,busbw,count\n";
  const Replay made =
      run("w.csv", "[rank0 ~ rank3]\n" + head +
                       "CommType.all_reduce,CommGroup.tp_group,2,4096,forward,None,None,,None,None,None,1\n" +
                       "CommType.computation,CommGroup.all,,,forward.mlp,None,None,,0.25,0.0,0.0,1\nCommType.epoch_end,"
                       "None,,0,,None,None,,None,None,None,1\n" +
                       "CommType.all_reduce,CommGroup.tp_group,,4096,forward,None,None,,None,None,None,1\n");
  REQUIRE(made.error.empty());
  CHECK(made.result.replay->exchanges == 2);
  CHECK(made.result.replay->ranks[0].work.value == Approx(250e-6));
  CHECK(refusal("w.csv", head + "CommType.teleport,CommGroup.tp_group,2,8,x,None,None,,None,None,None,1\n")
            .find("w.csv:2: no exchange is called teleport; known: all_reduce") == 0);
  CHECK(refusal("w.csv", head + "CommType.all_reduce,CommGroup.tp_group,2,-8,x,None,None,,None,None,None,1\n") ==
        "w.csv:2: msg_size is \"-8\"; a number from 0 is allowed");
  CHECK(refusal("w.csv", head + "CommType.all_reduce,CommGroup.tp_group,,8,x,None,None,,None,None,None,1\n") ==
        "w.csv:2: group tp_group without comm_group_size, here and everywhere");
}
