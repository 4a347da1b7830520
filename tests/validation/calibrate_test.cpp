// One's own measurements read and fitted: inputs made by hand, with known answers.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <unistd.h>

#include "sim/units/error.hpp"
#include "topologies/catalogue.hpp"
#include "validation/fit/own_fit.hpp"

using namespace trainyard;
using namespace trainyard::fit;

namespace {

/// A file that is gone at the end of the test.
class Written {
 public:
  explicit Written(const std::string& text) : path_(std::filesystem::temp_directory_path() / fmt::format("calibrate_{}_{}", getpid(), ++count_)) {
    std::ofstream(path_) << text;
  }
  ~Written() { std::filesystem::remove(path_); }
  Written(const Written&) = delete;
  Written& operator=(const Written&) = delete;
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  static inline int count_ = 0;
  std::filesystem::path path_;
};

std::string ranks(int count, int a_node) {
  std::string text;
  for (int r = 0; r < count; ++r) text += fmt::format("#  Rank {:2} Group  0 Pid {} on host{} device {} [0x07] NVIDIA A100\n", r, 100 + r, r / a_node, r % a_node);
  return text;
}

std::string message(const std::function<void()>& action) {
  try {
    action();
  } catch (const UserError& error) {
    return error.what();
  }
  return "nothing thrown";
}

DeviceType a100() { return catalogue().gpu("A100-SXM4-80GB")->type; }

}  // namespace

TEST_CASE("a log of nccl-tests: ranks, hosts, the operation, out-of-place times, in old and new columns") {
  const Written now(ranks(16, 8) + "# Collective test starting: all_gather_perf\n#  size count type redop root time algbw busbw #wrong\n"
                                   "  1048576  16384  float  none  -1  100.50  10.43  9.78  0  99.0  10.6  9.9  0\n"
                                   "  2097152  32768  float  none  -1  180   11.65  10.92  0  181  11.6  10.9  0\n");
  const NcclLog log = read_nccl_log(now.path());
  CHECK(log.kind == CollectiveKind::all_gather);
  CHECK(log.ranks == 16);
  CHECK(log.nodes == 2);
  REQUIRE(log.lines.size() == 2);
  CHECK(log.lines[0].size == Bytes(1048576));
  CHECK(log.lines[0].time.value == Approx(100.5e-6));
  CHECK(log.lines[1].time.value == Approx(180e-6));
  // No root, no name: busbw / algbw = 2 · 7/8 says all-reduce.
  const Written old(ranks(8, 8) + "  1000000  250000  float  sum  50.00  20.00  35.00  0  50.00  20.00  35.00  0\n");
  CHECK(read_nccl_log(old.path()).kind == CollectiveKind::all_reduce);
  CHECK(read_nccl_log(old.path()).lines[0].time.value == Approx(50e-6));
}

TEST_CASE("what is no such log is refused in one line") {
  const Written nothing("hello\n"), nobody("  1000000  250000  float  sum  50.00  20.00  35.00  0\n");
  const Written unknown(ranks(8, 8) + "  1000000  250000  float  none  50.00  20.00  17.50  0\n");
  const Written torn(ranks(8, 8) + "  1000000  250000  float  sum  fifty\n");
  CHECK_THAT(message([&] { (void)read_nccl_log(nothing.path()); }), Catch::Contains("no lines of nccl-tests"));
  CHECK_THAT(message([&] { (void)read_nccl_log(nobody.path()); }), Catch::Contains("which GPUs took part"));
  CHECK_THAT(message([&] { (void)read_nccl_log(unknown.path()); }), Catch::Contains("which operation"));
  CHECK_THAT(message([&] { (void)read_nccl_log(torn.path()); }), Catch::Contains(":9: column"));
  CHECK(message([&] { (void)read_nccl_log("/no/such/log"); }) == "/no/such/log: cannot be read");
}

