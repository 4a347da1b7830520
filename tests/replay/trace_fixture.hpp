// Traces made by hand, written into a folder of the test's own, and their replay.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/model/case_result.hpp"

namespace trainyard::fixture {

/// Chakra's bytes, written by hand: what a reader must understand, and what it must not.
class ChakraText {
 public:
  struct Node {
    std::uint64_t id = 0;
    std::string name;
    int type = 4;  ///< 4 compute, 5 send, 6 receive, 7 collective
    std::uint64_t micros = 0;
    std::vector<std::uint64_t> data{}, control{};
    std::vector<std::string> attributes{};  ///< from integer(), text(), flag()
  };
  static std::string varint(std::uint64_t value);
  static std::string integer(const std::string& name, std::uint64_t value, int field = 9);
  static std::string text(const std::string& name, const std::string& value);
  static std::string node(const Node& node);
  static std::string metadata(const std::string& version = "0.0.4");
  /// A collective with comm_type and comm_size.
  static Node collective(std::uint64_t id, int kind, std::uint64_t bytes, std::vector<std::uint64_t> data = {});
};

class TraceFolder {
 public:
  TraceFolder();
  ~TraceFolder();
  TraceFolder(const TraceFolder&) = delete;
  TraceFolder& operator=(const TraceFolder&) = delete;
  void write(const std::string& name, const std::string& content) const;
  /// Nodes of each rank, behind metadata, as t.RANK.et.
  void write_chakra(const std::vector<std::vector<ChakraText::Node>>& ranks) const;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Result of a replay, or the message that refused it (`error`), with the folder's name cut out.
struct Replay {
  CaseResult result;
  std::string error;
  [[nodiscard]] double step() const { return result.step.step_time.value; }
};

struct ReplaySetting {
  std::string more{};  ///< further keys of `workload`, ", key: value"
  int gpus = 8, nodes = 1;
  std::string gpu = "A100-SXM4-80GB", nic = "200 Gbps";
  std::string trace = "";  ///< below the folder; "": the folder
  std::string against{};   ///< path
};
[[nodiscard]] Replay replay(const TraceFolder& folder, const ReplaySetting& setting = {});
[[nodiscard]] Replay replay(const std::string& path, const ReplaySetting& setting);

}  // namespace trainyard::fixture
