#include <doctest/doctest.h>

#include <algorithm>

#include "hardware_models/times/roofline_time.hpp"

namespace penstock::testing {
namespace {

/// Eight devices of 100 TFLOP/s a machine; links carry 1 GB/s inside it and 100 MB/s out of it.
HardwareSpec machines_of_eight() {
  HardwareSpec spec;
  Machine& machine = spec.machine.emplace();
  machine.device.peak_flops = {{"bf16", 100e12}};
  machine.device.memory_bandwidth_bytes_per_s = 1e12;
  machine.devices = 8;
  machine.link = Speed{1e9, 0};
  machine.nic = Speed{1e8, 0};
  machine.topology = TopologySpec{"nvswitch", {}};
  spec.tensor = 4;
  spec.devices_per_rank = 16;
  return spec;
}

/// 1,000 us of products, and one collective.
Layer layer_with(const Collective& collective) {
  Layer layer;
  layer.work.kernels = {{.kind = KernelKind::matrix, .flops = 100e9}};
  layer.work.collectives = {collective};
  return layer;
}

double forward_us(const HardwareSpec& spec, const Layer& layer) {
  return RooflineTimes(spec).pass_us(layer, Pass::forward);
}

const Collective gather{.kind = CollectiveKind::all_gather, .group = Group::tensor, .bytes = 4e5};

}  // namespace

TEST_CASE(
    "a stack hides a share of tensor gathers inside a machine, unless the scenario forbids it") {
  HardwareSpec spec = machines_of_eight();
  const double exposed_us = forward_us(spec, layer_with(gather)) - 1000;
  REQUIRE(exposed_us > 0);
  spec.machine->device.stack.tensor_hidden = 0.75;
  CHECK(forward_us(spec, layer_with(gather)) == doctest::Approx(1000 + exposed_us / 4));
  Collective sum = gather;
  sum.kind = CollectiveKind::all_reduce;
  const double summed_us = forward_us(spec, layer_with(sum));
  spec.overlaps_tensor = false;
  CHECK(forward_us(spec, layer_with(gather)) == doctest::Approx(1000 + exposed_us));
  CHECK(forward_us(spec, layer_with(sum)) == summed_us);
}

TEST_CASE("what is hidden stays exposed where it outlasts the kernels") {
  HardwareSpec spec = machines_of_eight();
  Collective large = gather;
  large.bytes = 4e7;
  const double exposed_us = forward_us(spec, layer_with(large)) - 1000;
  spec.machine->device.stack.tensor_hidden = 1;
  CHECK(forward_us(spec, layer_with(large)) == doctest::Approx(exposed_us));
}

TEST_CASE("tensor groups across machines hide nothing") {
  HardwareSpec spec = machines_of_eight();
  spec.tensor = 16;
  const double exposed_us = forward_us(spec, layer_with(gather));
  spec.machine->device.stack.tensor_hidden = 1;
  CHECK(forward_us(spec, layer_with(gather)) == exposed_us);
}

TEST_CASE("rings run behind attention where the stack lets them") {
  HardwareSpec spec = machines_of_eight();
  spec.tensor = 1;
  spec.context = 2;
  Layer layer =
      layer_with({.kind = CollectiveKind::ring_exchange, .group = Group::context, .bytes = 1e5});
  layer.work.kernels.front().kind = KernelKind::attention;
  const double exposed_us = forward_us(spec, layer) - 1000;
  REQUIRE(exposed_us > 0);
  spec.machine->device.stack.hides_rings = true;
  CHECK(forward_us(spec, layer) == doctest::Approx(1000 + std::max(0.0, exposed_us - 1000)));
}

TEST_CASE(
    "recomputation leaves out the end of a layer where the stack stops and nothing needs it") {
  HardwareSpec spec = machines_of_eight();
  Layer layer = layer_with({.kind = CollectiveKind::all_reduce, .bytes = 4e5, .closes = true});
  layer.work.kernels.push_back({.kind = KernelKind::matrix, .flops = 20e9, .closes = true});
  const auto again_us = [&] { return RooflineTimes(spec).pass_us(layer, Pass::recompute); };
  const double all_us = forward_us(spec, layer);
  REQUIRE(all_us > 1200);
  CHECK(again_us() == all_us);
  spec.machine->device.stack.stops_recomputing = true;
  CHECK(again_us() == doctest::Approx(1000));
  CHECK(RooflineTimes(spec).use(layer, Pass::recompute).compute_us == doctest::Approx(1000));
  CHECK(forward_us(spec, layer) == all_us);
  layer.work.repeated = Repeated::output;
  CHECK(again_us() == all_us);
  layer.work.repeated = Repeated::selected;
  for (Kernel& kernel : layer.work.kernels) kernel.selective = true;
  CHECK(again_us() == doctest::Approx(1000));
  spec.machine->device.stack.stops_recomputing = false;
  CHECK(again_us() == doctest::Approx(1200));
}

TEST_CASE("a shared expert runs beside the all-to-alls of the others, never below the longer one") {
  HardwareSpec spec = machines_of_eight();
  spec.expert = 4;
  Layer layer = layer_with({.kind = CollectiveKind::all_to_all, .group = Group::expert});
  layer.work.kernels.push_back({.kind = KernelKind::matrix, .flops = 20e9, .shared = true});
  layer.work.kernels.push_back({.pass = Pass::backward_input, .flops = 0, .shared = true});
  const auto pair = [&](double bytes) {
    layer.work.collectives.front().bytes = bytes;
    spec.overlaps_shared = false;
    const double apart_us = forward_us(spec, layer);
    spec.overlaps_shared = true;
    return std::pair{apart_us - 1200, forward_us(spec, layer) - 1000};
  };
  const auto [short_us, beside_short_us] = pair(1e5);
  REQUIRE((short_us > 0 && short_us < 200));
  CHECK(beside_short_us == doctest::Approx(200));
  const auto [long_us, beside_long_us] = pair(1e6);
  REQUIRE(long_us > 200);
  CHECK(beside_long_us == doctest::Approx(long_us));
  spec.slows = {.compute = 2};
  CHECK(pair(1e5).second == doctest::Approx(200 + short_us / 2));
  spec.slows = {.transfer = 1.5};
  CHECK(pair(1e6).second == doctest::Approx(std::min(1.5 * long_us, 200 + long_us)));
  spec.slows = {};
  spec.overlaps_experts = true;
  CHECK(pair(1e5).first == pair(1e5).second - 200);
}

TEST_CASE("a shared expert's backward hides with both of its passes") {
  HardwareSpec spec = machines_of_eight();
  spec.expert = 4;
  Layer layer = layer_with({.pass = Pass::backward_input,
                            .kind = CollectiveKind::all_to_all,
                            .group = Group::expert,
                            .bytes = 1e6});
  for (const Pass pass : {Pass::backward_input, Pass::backward_weight}) {
    layer.work.kernels.push_back(
        {.pass = pass, .kind = KernelKind::matrix, .flops = 10e9, .shared = true});
  }
  const double apart_us = RooflineTimes(spec).pass_us(layer, Pass::backward);
  spec.overlaps_shared = true;
  const RooflineTimes times(spec);
  CHECK(apart_us - times.pass_us(layer, Pass::backward) == doctest::Approx(200));
  CHECK(times.pass_us(layer, Pass::backward_weight) == doctest::Approx(100));
}

TEST_CASE("a pass through a layer of experts waits for the host once") {
  HardwareSpec spec = machines_of_eight();
  Layer layer;
  layer.work.kernels = {{.bytes = 1e6, .routes = true}, {.bytes = 1e6, .routes = true}};
  const double alone_us = forward_us(spec, layer);
  spec.machine->device.stack.routing_us = 300;
  CHECK(forward_us(spec, layer) == doctest::Approx(alone_us));  // whole graphs are launched
  spec.machine->device.kernel_issue_us = alone_us / 2;
  CHECK(forward_us(spec, layer) == doctest::Approx(alone_us + 300));
  for (Kernel& kernel : layer.work.kernels) kernel.returns = true;  // the piece behind the experts
  CHECK(forward_us(spec, layer) == doctest::Approx(alone_us));
}

}  // namespace penstock::testing
