#include <doctest/doctest.h>

#include "hardware_models/times/roofline_time.hpp"

namespace penstock::testing {
namespace {

/// 100 TFLOP/s in bf16, 200 in fp8, 1 TB/s, ten cores, nothing lost.
Device ten_cores() {
  return {.peak_flops = {{"bf16", 100e12}, {"fp8", 200e12}, {"fp32", 10e12}},
          .memory_bandwidth_bytes_per_s = 1e12,
          .multiprocessors = 10};
}

Kernel product(double rows, double inner, double columns) {
  return {.kind = KernelKind::matrix,
          .flops = 2 * rows * inner * columns,
          .rows = rows,
          .columns = columns,
          .inner = inner,
          .narrows = true};
}

double us(const Device& device, const Kernel& kernel, const char* precision = "bf16") {
  return KernelTimes(device, precision).us(kernel);
}

/// Forward over 1,000 keys a query, half of 2,000 under a mask.
Kernel attention(Pass pass) {
  return {.pass = pass,
          .kind = KernelKind::attention,
          .flops = 1e9,
          .rows = 2000,
          .columns = 1000,
          .inner = 128,
          .masked = 2};
}

Device with_attention() {
  Device device = ten_cores();
  device.attention = {{"flash", false, 128, {{1000, 0.5}, {2000, 0.6}}},
                      {"flash", true, 128, {{1000, 0.4}}},
                      {"flash", false, 64, {{1000, 0.25}}}};
  device.stack.attention = "flash";
  return device;
}

}  // namespace

TEST_CASE("products run in whole waves of tiles over the cores") {
  const Device device = ten_cores();
  // Ten tiles of 256 x 128 fill one wave; an eleventh begins another, even with smaller tiles.
  const Kernel full = product(2560, 500, 128);
  CHECK(flops_in_waves(device, full) == doctest::Approx(full.flops));
  const Kernel more = product(2816, 500, 128);
  CHECK(flops_in_waves(device, more) > 1.1 * more.flops);
  CHECK(flops_in_waves(device, more) <= 2 * full.flops);
}

TEST_CASE(
    "a product is never cheaper than its FLOPs, and starting tiles costs more at short inner "
    "sizes") {
  Device device = ten_cores();
  device.tile_start = 100;
  const auto lost = [&](double inner) {
    const Kernel kernel = product(2560, inner, 128);
    return flops_in_waves(device, kernel) / kernel.flops;
  };
  CHECK(lost(100) == doctest::Approx(2));
  CHECK(lost(400) == doctest::Approx(1.25));
  for (const double size : {1.0, 64.0, 100.0, 1000.0, 4096.0}) {
    const Kernel kernel = product(size, size, size);
    CHECK(flops_in_waves(device, kernel) >= kernel.flops);
  }
}

TEST_CASE("a long inner size is split among cores that would idle") {
  const Device device = ten_cores();
  const Kernel one_tile = product(256, 8192, 128);
  CHECK(flops_in_waves(device, one_tile) < 2 * one_tile.flops);
}

TEST_CASE("an attention kernel has its own speed for each pass, size of heads and number of keys") {
  const Device device = with_attention();
  CHECK(us(device, attention(Pass::forward)) == doctest::Approx(20));
  CHECK(us(device, attention(Pass::backward_input)) == doctest::Approx(25));
  Kernel small_heads = attention(Pass::forward);
  small_heads.inner = 64;
  CHECK(us(device, small_heads) == doctest::Approx(40));
}

TEST_CASE("a stack that computes masked scores pays for them at the speed of as many keys") {
  Device device = with_attention();
  device.stack.computes_masked = true;
  CHECK(us(device, attention(Pass::forward)) == doctest::Approx(2 * 10 / 0.6));
}

TEST_CASE("fp8 speeds up products with weights, whose factors are cast; nothing else") {
  const Device device = ten_cores();
  const Kernel dense = product(2560, 4096, 4096);
  // The input is read once and written by rows and by columns.
  const double cast_us = 4 * 2560.0 * 4096 / 1e6;
  CHECK(us(device, dense, "fp8") == doctest::Approx(us(device, dense) / 2 + cast_us).epsilon(1e-9));
  Kernel logits = dense;
  logits.narrows = false;
  CHECK(us(device, logits, "fp8") == us(device, logits));
  CHECK(us(device, Kernel{.bytes = 1e6}, "fp8") == us(device, Kernel{.bytes = 1e6}));
  CHECK(KernelTimes(device, "fp8").peak_flops() == 200e12);
}

TEST_CASE("narrow attention runs at the peak of fp8, whatever the recipe, by a share of its own") {
  Device device = with_attention();
  device.peak_flops["fp4"] = 400e12;
  device.stack.attention_share = 0.5;
  device.stack.fp8_attention_share = 0.8;
  Kernel narrow = attention(Pass::forward);
  narrow.narrows = true;
  // 10 us at the peak of bf16; half of the peak at 1,000 keys.
  CHECK(us(device, attention(Pass::forward), "fp8") == doctest::Approx(10 / 0.5 / 0.5));
  for (const char* recipe : {"fp8", "mxfp8", "nvfp4"}) {
    CHECK(us(device, narrow, recipe) == doctest::Approx(10 / 2.0 / 0.5 / 0.8));
  }
  CHECK(us(device, narrow) == us(device, attention(Pass::forward)));
  // Without a table of its kernel: as a product in fp8, that casts nothing.
  device.attention.clear();
  const double wide_us = us(device, attention(Pass::forward));
  CHECK(us(device, narrow, "nvfp4") == doctest::Approx(wide_us / 2));
}

TEST_CASE("without fp8 units the products run in bf16 and nothing is cast") {
  Device device = ten_cores();
  device.peak_flops.erase("fp8");
  const Kernel dense = product(2560, 4096, 4096);
  CHECK(us(device, dense, "fp8") == us(device, dense, "bf16"));
}

TEST_CASE("a stack slows products and repeats passes over memory, except fused ones") {
  Device device = ten_cores();
  const Kernel dense = product(2560, 500, 128);
  const Kernel sum{.bytes = 3e6};
  Kernel loss = sum;
  loss.fused = true;
  const double dense_us = us(device, dense);
  device.stack.matrix_share = 0.5;
  device.stack.vector_passes = 3;
  CHECK(us(device, dense) == doctest::Approx(2 * dense_us));
  CHECK(us(device, sum) == doctest::Approx(9));
  CHECK(us(device, loss) == doctest::Approx(3));
}

TEST_CASE("a power cap slows matrix units with its cube root, and not the memory") {
  Device device = ten_cores();
  device.power_watts = 800;
  CHECK(share_under_cap(device, 100) == doctest::Approx(0.5));
  CHECK(share_under_cap(device, 900) == 1);
  device.power_share = share_under_cap(device, 100);
  CHECK(us(device, product(2560, 500, 128)) ==
        doctest::Approx(2 * us(ten_cores(), product(2560, 500, 128))));
  CHECK(us(device, Kernel{.bytes = 1e6}) == us(ten_cores(), Kernel{.bytes = 1e6}));
}

TEST_CASE("recipes narrow products to the units that a device has") {
  Device device = ten_cores();
  const Kernel dense = product(2560, 4096, 4096);
  const double wide_us = us(device, dense), numbers = 2560.0 * 4096;
  // Copies by rows and by columns, with the scales of 128, 32 or 16 values.
  CHECK(us(device, dense, "fp8-block") ==
        doctest::Approx(wide_us / 2 + (2 + 2 * (1 + 4.0 / 128)) * numbers / 1e6));
  CHECK(us(device, dense, "mxfp8") ==
        doctest::Approx(wide_us / 2 + (2 + 2 * (1 + 1.0 / 32)) * numbers / 1e6));
  const double fp4_cast_us = (2 * 2 + 2 * (0.5 + 1.0 / 16)) * numbers / 1e6;
  CHECK(us(device, dense, "nvfp4") == doctest::Approx(wide_us / 2 + fp4_cast_us));
  device.peak_flops["fp4"] = 400e12;
  CHECK(us(device, dense, "nvfp4") == doctest::Approx(wide_us / 4 + fp4_cast_us));
  device.stack.fp4_share = 0.5;
  CHECK(us(device, dense, "nvfp4") == doctest::Approx(wide_us / 2 + fp4_cast_us));
  device.peak_flops.erase("fp4");
  device.peak_flops.erase("fp8");
  CHECK(us(device, dense, "nvfp4") == wide_us);
}

TEST_CASE("a narrow product reads narrowed factors and writes two bytes a value") {
  Device device = ten_cores();
  device.multiprocessors = 0;
  Kernel few = product(8, 1000, 1000);  // 16 MFLOP: bound by its bytes
  few.pass = Pass::backward_weight;
  few.bytes = 2 * (8e3 + 1e6 + 8e3);
  const double factors_us = 1.008, result_us = 0.016;  // a byte a value, two bytes a value
  CHECK(us(device, few) == doctest::Approx(2 * factors_us + result_us));
  CHECK(us(device, few, "fp8") == doctest::Approx(factors_us + result_us));
  CHECK(us(device, few, "mxfp8") == doctest::Approx(factors_us * (1 + 1.0 / 32) + result_us));
  CHECK(us(device, few, "nvfp4") == doctest::Approx(factors_us * (0.5 + 1.0 / 16) + result_us));
  CHECK(KernelTimes(device, "fp8").bytes(few) == doctest::Approx(1.024e6));
  few.narrows = false;
  CHECK(us(device, few, "fp8") == us(device, few));
}

TEST_CASE("gradients of weights take what F and I have narrowed") {
  const Device device = ten_cores();
  Kernel weights = product(2560, 4096, 4096);
  weights.pass = Pass::backward_weight;
  CHECK(us(device, weights, "fp8") == doctest::Approx(us(device, weights) / 2));
}

TEST_CASE("each expert of a product costs more than its own work") {
  Device device = ten_cores();
  Kernel experts = product(2560, 4096, 4096);
  experts.batch = 8;
  experts.flops *= 8;
  const double alone_us = us(device, experts);
  device.stack.expert_gflop = 5;
  device.kernel_issue_us = 1;
  CHECK(us(device, experts) == alone_us);  // of no experts
  experts.grouped = true;
  CHECK(us(device, experts) == doctest::Approx(alone_us + 8 * 50));
  device.kernel_issue_us = 0;  // a captured graph has one kernel for all of them
  CHECK(us(device, experts) == alone_us);
}

TEST_CASE("the host issues each expert of a narrow product, unless it launches whole graphs") {
  Device device = ten_cores();
  device.kernel_issue_us = 2;
  device.stack.expert_issue_us = 30;
  Kernel experts = product(2560, 4096, 4096);
  experts.batch = 8;
  const auto issue_us = [&](const char* precision) {
    return KernelTimes(device, precision).issue_us(experts);
  };
  CHECK(issue_us("fp8") == 2);  // of no experts
  experts.grouped = true;
  CHECK(issue_us("bf16") == 2);
  CHECK(issue_us("fp8") == 2 + 8 * 30);
  device.kernel_issue_us = 0;
  CHECK(issue_us("fp8") == 0);
}

TEST_CASE("kernels that route tokens have passes of their own") {
  Device device = ten_cores();
  device.stack.vector_passes = 2;
  device.stack.routing_passes = 5;
  const Kernel moved{.bytes = 1e6};
  Kernel routed = moved;
  routed.routes = true;
  CHECK(us(device, moved) == doctest::Approx(2));
  CHECK(us(device, routed) == doctest::Approx(5));
}

}  // namespace penstock::testing
