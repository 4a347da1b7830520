// A million nodes on eight ranks, written, loaded and replayed: how long and how much memory. Prints one line;
// `replay_million NODES` takes others.
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>

#include "tests/replay/trace_fixture.hpp"

using namespace trainyard::fixture;

namespace {

constexpr std::uint64_t kRanks = 8, kEvery = 5;  ///< every fifth node is an exchange of 4 MiB

std::vector<ChakraText::Node> nodes_of(std::uint64_t rank, std::uint64_t count) {
  std::vector<ChakraText::Node> nodes;
  for (std::uint64_t id = 0; id < count; ++id) {
    const std::vector<std::uint64_t> before =
        id > 0 ? std::vector<std::uint64_t>{id - 1} : std::vector<std::uint64_t>{};
    if (id % kEvery == kEvery - 1)
      nodes.push_back(ChakraText::collective(id, 0, 4 << 20, before));
    else
      nodes.push_back({id, fmt::format("layer {}", id % 97), 4, 10 + (id * 7 + rank) % 50, before, {}, {}});
  }
  return nodes;
}

double megabytes(int who) {
  rusage usage{};
  getrusage(who, &usage);
  return double(usage.ru_maxrss) / 1e3;
}

}  // namespace

int main(int count, char** words) {
  const std::uint64_t nodes = count > 1 ? std::strtoull(words[1], nullptr, 10) : 1'000'000;
  const TraceFolder folder;
  for (std::uint64_t rank = 0; rank < kRanks; ++rank) {
    std::string content = ChakraText::metadata();
    for (const ChakraText::Node& node : nodes_of(rank, nodes / kRanks)) content += ChakraText::node(node);
    folder.write(fmt::format("t.{}.et", rank), content);
  }
  const auto begin = std::chrono::steady_clock::now();
  const Replay made = replay(folder);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!made.error.empty()) fmt::print(stderr, "{}\n", made.error);
  fmt::print("{} nodes: {:.1f} s, at most {:.0f} MB in this process and {:.0f} MB in the simulating one\n", nodes,
             seconds, megabytes(RUSAGE_SELF), megabytes(RUSAGE_CHILDREN));
  return made.error.empty() ? 0 : 1;
}
