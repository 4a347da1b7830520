// What can be wrong with a trace, in every format: one line each, whose text is here.
#include <catch2/catch.hpp>
#include <map>

#include "tests/replay/trace_fixture.hpp"

using namespace trainyard;
using namespace trainyard::fixture;
using WrittenNode = ChakraText::Node;

namespace {

using Files = std::map<std::string, std::string>;

struct Damage {
  const char* what;
  Files files;
  std::string line;  ///< how the refusal begins, or what it holds behind "*"
};

void check_lines(const std::vector<Damage>& table, const std::string& more) {
  for (const Damage& damage : table) {
    const TraceFolder folder;
    for (const auto& [name, text] : damage.files) folder.write(name, text);
    const std::string error = replay(folder, {.more = more}).error;
    INFO(damage.what << ": " << error);
    CHECK(error.find('\n') == std::string::npos);
    if (damage.line[0] == '*')
      CHECK(error.find(damage.line.substr(1)) != std::string::npos);
    else
      CHECK(error.find(damage.line) == 0);
  }
}

std::string chakra(const std::vector<WrittenNode>& nodes) {
  std::string text = ChakraText::metadata();
  for (const WrittenNode& node : nodes) text += ChakraText::node(node);
  return text;
}

std::string graph(const std::string& nodes) { return "{\"workload_graph\": [" + nodes + "]}"; }
std::string graph_node(const char* id, const std::string& more) {
  return "{\"Id\": " + std::string(id) + ", \"Name\": \"n\", \"NodeType\": 4" + more + "}";
}
std::string graph_exchange(int kind) {
  return "{\"Id\": 1, \"Name\": \"exchange\", \"NodeType\": 7, \"comm_type\": " + std::to_string(kind) +
         ", \"comm_size\": 64}";
}

std::string kineto(const std::string& events, const std::string& more = "") {
  return "{\"schemaVersion\": 1, \"traceEvents\": [" + events + "]" + more + "}";
}
std::string kernel(const std::string& times, const std::string& arguments = "") {
  return "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel\", \"tid\": 7, " + times + ", \"args\": {" +
         arguments + "}}";
}
std::string kineto_exchange(const char* kind, const char* ranks) {
  return kineto(kernel("\"ts\": 5, \"dur\": 2",
                       "\"Collective name\": \"" + std::string(kind) +
                           "\", \"In msg nelems\": 16, \"dtype\": \"Float\", "
                           "\"Group size\": 2, \"Process Group Name\": \"1\", \"Process Group Ranks\": \"" +
                           ranks + "\""),
                ", \"distributedInfo\": {\"world_size\": 4}");
}

std::string pytorch(const std::string& nodes) {
  return R"({"schema": "1.0.1", "nodes": [{"id": 1, "parent": 1, "name": "root"})" + nodes + "]}";
}
std::string operation(const char* ids, const std::string& more = R"("name": "aten::mm")") {
  return ", {" + std::string(ids) + ", " + more + "}";
}
std::string comms(const char* kind) {
  return operation(R"("id": 2, "parent": 1)",
                   R"("name": "record_param_comms", "inputs": [[[5, 6, 0, 64, 2, "cuda:0"]], 7, 9, 0, ")" +
                       std::string(kind) + R"(", [], [], 2])");
}

const std::string kHead = "HYBRID_TRANSFORMER model_parallel_NPU_group: 2 ep: 1 pp: 1 all_gpus: 4\n";
const std::string kLayer = "a -1 5 NONE 0 5 NONE 0 5 NONE 0 1\n";
std::string header_with(const char* key) { return "HYBRID_TRANSFORMER " + std::string(key) + "\n1\n" + kLayer; }

const std::string kColumns =
    "comm_type,comm_group,comm_group_size,msg_size,stage,dst,src,additional,_elapsed_time,algbw,busbw,count\n";
std::string row(const char* kind, const char* size, const char* bytes, const char* time) {
  return kColumns + "CommType." + kind + ",CommGroup.tp_group," + size + "," + bytes + ",x,None,None,," + time +
         ",None,None,1\n";
}

}  // namespace

