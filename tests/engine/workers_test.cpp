#include "sim/engine/workers.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <thread>

#include "sim/engine/nursery.hpp"
#include "sim/units/error.hpp"
#include "tests/engine/graphs.hpp"

using namespace trainyard;

namespace {

/// A worker for tests: does what the request says.
std::string obey(std::string_view request) {
  if (request == "abort") std::cerr << "assertion failed: x\n", std::abort();
  if (request == "segfault") ::raise(SIGSEGV);
  if (request == "exit") ::_exit(3);
  if (request == "throw") throw InternalError("a bug");
  if (request == "chatter") std::cerr << std::string(1000000, 'a') << std::string(1999, 'b') << 'c', std::abort();
  if (request == "sleep") ::sleep(1000);
  return std::string(request);
}

std::vector<WorkerAnswer> ask(const NurseryProcess& nursery, const std::vector<std::string>& requests, int jobs = 2) {
  return ask_workers(nursery.socket, requests.size(), [&](std::size_t i) { return requests[i]; }, jobs);
}

std::size_t open_files() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

bool exists(int pid) { return ::kill(pid, 0) == 0; }

/// Waits up to five seconds.
bool ends(int pid) {
  for (int i = 0; i < 500 && exists(pid); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return !exists(pid);
}

}  // namespace

TEST_CASE("a worker that dies costs one answer, and says how and with which words") {
  const NurseryProcess nursery = start_nursery(obey);
  const std::size_t files = open_files();
  const auto answers = ask(nursery, {"one", "abort", "segfault", "exit", "throw", "chatter", "two", ""});
  CHECK(std::get<std::string>(answers[0]) == "one");
  CHECK(std::get<WorkerFailure>(answers[1]).why == "ended by SIGABRT");
  CHECK_THAT(std::get<WorkerFailure>(answers[1]).last_words, Catch::Contains("assertion failed: x\n"));
#ifndef __SANITIZE_ADDRESS__
  CHECK(std::get<WorkerFailure>(answers[2]).why == "ended by SIGSEGV");
  CHECK(std::get<WorkerFailure>(answers[5]).last_words == std::string(1999, 'b') + "c");
#endif
  CHECK(std::get<WorkerFailure>(answers[3]).why == "exited with status 3 and without an answer");
  CHECK_THAT(std::get<WorkerFailure>(answers[4]).why, Catch::StartsWith("a bug"));
  CHECK(std::get<std::string>(answers[6]) == "two");
  CHECK(std::get<std::string>(answers[7]).empty());
  CHECK(open_files() == files);
  end_nursery(nursery);
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);  // no child is left
}

TEST_CASE("many requests on few workers are answered in order") {
  const NurseryProcess nursery = start_nursery(obey);
  std::vector<std::string> requests;
  for (int i = 0; i < 200; ++i) requests.push_back(std::to_string(i));
  const auto answers = ask(nursery, requests, 4);
  for (std::size_t i = 0; i < requests.size(); ++i) CHECK(std::get<std::string>(answers[i]) == requests[i]);
  end_nursery(nursery);
}

TEST_CASE("200 MB pass both ways without a deadlock") {
  const NurseryProcess nursery = start_nursery(obey);
  std::string large(200000000, 'x');
  large.back() = 'y';
  const auto answers = ask(nursery, {large, large});
  CHECK((std::get<std::string>(answers[0]) == large));
  CHECK((std::get<std::string>(answers[1]) == large));
  end_nursery(nursery);
}

TEST_CASE("forked processes use the nursery at the same time") {
  const NurseryProcess nursery = start_nursery(obey);
  std::vector<int> clients;
  for (int client = 0; client < 4; ++client) {
    const int pid = ::fork();
    if (pid == 0) {
      const auto answers = ask(nursery, std::vector<std::string>(20, "client" + std::to_string(client)));
      for (const WorkerAnswer& answer : answers)
        if (std::get<std::string>(answer) != "client" + std::to_string(client)) ::_exit(1);
      ::_exit(0);
    }
    clients.push_back(pid);
  }
  for (int pid : clients) {
    int status = -1;
    REQUIRE(::waitpid(pid, &status, 0) == pid);
    CHECK(status == 0);
  }
  end_nursery(nursery);
}

TEST_CASE("the nursery and its workers end when their owner is killed") {
  int pids[2];
  REQUIRE(::pipe(pids) == 0);
  const int owner = ::fork();
  if (owner == 0) {
    const NurseryProcess nursery = start_nursery(obey);
    if (::write(pids[1], &nursery.pid, sizeof nursery.pid) < 0) ::_exit(1);
    (void)ask(nursery, {"sleep"});
    ::_exit(0);
  }
  int nursery = 0;
  REQUIRE(::read(pids[0], &nursery, sizeof nursery) == sizeof nursery);
  CHECK(exists(nursery));
  ::kill(owner, SIGKILL);
  ::waitpid(owner, nullptr, 0);
  CHECK(ends(nursery));
}

TEST_CASE("without its nursery the program says so") {
  const NurseryProcess nursery = start_nursery(obey);
  ::kill(nursery.pid, SIGKILL);
  ::waitpid(nursery.pid, nullptr, 0);
  CHECK_THROWS_WITH(ask(nursery, {"one"}), Catch::StartsWith("the workers' nursery is gone"));
}

TEST_CASE("simulations run in workers, bad ones among them") {
  GraphBuilder good;
  good.kernel(good.stream(good.processor()), 2_s);
  GraphBuilder bad = good;
  bad.kernel(StreamId{7}, 1_s);
  const WorkerNursery nursery = WorkerNursery::start();
  const auto results = nursery.run({{good.graph, {}, false}, {bad.graph, {}, false}, {good.graph, {{1_s, ProcessorLost{}}}, true}}, 2);
  CHECK(std::get<Timeline>(results[0]).makespan.value == 2.0);
  CHECK_THAT(std::get<WorkerFailure>(results[1]).why, Catch::Contains("there is no stream 7 (of 1)"));
  CHECK(std::get<Timeline>(results[2]).stopped_early);
}
