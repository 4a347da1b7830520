#include <catch2/catch.hpp>

#include <cmath>

#include "sim/cost/kernel_time.hpp"
#include "sim/cost/scan_kernels.hpp"
#include "tests/cost/catalogue_fixture.hpp"

using namespace trainyard;

namespace {

DeviceType ideal() {
  DeviceType device;
  device.name = "ideal";
  device.multiprocessors = 100;
  device.peak[DataType::bf16] = 100_TFLOPS;
  device.memory_bandwidth = BytesPerSecond(1e12);
  device.memory_efficiency = 0.5;
  device.kernel_launch = 2_us;
  device.gemm[DataType::bf16] = {0.8, 100, 0, 0.5, 3_us};
  return device;
}

}  // namespace

TEST_CASE("a large product runs at peak times efficiency times the sustained share") {
  const DeviceType device = ideal();
  const GemmShape shape{8192, 8192, 8192, 1};
  const double compute = 2 * std::pow(8192.0, 3) * (1 + 100 / 8192.0) / (100e12 * 0.4);
  const double memory = 3 * 8192.0 * 8192 * 2 / 0.85e12;
  CHECK(gemm_time(device, DataType::bf16, shape).value == Approx(std::cbrt(std::pow(compute, 3) + std::pow(memory, 3)) + 3e-6));
}

TEST_CASE("a product a head leaves the tensor cores where a side is no multiple of 16 bytes") {
  DeviceType device = ideal();
  device.peak[DataType::fp32] = 10_TFLOPS;
  const GemmShape aligned{2048, 2048, 104, 64}, odd{2048, 2048, 108, 64};
  CHECK(batched_gemm_time(device, DataType::bf16, aligned) == gemm_time(device, DataType::bf16, aligned));
  const double compute = 2.0 * 2048 * 2048 * 108 * 64 * (1 + 100 / 108.0) / (10e12 * 0.4);
  CHECK(batched_gemm_time(device, DataType::bf16, odd).value == Approx(compute).epsilon(0.001));
}

TEST_CASE("a convolution computes as its implicit product and moves its input once") {
  // 3 x 3 from 64 to 64 channels: windows of 576 elements, of which 64 are read from memory.
  const GemmShape shape{65536, 64, 576, 1};
  const double compute = 2.0 * 65536 * 64 * 576 * (1 + 100 / 576.0) / (100e12 * 0.4);
  const Bytes moved(2 * (65536.0 * 128 + 576 * 64));
  CHECK(convolution_time(ideal(), DataType::bf16, shape, moved).value ==
        Approx(std::cbrt(std::pow(compute, 3) + std::pow(moved.value / 0.85e12, 3)) + 3e-6));
  CHECK(convolution_time(ideal(), DataType::bf16, shape, moved) < gemm_time(ideal(), DataType::bf16, shape));
}

TEST_CASE("a thin product is limited by memory") {
  const double memory = (1.0 * 8192 + 8192.0 * 8192 + 8192) * 2 / 0.85e12;
  CHECK(gemm_time(ideal(), DataType::bf16, {1, 8192, 8192, 1}).value == Approx(memory + 3e-6).epsilon(0.01));
}

TEST_CASE("tiles are padded to whole waves") {
  // 108 tiles of 128 x 256 fill 108 multiprocessors exactly; one more row of tiles starts a second wave.
  CHECK(tile_quantisation({12 * 128, 9 * 256, 64, 1}, 108) == Approx(1));
  CHECK(tile_quantisation({12 * 128 + 1, 9 * 256, 64, 1}, 108) > 1.05);
}