TEST_CASE("damaged Chakra") {
  const WrittenNode first{1, "first", 4, 10, {}, {}, {}};
  const std::string whole = chakra({first});
  const auto attribute = [](const std::string& one) {
    return chakra({{3, "e", 7, 0, {}, {}, {ChakraText::integer("comm_type", 0), one}}});
  };
  check_lines(
      {{"truncated",
        {{"t.0.et", whole.substr(0, whole.size() - 2)}},
        "t.0.et: message 1 at byte 8: the file ends inside a message of"},
       {"wrong magic",
        {{"t.0.et",
          "\x7f"
          "ELF\x02\x01"}},
        "t.0.et: message 0 at byte 0: the file ends inside a message of 127 bytes"},
       {"empty", {{"t.0.et", ""}}, "t.0.et: holds no node"},
       {"cycle",
        {{"t.0.et", chakra({{1, "a", 4, 5, {2}, {}, {}}, {2, "b", 4, 5, {1}, {}, {}}})}},
        "t.0.et: node 1: waits for itself: 1 after 2 after 1;"},
       {"missing parent",
        {{"t.0.et", chakra({{1, "a", 4, 5, {9}, {}, {}}})}},
        "t.0.et: node 1: depends on node 9, which is not in the file;"},
       {"negative duration",
        {{"t.0.et", chakra({{1, "a", 4, ~std::uint64_t(4), {}, {}, {}}})}},
        "t.0.et: node 1: a duration of 18446744073709551616 us;"},
       {"id twice", {{"t.0.et", chakra({first, first})}}, "t.0.et: node 1: the id stands twice in the file;"},
       {"unknown collective",
        {{"t.0.et", chakra({ChakraText::collective(3, 11, 8)})}},
        "t.0.et: node 3: comm_type 11 is no collective;"},
       {"ranks disagree",
        {{"t.0.et", chakra({ChakraText::collective(3, 0, 8)})}, {"t.1.et", chakra({ChakraText::collective(3, 2, 8)})}},
        "*all members must agree"},
       {"a size in words",
        {{"t.0.et", attribute(ChakraText::text("comm_size", "one megabyte"))}},
        "t.0.et: node 3: attribute comm_size holds no number"},
       {"a size in a field of no schema",
        {{"t.0.et", attribute(ChakraText::integer("comm_size", 8, 33))}},
        "t.0.et: node 3: attribute comm_size holds no number"},
       {"a negative size as unsigned",
        {{"t.0.et", attribute(ChakraText::integer("comm_size", ~std::uint64_t(4), 13))}},
        "t.0.et: node 3: comm_size 18446744073709551616; 0 to"},
       {"a stream beyond 32 bits",
        {{"t.0.et", chakra({{3, "n", 4, 5, {}, {}, {ChakraText::integer("stream", 1ULL << 40U)}}})}},
        "t.0.et: node 3: stream is 1099511627776;"}},
      ", format: chakra");
}

TEST_CASE("Chakra of schemas before 0.0.4: refused by name, though the files say no version") {
  const auto message = [](const std::string& content) { return ChakraText::varint(content.size()) + content; };
  const std::string start = std::string("\x08\x01\x12\x01") + "n" + "\x18\x07";  // id 1, name "n", kind 7
  check_lines(
      {{"0.0.1: kind and size of a collective in fields 13 and 18",
        {{"t.0.et", message(start + "\x68\x01\x90\x01\x40")}},
        "t.0.et: message 1 at byte 0: a node with field 13, as schemas 0.0.1 to 0.0.3 write it"},
       {"0.0.2: shapes as text in field 5, attributes in field 11",
        {{"t.0.et", message(start + "\x2a\x02[]"
                                    "\x5a\x05\x0a\x01"
                                    "a\x10\x03")}},
        "t.0.et: message 1 at byte 0: a node with field 11, as schemas 0.0.1 to 0.0.3 write it"},
       {"said",
        {{"t.0.et", ChakraText::metadata("0.0.3") + message(start)}},
        "t.0.et: message 1 at byte 0: schema 0.0.3, which numbers kinds of nodes in another way; 0.0.4 is read"},
       {"one to come",
        {{"t.0.et", ChakraText::metadata("0.1.0") + message(start)}},
        "t.0.et: message 1 at byte 0: schema 0.1.0; 0.0.4 is read"}},
      ", format: chakra");
}

