#include <doctest/doctest.h>

#include "hardware_models/links/groups.hpp"
#include "hardware_models/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"
#include "tests/support/system.hpp"

namespace penstock::testing {
namespace {

/// 10 TFLOP/s in bf16, 1 in fp32, 100 GB/s, nothing lost: a GFLOP takes 100 us, a MB 10.
Machine made_up() {
  Machine machine{.name = "made-up"};
  machine.device.name = "made-up device";
  machine.device.peak_flops = {{"bf16", 10e12}, {"fp32", 1e12}};
  machine.device.memory_bandwidth_bytes_per_s = 100e9;
  return machine;
}

/// The same in machines of eight: 10 links of 1 GB/s and 1 us inside, and outside a NIC of 1 GB/s
/// and 5 us for two of them.
Machine eight() {
  Machine machine = made_up();
  machine.devices = 8;
  machine.link = Speed{1e9, 1};
  machine.links = 10;
  machine.nic = Speed{1e9, 5};
  machine.devices_per_nic = 2;
  return machine;
}

HardwareSpec on(Machine machine) { return {.machine = std::move(machine)}; }

std::unique_ptr<HardwareModel> roofline(const HardwareSpec& spec) {
  return find_named(cost_model_entries(), "roofline")->make(spec);
}

Kernel matrix(double flops, double bytes) {
  return {.kind = KernelKind::matrix, .flops = flops, .bytes = bytes};
}

double forward_us(const HardwareSpec& spec, const Kernel& kernel) {
  Layer layer;
  layer.work.kernels = {kernel};
  return roofline(spec)->compute_us(layer, Pass::forward).value();
}

double forward_us(const HardwareSpec& spec, const Collective& collective) {
  Layer layer;
  layer.work.collectives = {collective};
  return roofline(spec)->compute_us(layer, Pass::forward).value();
}

/// Forward, two kernels of 1 GFLOP, one of them selective; I two GFLOP, W three.
Layer all_passes() {
  Layer layer;
  layer.work.kernels = {matrix(1e9, 0), matrix(1e9, 0), matrix(2e9, 0), matrix(3e9, 0)};
  layer.work.kernels[1].selective = true;
  layer.work.kernels[2].pass = Pass::backward_input;
  layer.work.kernels[3].pass = Pass::backward_weight;
  return layer;
}

}  // namespace

TEST_CASE("roofline: a kernel takes what arithmetic or memory takes, the longer of both") {
  const HardwareSpec spec = on(made_up());
  CHECK(forward_us(spec, matrix(1e9, 1e6)) == doctest::Approx(100));  // 1 GFLOP against 1 MB
  CHECK(forward_us(spec, matrix(1e9, 20e6)) == doctest::Approx(200));
  CHECK(forward_us(spec, matrix(0, 20e6)) == doctest::Approx(200));
  // What is no matrix product runs at the peak of fp32.
  CHECK(forward_us(spec, Kernel{.flops = 1e9, .bytes = 1e6}) == doctest::Approx(1000));
  CHECK(forward_us(spec, Kernel{.flops = 1e6, .bytes = 1e6}) == doctest::Approx(10));
}

TEST_CASE("roofline: each of several kernels pays what the device takes beside its work") {
  Machine machine = made_up();
  machine.device.kernel_us = 3;
  Kernel kernel = matrix(1e9, 0);
  kernel.count = 5;
  CHECK(forward_us(on(machine), kernel) == doctest::Approx(5 * (100 + 3)));
}

TEST_CASE("roofline: tiles that stand over the edge of a product are paid for") {
  // 100 x 200 in tiles of 64: 2 x 4 tiles, of which 100/128 of the rows and 200/256 of the columns
  // are filled.
  Machine machine = made_up();
  machine.device.tile = 64;
  Kernel kernel = matrix(1e9, 0);
  kernel.rows = 100;
  kernel.columns = 200;
  CHECK(forward_us(on(machine), kernel) == doctest::Approx(100 * 1.28 * 1.28));
  kernel.rows = 128;
  kernel.columns = 64;
  CHECK(forward_us(on(machine), kernel) == doctest::Approx(100));
}

TEST_CASE("roofline: efficiency lies on straight lines over the logarithm of the size") {
  Machine machine = made_up();
  machine.device.matrix_efficiency = {{{1, 0.25}, {100, 0.75}}};
  machine.device.memory_efficiency = {{{1, 0.5}, {10, 1}}};
  const HardwareSpec spec = on(machine);
  CHECK(forward_us(spec, matrix(0.5e9, 0)) == doctest::Approx(50 / 0.25));
  CHECK(forward_us(spec, matrix(10e9, 0)) == doctest::Approx(1000 / 0.5));  // half way
  CHECK(forward_us(spec, matrix(500e9, 0)) == doctest::Approx(50000 / 0.75));
  CHECK(forward_us(spec, matrix(0, 0.1e6)) == doctest::Approx(1 / 0.5));
  CHECK(forward_us(spec, matrix(0, 10e6)) == doctest::Approx(100));
}

TEST_CASE("roofline: a half size is work that each kernel has beside its own") {
  // At 0.5 of 10 TFLOP/s, 3 GFLOP more each; at 0.8 of 100 GB/s, 4 MB more.
  Machine machine = made_up();
  machine.device.matrix_efficiency = {{{1, 0.5}}, 3};
  machine.device.memory_efficiency = {{{1, 0.8}}, 4};
  const HardwareSpec spec = on(machine);
  CHECK(forward_us(spec, matrix(7e9, 0)) == doctest::Approx(10 * 100 / 0.5));
  CHECK(forward_us(spec, matrix(1e6, 0)) == doctest::Approx(3.001 * 100 / 0.5));
  CHECK(forward_us(spec, matrix(0, 16e6)) == doctest::Approx(20 * 10 / 0.8));
  CHECK(forward_us(spec, matrix(0, 0)) == 0);
}

TEST_CASE("roofline: products any of whose sizes is no multiple of 8 reach a share of the rest") {
  Machine machine = made_up();
  machine.device.unaligned_efficiency = 0.25;
  const HardwareSpec spec = on(machine);
  const auto product_us = [&](double rows, double inner, double columns) {
    Kernel kernel = matrix(1e9, 0);
    kernel.rows = rows;
    kernel.inner = inner;
    kernel.columns = columns;
    return forward_us(spec, kernel);
  };
  CHECK(product_us(1024, 512, 50264) == doctest::Approx(100));
  CHECK(product_us(1024, 512, 50257) == doctest::Approx(400));
  CHECK(product_us(1024, 50257, 512) == doctest::Approx(400));
  CHECK(product_us(50257, 1024, 512) == doctest::Approx(400));
  CHECK(product_us(4, 8, 8) == doctest::Approx(400));
}

TEST_CASE("roofline: where the host cannot issue kernels as fast as they run, it sets the pace") {
  Machine machine = made_up();
  machine.device.kernel_issue_us = 50;
  Layer layer;
  layer.work.kernels = {matrix(0.1e9, 0), matrix(1e9, 0)};  // 10 us each of three, and 100 us
  layer.work.kernels[0].count = 3;
  CHECK(roofline(on(machine))->compute_us(layer, Pass::forward) == 200.0);
  machine.device.kernel_issue_us = 30;
  CHECK(roofline(on(machine))->compute_us(layer, Pass::forward).value() == doctest::Approx(130));
}

TEST_CASE("roofline: B is I and W, and recomputation is F or what of it is selected") {
  const auto hardware = roofline(on(made_up()));
  Layer layer = all_passes();
  const auto us = [&](Pass pass) { return hardware->compute_us(layer, pass).value(); };
  CHECK(us(Pass::forward) == doctest::Approx(200));
  CHECK(us(Pass::backward_input) == doctest::Approx(200));
  CHECK(us(Pass::backward_weight) == doctest::Approx(300));
  CHECK(us(Pass::backward) == doctest::Approx(500));
  CHECK(us(Pass::recompute) == doctest::Approx(200));
  layer.work.repeated = Repeated::selected;
  CHECK(us(Pass::recompute) == doctest::Approx(100));
  CHECK(us(Pass::forward) == doctest::Approx(200));
}

TEST_CASE("roofline: collectives come after the kernels, inside a machine if the group fits") {
  HardwareSpec spec = on(eight());
  spec.tensor = 4;
  spec.context = 2;
  spec.expert = 2;
  spec.expert_tensor = 4;
  const auto gather = [](Group group, double bytes) {
    return Collective{.kind = CollectiveKind::all_gather, .group = group, .bytes = bytes};
  };
  // Four neighbours: 3 steps of 10 MB at 10 GB/s. Four and two of these fill a machine: one step.
  CHECK(forward_us(spec, gather(Group::tensor, 40e6)) == doctest::Approx(3 * (1000 + 1)));
  CHECK(forward_us(spec, gather(Group::context, 20e6)) == doctest::Approx(1000 + 1));
  CHECK(forward_us(spec, gather(Group::expert_tensor, 40e6)) == doctest::Approx(3 * (1000 + 1)));
  // Experts are four apart: two fill a machine.
  CHECK(forward_us(spec, gather(Group::expert, 20e6)) == doctest::Approx(1000 + 1));
  // Whole ones are neighbours: 7 steps inside.
  spec.expert = 8;
  spec.expert_tensor = 1;
  CHECK(forward_us(spec, gather(Group::expert_tensor, 40e6)) == 0);
  CHECK(forward_us(spec, gather(Group::expert, 80e6)) == doctest::Approx(7 * (1000 + 1)));
  // Eight apart they span machines: 2 steps of 10 MB at half of a NIC.
  spec.expert = 3;
  spec.expert_tensor = 8;
  CHECK(forward_us(spec, gather(Group::expert, 30e6)) == doctest::Approx(2 * (20000 + 5)));
  spec.expert = 1;
  CHECK(forward_us(spec, gather(Group::expert, 30e6)) == 0);
  Layer layer;
  layer.work.kernels = {matrix(1e9, 0)};
  layer.work.collectives = {gather(Group::context, 20e6)};
  layer.work.collectives[0].count = 2;
  CHECK(roofline(spec)->compute_us(layer, Pass::forward).value() ==
        doctest::Approx(100 + 2 * (1000 + 1)));
}

TEST_CASE("roofline: groups lie in one machine, or in as many as their devices are in") {
  const auto lie = [](const GroupPlace& group) {
    const Members members = members_of(eight(), group);
    return std::pair(members.machines(), members.per_machine);
  };
  const auto fewest = [](const GroupPlace& group) { return members_of(eight(), group).fewest(); };
  CHECK(lie({4, 1, 64}) == std::pair(1UL, 4UL));
  CHECK(lie({2, 4, 64}) == std::pair(1UL, 2UL));
  CHECK(lie({16, 1, 64}) == std::pair(2UL, 8UL));
  CHECK(lie({8, 2, 64}) == std::pair(2UL, 4UL));  // every second device of two machines
  CHECK(lie({4, 8, 64}) == std::pair(4UL, 1UL));
  // Six of eight devices: one group is in a machine, a second one in two. Likewise the third of
  // three.
  CHECK(lie({6, 1, 6}) == std::pair(1UL, 6UL));
  CHECK(lie({6, 1, 12}) == std::pair(2UL, 4UL));
  CHECK(fewest({6, 1, 12}) == 2);
  CHECK(lie({3, 1, 6}) == std::pair(1UL, 3UL));
  CHECK(lie({3, 1, 9}) == std::pair(2UL, 2UL));
  CHECK(fewest({3, 1, 9}) == 1);
  CHECK(lie({4, 3, 12}) == std::pair(2UL, 3UL));  // 0, 3, 6 | 9
}

TEST_CASE("roofline: without a switch a device reaches others of its group by the links to these") {
  Machine machine = eight();
  machine.links = 7;
  machine.topology = TopologySpec{"mesh", {}};
  CHECK(reach_of(machine, 2).inside.bandwidth_bytes_per_s == doctest::Approx(1e9));
  CHECK(reach_of(machine, 4).inside.bandwidth_bytes_per_s == doctest::Approx(3e9));
  CHECK(reach_of(machine, 8).inside.bandwidth_bytes_per_s == doctest::Approx(7e9));
  machine.topology = TopologySpec{"rails", {}};
  CHECK(reach_of(machine, 2).inside.bandwidth_bytes_per_s == doctest::Approx(7e9));
}

TEST_CASE("roofline: where there are no NICs, or nothing but NICs, all goes over what there is") {
  CHECK(reach_of(eight(), 8).inside.bandwidth_bytes_per_s == 10e9);
  CHECK(reach_of(eight(), 8).outside.bandwidth_bytes_per_s == 0.5e9);
  Machine machine = eight();
  machine.nic.reset();
  CHECK(reach_of(machine, 8).outside.bandwidth_bytes_per_s == 10e9);
  machine = eight();
  machine.link.reset();
  CHECK(reach_of(machine, 8).inside.bandwidth_bytes_per_s == 0.5e9);
}

TEST_CASE("roofline: each collective takes what comes beside its rounds, and a group of one none") {
  // Four neighbours: 3 steps of 10 MB at 10 GB/s with 1 us each, and 40 us, twice.
  Machine machine = eight();
  machine.collective_us = 40;
  HardwareSpec spec = on(machine);
  spec.tensor = 4;
  const Collective gathers{.kind = CollectiveKind::all_gather, .bytes = 40e6, .count = 2};
  CHECK(forward_us(spec, gathers) == doctest::Approx(2 * (3 * (1000 + 1) + 40)));
  spec.tensor = 1;
  CHECK(forward_us(spec, gathers) == 0);
}

TEST_CASE("roofline: the devices of a group talk by the algorithm that is chosen for a kind") {
  // 16 devices in two machines of eight. Hierarchical: 7 steps of 2 MB at 10 GB/s, twice, and 2 of
  // 1 MB at 0.5 GB/s. Eight rings: 30 steps of 1 MB at 8 * 0.5 GB/s, of 16 of which 2 cross
  // machines.
  HardwareSpec spec = on(eight());
  spec.tensor = 16;
  const Collective all_reduce{.kind = CollectiveKind::all_reduce, .bytes = 16e6};
  const double hierarchical_us = 14 * (200 + 1) + 2 * (2000 + 5);
  CHECK(forward_us(spec, all_reduce) == doctest::Approx(hierarchical_us));
  spec.collectives[CollectiveKind::all_reduce] =
      &collective_algorithm(CollectiveKind::all_reduce, "ring");
  CHECK(forward_us(spec, all_reduce) == doctest::Approx(30 * (2000 / 8.0 + 1.5)));
}

TEST_CASE("roofline: a device alone needs a link for its groups, and only for these") {
  HardwareSpec spec = on(made_up());
  const Collective all_reduce{.bytes = 1};
  CHECK(forward_us(spec, all_reduce) == 0);
  spec.tensor = 2;
  CHECK_THROWS_WITH_AS(forward_us(spec, all_reduce),
                       "tensor, context and expert parallelism need links between devices, but "
                       "made-up has none; name one of penstock list hardware",
                       InputError);
}

TEST_CASE("a device without a precision runs in the next wider one, and is never faster for it") {
  Device device = made_up().device;
  CHECK(runs_in(device, "bf16") == "bf16");
  CHECK(runs_in(device, "fp8") == "bf16");
  CHECK(runs_in(device, "fp16") == "fp32");
  CHECK(runs_in(device, "tf32") == "fp32");
  CHECK(runs_in(device, "int8") == std::nullopt);
  CHECK(runs_in(device, "fp64") == std::nullopt);
  CHECK(runs_in(device, "") == std::nullopt);
  device.peak_flops = {{"tf32", 8e12}, {"fp16", 20e12}};
  CHECK(runs_in(device, "bf16") == "fp16");
  CHECK(runs_in(device, "fp32") == std::nullopt);
  HardwareSpec spec = on(made_up());
  spec.precision = "fp16";
  CHECK(forward_us(spec, matrix(1e9, 0)) == doctest::Approx(1000));
  CHECK(roofline(spec)->peak_flops() == 1e12);
  spec.precision = "int8";
  CHECK_THROWS_WITH_AS(roofline(spec),
                       "made-up device has no peak for int8 or a wider precision; add one to "
                       "/peak_flops in its file",
                       InputError);
}

TEST_CASE("roofline: a layer that states its times takes these") {
  Layer layer = stage_of(4, 7, 3);
  layer.work.kernels = {matrix(1e9, 0)};
  const auto hardware = roofline(on(made_up()));
  CHECK(hardware->compute_us(layer, Pass::forward) == 4.0);
  CHECK(hardware->compute_us(layer, Pass::backward) == 10.0);
  CHECK(hardware->compute_us(Layer{}, Pass::forward) == std::nullopt);
}

TEST_CASE("roofline: its links are private ones or a topology") {
  HardwareSpec spec = on(made_up());
  spec.latency_us = 2;
  spec.bandwidth_bytes_per_s = 1e9;
  CHECK(roofline(spec)->transfer(8000, Rank{0}, Rank{1}).occupies_us == 8);
  CHECK(roofline(spec)->network().links.empty());
  spec = on(made_up());
  spec.ranks = 2;
  spec.topology = TopologySpec{"nvswitch", {{"nvlink_bandwidth_bytes_per_s", 2e9}}};
  CHECK(roofline(spec)->transfer(8000, Rank{0}, Rank{1}).occupies_us == 4);
  CHECK_THROWS_WITH_AS(roofline({}),
                       "\"device\" is missing: roofline needs one of penstock list hardware",
                       InputError);
}

TEST_CASE("only a machine times layers that are known by their work") {
  Layer layer{.source = "/model/layers/3"};
  layer.key.kind = "attention";
  const char* refusal =
      "this layer states its work but no times; set /hardware/name to one of penstock list "
      "hardware";
  HardwareSpec spec;
  CHECK_THROWS_WITH_AS(
      find_named(cost_model_entries(), "ideal")->make(spec)->compute_us(layer, Pass::forward),
      refusal, InputError);
  spec.topology = TopologySpec{"nvswitch", {}};
  CHECK_THROWS_WITH_AS(
      find_named(cost_model_entries(), "custom")->make(spec)->compute_us(layer, Pass::forward),
      refusal, InputError);
}

}  // namespace penstock::testing