TEST_CASE("kernel tables: aiconfigurator's milliseconds, and the four products of Vidur's linear layers") {
  const Written ai("framework,gemm_dtype,m,n,k,latency\nx,bfloat16,128,256,512,0.5\nx,fp8,128,256,512,0.25\n");
  const auto tables = read_kernel_table(ai.path());
  REQUIRE(tables.size() == 2);
  CHECK(tables[0].type == DataType::bf16);
  CHECK(tables[0].products[0].time.value == Approx(0.5e-3));
  // 32 heads and 8 groups of a model 4,096 wide: q, k and v are 4096 · (1 + 2 · 8/32) = 6144 wide, of 2 devices 3072.
  const Written vidur(
      "num_tokens,n_embd,n_expanded_embd,n_head,n_kv_head,use_gated_mlp,num_tensor_parallel_workers,time_stats.attn_pre_proj.median,"
      "time_stats.attn_post_proj.median,time_stats.mlp_up_proj.median,time_stats.mlp_down_proj.median\n100,4096,14336,32,8,True,2,1,0,3,4\n");
  const auto products = read_kernel_table(vidur.path()).at(0).products;
  REQUIRE(products.size() == 3);  // a time of zero is a missing one
  CHECK(products[0].shape == GemmShape{100, 3072, 4096, 1});
  CHECK(products[1].shape == GemmShape{100, 14336, 4096, 1});
  CHECK(products[2].shape == GemmShape{100, 4096, 7168, 1});
  CHECK(products[2].time.value == Approx(4e-3));
  const Written wrong("a,b\n1,2\n"), word("gemm_dtype,m,n,k,latency\nint3,1,1,1,1\n"), hole("gemm_dtype,m,n,k,latency\nfp8,1,,1,1\n");
  CHECK_THAT(message([&] { (void)read_kernel_table(wrong.path()); }), Catch::Contains("neither columns"));
  CHECK_THAT(message([&] { (void)read_kernel_table(word.path()); }), Catch::Contains(":2: gemm_dtype: \"int3\""));
  CHECK_THAT(message([&] { (void)read_kernel_table(hole.path()); }), Catch::Contains(":2: n: no positive number"));
}

TEST_CASE("products made by a known curve give it back, and exact ones no error worth naming") {
  DeviceType truth = a100();
  truth.gemm[DataType::bf16] = {0.6, 200, 0, 1, Seconds(4e-6)};
  KernelTable table;
  for (const double m : {1024., 4096., 16384.})
    for (const double n : {2048., 8192.})
      for (const double k : {512., 2048., 8192.})
        table.products.push_back({{m, n, k, 1}, gemm_time(truth, DataType::bf16, {m, n, k, 1}), false});
  const FittedProducts fitted = fit_own_products(a100(), table);
  CHECK(fitted.curve.efficiency == Approx(0.6).epsilon(0.02));
  CHECK(fitted.curve.k_half == Approx(200).margin(20));
  CHECK(fitted.curve.sustained == a100().gemm.at(DataType::bf16).sustained);
  CHECK(fitted.after < 0.01);
  CHECK(fitted.before > 0.2);
  CHECK(fitted.error.efficiency < 0.02);
  table.products.resize(5);
  CHECK_THAT(message([&] { (void)fit_own_products(a100(), table); }), Catch::Contains("too few"));
  table.type = DataType::fp4;
  CHECK_THAT(message([&] { (void)fit_own_products(a100(), table); }), Catch::Contains("has no fp4"));
}

TEST_CASE("links that take 1.25 times as long in everything have 1.25 of the times and 0.8 of the rate") {
  Transport transport;
  transport.name = "wire";
  transport.setup = Seconds(10e-6);
  transport.ring = AlgorithmTimes{{{"", {Seconds(10e-6), Seconds(2e-6), {}, {}, 1}, {}}}};
  CollectiveShape shape;
  shape.members = shape.hops = 4;
  shape.ring_rate = 10_GBps;
  NcclLog log;
  for (double size = 1e4; size < 1e9; size *= 4)
    log.lines.push_back({Bytes(size), collective_cost(shape, transport, Bytes(size)).alone(shape.ring_rate) * 1.25});
  const FittedLinks fitted = fit_own_links(shape, transport, log);
  CHECK(fitted.times.value == Approx(1.25).epsilon(0.005));
  CHECK(fitted.rate.value == Approx(0.8).epsilon(0.005));
  CHECK(fitted.times.error < 0.01);
  CHECK(fitted.before == Approx(0.2).epsilon(0.01));
  CHECK(fitted.after < 0.005);
  log.lines.resize(3);
  CHECK_THAT(message([&] { (void)fit_own_links(shape, transport, log); }), Catch::Contains("too few"));
}

TEST_CASE("a site's factor: steps of 8 s of kernels and 2 s of the rest, measured at 12, 14 and 16 s") {
  const std::vector<Seconds> predicted(3, Seconds(10)), slower(3, Seconds(10.8));
  const FittedSite site = fit_site({Seconds(12), Seconds(14), Seconds(16)}, predicted, slower);
  CHECK(site.slowdown.value == Approx(1.5));                     // (14 - 2) / 8
  CHECK(site.slowdown.error == Approx(0.25 / std::sqrt(3.0)));   // 1.25, 1.5, 1.75
  CHECK(site.after == Approx(2.0 / 16));
  CHECK_THAT(message([&] { (void)fit_site({Seconds(1)}, {Seconds(10)}, {Seconds(10)}); }), Catch::Contains("does not depend on kernels"));
  CHECK_THAT(message([&] { (void)fit_site({Seconds(1)}, {Seconds(10)}, {Seconds(10.8)}); }), Catch::Contains("faster than their communication"));
}