TEST_CASE("damaged Chakra in JSON") {
  const std::string whole = graph(graph_node("1", ", \"runtime\": 5"));
  check_lines(
      {{"truncated", {{"t.0.json", whole.substr(0, whole.size() - 4)}}, "t.0.json:1:"},
       {"wrong magic", {{"t.0.json", "PK\x03\x04"}}, "t.0.json:1:1: no JSON from here on"},
       {"cycle",
        {{"t.0.json", graph(graph_node("1", ", \"data_deps\": [2]") + ", " + graph_node("2", ", \"data_deps\": [1]"))}},
        "t.0.json: node 1: waits for itself:"},
       {"missing parent",
        {{"t.0.json", graph(graph_node("1", ", \"ctrlDeps\": [9]"))}},
        "t.0.json: node 1: depends on node 9, which is not in the file;"},
       {"negative duration",
        {{"t.0.json", graph(graph_node("1", ", \"runtime\": -5"))}},
        "t.0.json: node 1: a duration of -5 us;"},
       {"a duration in words",
        {{"t.0.json", graph(graph_node("1", ", \"runtime\": \"long\""))}},
        "t.0.json: node 1: runtime is \"long\"; a number is read"},
       {"id twice",
        {{"t.0.json", graph(graph_node("1", "") + ", " + graph_node("1", ""))}},
        "t.0.json: node 1: the id stands twice in the file;"},
       {"unknown collective",
        {{"t.0.json", graph(graph_exchange(11))}},
        "t.0.json: node 1: comm_type 11 is no collective;"},
       {"ranks disagree",
        {{"t.0.json", graph(graph_exchange(0))}, {"t.1.json", graph(graph_exchange(2))}},
        "*all members must agree"}},
      ", format: chakra");
}

TEST_CASE("damaged Kineto; it has no ids, and its kernels' order is that of their times, which has no cycle") {
  const std::string whole = kineto(kernel("\"ts\": 5, \"dur\": 2"));
  check_lines(
      {{"truncated", {{"t_0.json", whole.substr(0, whole.size() - 4)}}, "t_0.json:1:"},
       {"wrong magic", {{"t_0.json", "\x1f\x8b nothing"}}, "t_0.json:1:1: no JSON from here on"},
       {"gzip cut off", {{"t_0.json.gz", "\x1f\x8b\x08"}}, "t_0.json.gz: "},
       {"negative duration",
        {{"t_0.json", kineto(kernel("\"ts\": 5, \"dur\": -2"))}},
        "t_0.json: event 0 (ncclDevKernel): a duration of -2 us; 0 or more is allowed"},
       {"no duration",
        {{"t_0.json", kineto(kernel("\"ts\": 5"))}},
        "t_0.json: event 0 (ncclDevKernel): `ts` or `dur` is no number"},
       {"a duration in words",
        {{"t_0.json", kineto(kernel("\"ts\": 5, \"dur\": \"2 us\""))}},
        "t_0.json: event 0 (ncclDevKernel): `ts` or `dur` is no number"},
       {"a rank below zero",
        {{"t_0.json", kineto(kernel("\"ts\": 5, \"dur\": 2"), ", \"distributedInfo\": {\"rank\": -7}")}},
        "t_0.json: distributedInfo: rank is -7; a whole number from 0 is allowed"},
       {"ranks without end",
        {{"t_0.json", kineto(kernel("\"ts\": 5, \"dur\": 2"), ", \"distributedInfo\": {\"world_size\": 2000000000}")}},
        "t_0.json: a run of more than 1048576 ranks"},
       {"a member beyond all numbers",
        {{"t_0.json", kineto_exchange("allreduce", "[0, 99999999999999999999]")}},
        "t_0.json: communicator \"1\" holds rank -1;"},
       {"ranks disagree",
        {{"t_0.json", kineto_exchange("allreduce", "[0, 1]")}, {"t_1.json", kineto_exchange("broadcast", "[0, 1]")}},
        "*all members must agree"}},
      ", format: kineto");
}

TEST_CASE("damaged traces of PyTorch") {
  const std::string whole = pytorch(operation(R"("id": 2, "parent": 1)"));
  check_lines({{"truncated", {{"e_0.json", whole.substr(0, whole.size() - 4)}}, "e_0.json:1:"},
               {"wrong magic", {{"e_0.json", "PK\x03\x04"}}, "e_0.json:1:1: no JSON from here on"},
               {"cycle",
                {{"e_0.json", pytorch(operation(R"("id": 2, "parent": 3)") + operation(R"("id": 3, "parent": 2)"))}},
                "e_0.json: node 2: is among its own parents;"},
               {"missing parent",
                {{"e_0.json", pytorch(operation(R"("id": 2, "parent": 9)"))}},
                "e_0.json: node 2: has parent 9, which is not in the file;"},
               {"negative duration",
                {{"e_0.json", pytorch(operation(R"("id": 2, "parent": 1, "dur": -1)"))}},
                "e_0.json: node 2: a duration of -1 us;"},
               {"id twice",
                {{"e_0.json", pytorch(operation(R"("id": 2, "parent": 1)") + operation(R"("id": 2, "parent": 1)"))}},
                "e_0.json: node 2: the id stands twice in the file;"},
               {"unknown collective",
                {{"e_0.json", pytorch(comms("shuffle"))}},
                "e_0.json: node 2: no collective among \"shuffle\";"},
               {"unknown schema", {{"e_0.json", R"({"schema": "9.0", "nodes": []})"}}, "e_0.json: schema \"9.0\";"},
               {"ranks disagree",
                {{"e_0.json", pytorch(comms("allreduce"))}, {"e_1.json", pytorch(comms("broadcast"))}},
                "*all members must agree"}},
              ", format: pytorch");
}