TEST_CASE("time grows with every side of a product on every GPU of the catalogue") {
  const std::string gpu = GENERATE("T4-16GB", "V100-SXM2-32GB", "A100-SXM4-80GB", "H100-SXM5-80GB", "B200-SXM-180GB");
  const Cluster cluster = fixture::one_node(gpu);
  const DeviceType& device = cluster.type_of(DeviceId(0));
  const DataType type = device.peak.contains(DataType::bf16) ? DataType::bf16 : DataType::fp16;
  for (double size = 256; size < 32768; size *= 2) {
    CHECK(gemm_time(device, type, {2 * size, size, size, 1}) > gemm_time(device, type, {size, size, size, 1}));
    CHECK(gemm_time(device, type, {size, 2 * size, size, 1}) > gemm_time(device, type, {size, size, size, 1}));
    CHECK(gemm_time(device, type, {size, size, 2 * size, 1}) > gemm_time(device, type, {size, size, size, 1}));
  }
}

TEST_CASE("attention reaches half its rate at its half length and does 2.5 times the work backward") {
  DeviceType device = ideal();
  device.kernel_launch = Seconds(0);
  device.attention[AttentionKernel::flash_2] = {200_TFLOPS, 200_TFLOPS, 512, 512};
  const Seconds forward = fused_attention_time(device, AttentionKernel::flash_2, {Flops(2e14), true, 512}, false);
  CHECK(forward.value == Approx(1.0));
  CHECK(fused_attention_time(device, AttentionKernel::flash_2, {Flops(2e14), true, 512}, true).value == Approx(2.5));
}

TEST_CASE("attention of few rows does not fill the device: one round of 128 queries of a head on each multiprocessor is lost") {
  DeviceType device = ideal();
  device.kernel_launch = Seconds(0);
  device.multiprocessors = 100;
  device.attention[AttentionKernel::flash_2] = {200_TFLOPS, 200_TFLOPS, 0, 0};
  const auto time = [&](double rows) { return fused_attention_time(device, AttentionKernel::flash_2, {Flops(4e14), true, 512, rows}, false); };
  CHECK(time(128 * 100).value == Approx(2));
  CHECK(time(128 * 100 * 4).value == Approx(1.25));
  CHECK(time(0).value == Approx(1));
}

TEST_CASE("memory-bound kernels cost their bytes and a launch") {
  CHECK(memory_bound_time(ideal(), Bytes(5e8)).value == Approx(1e-3 + 2e-6));
  CHECK(memory_bound_time(ideal(), Bytes(0)) == Seconds(0));
}

// cuDNN: 64 (128 + 104) / (128 (64 + 104)) of the rate forward, 64 (128 + 31) / (128 (64 + 31)) backward; H100 at 8k tokens without mask:
// 412 of 600 and 432 of 518 TFLOPS (FlashAttention-3, arXiv 2407.08608, figures 5 and 6).
TEST_CASE("attention of smaller heads is slower: the exponentials of a score do not shrink with it") {
  DeviceType device = ideal();
  device.kernel_launch = Seconds(0);
  device.multiprocessors = 132;  // of H100, and its peak
  device.peak[DataType::bf16] = 989_TFLOPS;
  device.attention[AttentionKernel::cudnn] = {200_TFLOPS, 200_TFLOPS, 0, 0};
  const auto time = [&](double head, bool backward) {
    return fused_attention_time(device, AttentionKernel::cudnn, {Flops(4e14), true, 512, 0, head}, backward).value;
  };
  CHECK(time(64, false) == Approx(128.0 * 168 / (64.0 * 232)));
  CHECK(time(64, true) == Approx(2.5 * 128.0 * 95 / (64.0 * 159)));
  CHECK(1 / time(64, false) == Approx(412.0 / 600).epsilon(0.01));
  CHECK(2.5 / time(64, true) == Approx(432.0 / 518).epsilon(0.01));
  CHECK(time(128, false) == Approx(1));
  CHECK(time(192, false) == Approx(1));
  device.multiprocessors = 66;  // twice the products of a multiprocessor
  CHECK(time(64, false) == Approx(128.0 * (64 + 208) / (64.0 * (128 + 208))));
}