TEST_CASE("damaged layers of ASTRA-sim; one file for all ranks, without ids: layers are in order") {
  check_lines({{"truncated in a layer",
                {{"w.txt", kHead + "1\na -1 5 NONE"}},
                "w.txt:3: a layer has 12 columns, or one more; 4 are there"},
               {"truncated between layers",
                {{"w.txt", kHead + "2\n" + kLayer}},
                "w.txt:3: 2 layers are declared, 1 are there;"},
               {"truncated in the header", {{"w.txt", kHead}}, "w.txt:2: the second line is not the number of layers"},
               {"wrong magic", {{"w.txt", "PK\x03\x04"}}, "w.txt:2: the second line is not the number of layers"},
               {"negative duration",
                {{"w.txt", kHead + "1\na -1 5 NONE 0 -5 NONE 0 5 NONE 0 1\n"}},
                "w.txt:3: the time of the input gradient is \"-5\";"},
               {"a duration with its unit",
                {{"w.txt", kHead + "1\na -1 5ns NONE 0 5 NONE 0 5 NONE 0 1\n"}},
                "w.txt:3: the time of the forward pass is \"5ns\";"},
               {"unknown collective",
                {{"w.txt", kHead + "1\na -1 5 SHUFFLE 8 5 NONE 0 5 NONE 0 1\n"}},
                "w.txt:3: no exchange is called SHUFFLE;"},
               {"a group of none",
                {{"w.txt", header_with("model_parallel_NPU_group: 2 ep: 0 all_gpus: 4")}},
                "w.txt:1: ep is 0; at least 1 is allowed"},
               {"ranks without end",
                {{"w.txt", header_with("model_parallel_NPU_group: 2 all_gpus: 99999999999")}},
                "w.txt:1: all_gpus is 99999999999; at least 1 is allowed, at most 1048576"},
               {"half a rank",
                {{"w.txt", header_with("model_parallel_NPU_group: 1.5 all_gpus: 3")}},
                "w.txt:1: model_parallel_NPU_group is 1.5; at least 1 is allowed, at most 1048576"},
               {"files of two runs",
                {{"w.txt", kHead + "1\na -1 5 ALLTOALL_EP 8 5 NONE 0 5 NONE 0 1\n"},
                 {"x.txt", header_with("model_parallel_NPU_group: 2 all_gpus: 8")}},
                "*all files must be of one run"}},
              ", format: astra");
}

TEST_CASE("damaged tables of AICB; one file for all ranks, without ids: rows are in order") {
  check_lines(
      {{"truncated in the header", {{"w.csv", "comm_type,comm_group,comm_gr"}}, "w.csv:1: no column comm_group_size;"},
       {"truncated behind the header", {{"w.csv", kColumns}}, "w.csv: no row"},
       {"wrong magic", {{"w.csv", "PK\x03\x04"}}, "w.csv:2: no column comm_type;"},
       {"a column twice",
        {{"w.csv", "comm_type,comm_group,comm_group_size,msg_size,msg_size\n"}},
        "w.csv:1: column msg_size stands twice"},
       {"negative duration",
        {{"w.csv", row("computation", "2", "0", "-0.5")}},
        "w.csv:2: _elapsed_time is \"-0.5\"; a number from 0 is allowed"},
       {"a size with its unit",
        {{"w.csv", row("all_reduce", "2", "8MB", "None")}},
        "w.csv:2: msg_size is \"8MB\"; a number from 0 is allowed"},
       {"unknown collective",
        {{"w.csv", row("teleport", "2", "8", "None")}},
        "w.csv:2: no exchange is called teleport;"},
       {"a group without end",
        {{"w.csv", row("all_reduce", "99999999999", "8", "None")}},
        "w.csv:2: comm_group_size is 99999999999; whole numbers from 1 to 1048576 are allowed"},
       {"a rank without end",
        {{"w.csv", "[rank0 ~ rank99999999999]\n" + row("all_reduce", "2", "8", "None")}},
        "w.csv:1: rank99999999999; ranks 0 to 1048575 are read"},
       {"two tables",
        {{"v.csv", row("all_reduce", "2", "8", "None")}, {"w.csv", row("broadcast", "2", "8", "None")}},
        "w.csv: rank 0 again, which"}},
      ", format: aicb");
}

TEST_CASE("a duration of zero is a duration, in every format") {
  const std::vector<std::pair<Files, const char*>> traces{
      {{{"t.0.et", chakra({{1, "a", 4, 0, {}, {}, {}}, {2, "b", 4, 7, {1}, {}, {}}})}}, "chakra"},
      {{{"t.0.json",
         graph(graph_node("1", ", \"runtime\": 0") + ", " + graph_node("2", ", \"runtime\": 7, \"data_deps\": [1]"))}},
       "chakra"},
      {{{"t_0.json", kineto(kernel("\"ts\": 5, \"dur\": 0") + ", " + kernel("\"ts\": 5, \"dur\": 7"))}}, "kineto"},
      {{{"e_0.json",
         pytorch(operation(R"("id": 2, "parent": 1, "dur": 0)") + operation(R"("id": 3, "parent": 1, "dur": 7)"))}},
       "pytorch"},
      {{{"w.txt", "DATA\n1\na -1 0 NONE 0 0 NONE 0 7000 NONE 0 1\n"}}, "astra"},
      {{{"w.csv", row("computation", "2", "0", "0.0") + row("computation", "2", "0", "0.007").substr(kColumns.size())}},
       "aicb"}};
  for (const auto& [files, format] : traces) {
    const TraceFolder folder;
    for (const auto& [name, text] : files) folder.write(name, text);
    const Replay made = replay(folder, {.more = std::string(", format: ") + format});
    INFO(format << made.error);
    CHECK(made.step() == Approx(7e-6));
  }
}

TEST_CASE("a byte order mark before a trace is none of its text") {
  const std::string mark = "\xEF\xBB\xBF";
  for (const auto& [name, text] :
       Files{{"w.csv", row("computation", "2", "0", "0.007")}, {"t_0.json", kineto(kernel("\"ts\": 5, \"dur\": 7"))}}) {
    const TraceFolder folder;
    folder.write(name, mark + text);
    CHECK(replay(folder).step() == Approx(7e-6));
  }
}

TEST_CASE("a graph with every broken dependency at once: refused, or repaired and counted") {
  // on itself, on one that is not there, and a cycle through control
  const TraceFolder folder;
  folder.write("t.0.et",
               chakra({{1, "a", 4, 5, {}, {2}, {}}, {2, "b", 4, 5, {1, 99}, {}, {}}, {3, "c", 4, 5, {3, 2}, {}, {}}}));
  CHECK(replay(folder).error.find("t.0.et: node 2: depends on node 99") == 0);
  const Replay made = replay(folder, {.more = ", lenient: true"});
  CHECK(made.step() == Approx(15e-6));
  CHECK(made.result.replay->nodes == 3);
  CHECK(made.result.remarks == std::vector<std::string>{"1 dependencies of a node on itself were dropped",
                                                        "1 dependencies on nodes that are not in the file were dropped",
                                                        "1 control dependencies inside cycles were dropped"});
}

TEST_CASE("tables of a cluster's jobs are no traces, and are named") {
  const std::string jobs = "; it is a table of a cluster's jobs, which says when they came, not what a step does";
  const std::vector<Files> tables{
      {{"p.json",
        R"([{"status": "Pass", "jobid": "j", "attempts": [{"start_time": null, "end_time": "2017-10-09 03:15:12"}, {"start_time": "2017-10-09 03:14:24", "end_time": null}]}, {"status": "Killed", "jobid": "k", "attempts": []}])"}},
      {{"a.csv", "instance_sn,role,app_name,gpu_request,creation_time,scheduled_time,deletion_time\ni1,CN,a,1,,,30\n"}},
      {{"t.csv",
        "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n1,24,0,300000000,x,53294624,1\n2,0,0,1,x,"
        "0,1\n"}}};
  for (const Files& files : tables) {
    const TraceFolder folder;
    folder.write(files.begin()->first, files.begin()->second);
    for (const std::string more : {"", ", format: chakra", ", format: kineto"})
      CHECK(replay(folder, {.more = more, .trace = files.begin()->first}).error ==
            files.begin()->first + ": no file of a format that is read: chakra, pytorch, kineto, astra, aicb" + jobs);
  }
}