// A window of 128 of 4,096 keys: 256 keys a block instead of 128, and a half length of 512 counts against 2 x 256.
TEST_CASE("attention under a window works on whole blocks of keys, and starts each as a long one") {
  DeviceType device = ideal();
  device.kernel_launch = Seconds(0);
  device.attention[AttentionKernel::cudnn] = {200_TFLOPS, 200_TFLOPS, 512, 0};
  const auto time = [&](double window, bool backward) {
    return fused_attention_time(device, AttentionKernel::cudnn, {Flops(4e14), true, 4096, 0, 128, window}, backward).value;
  };
  CHECK(time(0, false) == Approx(1.125));
  CHECK(time(4096, false) == Approx(1.125));
  CHECK(time(128, false) == Approx(2 * 2));
  CHECK(time(128, true) == Approx(2 * 2.5));
}

// Width 64, state 16, one group, chunks of 32, 1,000 tokens, 16 bits. FLOPs a token: C·B 2 x 32 x 16, states and scan 2 x 64 x 16, inside
// 64 x 32. Bytes: B and C 32 each, x 128, a chunk's product 4 x 32, states 64 x 16 / 32 of 4 or 2 bytes.
TEST_CASE("a scan by chunks runs four kernels forward, and makes states again backward") {
  DeviceType device = ideal();
  device.kernel_launch = Seconds(0);
  device.multiprocessors = 100;
  const ScanCall call{1000, 64, 16, 1, 32, Bytes(2)};
  const auto flops = [&](bool backward) {
    std::vector<double> all;
    for (const Kernel& kernel : scan_kernels(device, call, backward)) all.push_back(kernel.flops.value / 1000);
    return all;
  };
  const auto bytes = [&](bool backward) {
    std::vector<double> all;
    for (const Kernel& kernel : scan_kernels(device, call, backward)) all.push_back(kernel.bytes.value / 1000);
    return all;
  };
  CHECK(flops(false) == std::vector<double>{1024, 2048, 0, 4096});
  CHECK(bytes(false) == std::vector<double>{192, 288, 192, 480});
  CHECK(flops(true) == std::vector<double>{1024, 2048, 0, 2048, 0, 4096, 2048, 2048, 2048, 1024, 1024, 2048});
  CHECK(bytes(true) == std::vector<double>{192, 288, 256, 288, 384, 608, 256, 256, 384, 224, 224, 384});
}

TEST_CASE("a scan's kernel takes the longer of its products and its bytes") {
  DeviceType device = ideal();  // 1e12 bytes/s at half
  device.multiprocessors = 100;
  const std::vector<Kernel> kernels = scan_kernels(device, {1e6, 64, 16, 1, 32, Bytes(2)}, false);
  CHECK(kernels[3].alone.value == Approx(memory_bound_time(device, Bytes(480e6)).value));
  device.multiprocessors = 1;
  CHECK(scan_kernels(device, {1e6, 64, 16, 1, 32, Bytes(2)}, false)[3].alone.value == Approx(4096e6 / 0.61e12 + 2e-6));
  device.multiprocessors = 0;  // a share of its peak
  device.peak[DataType::bf16] = 10_TFLOPS;
  CHECK(scan_kernels(device, {1e6, 64, 16, 1, 32, Bytes(2)}, false)[3].alone.value == Approx(4096e6 / (10e12 * 132 * 0.61 / 989) + 2e-6));
}

// vllm-project/vllm #27299: 128 heads of 64, state 128, one group, chunks of 256 on H100: 10.7 to 12.9 million tokens a second from 8,192 on.
TEST_CASE("a scan on H100 takes what was measured") {
  DeviceType device = ideal();
  device.multiprocessors = 132;
  device.memory_bandwidth = BytesPerSecond(3.35e12);
  device.memory_efficiency = 0.85;
  Seconds total{};
  for (const Kernel& kernel : scan_kernels(device, {32768, 8192, 128, 1, 256, Bytes(2)}, false)) total += kernel.alone;
  CHECK(32768 / total.value > 10.7e6);
  CHECK(32768 / total.value < 12.9e6);
}
