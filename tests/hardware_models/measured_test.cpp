#include <doctest/doctest.h>

#include "hardware_models/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"
#include "tests/support/refusal.hpp"

namespace penstock::testing {
namespace {

/// The layer "conv1" on one and three examples, and any layer of the kind "mlp" on two.
Profile two_layers() {
  return {.source = "layers.json",
          .entries = {{.layer = "conv1",
                       .points = {{.examples = 1, .forward_us = 10, .backward_us = 30},
                                  {.examples = 3, .forward_us = 20, .backward_us = 50}}},
                      {.layer = "mlp",
                       .points = {{.examples = 2,
                                   .forward_us = 8,
                                   .backward_input_us = 6,
                                   .backward_weight_us = 4}}}}};
}

HardwareSpec by_profile() { return {.profile = two_layers()}; }

/// A device on which a GFLOP takes 100 us.
Machine machine() {
  Machine machine;
  machine.device.name = "made-up";
  machine.device.peak_flops = {{"bf16", 10e12}};
  machine.device.memory_bandwidth_bytes_per_s = 1e9;
  return machine;
}

Layer layer_of(const char* name, const char* kind, double examples) {
  Layer layer{.name = name};
  layer.key.kind = kind;
  layer.key.examples = examples;
  layer.work.kernels = {{.kind = KernelKind::matrix, .flops = 1e9}};
  return layer;
}

std::optional<double> us(const HardwareSpec& spec, const Layer& layer, Pass pass) {
  return find_named(cost_model_entries(), "measured")->make(spec)->compute_us(layer, pass);
}

std::string measured_refusal(const HardwareSpec& spec, const Layer& layer) {
  return refused_at([&] { us(spec, layer, Pass::forward); });
}

}  // namespace

TEST_CASE("measured: a layer takes what the profile says of its name, between points a mean") {
  const Layer layer = layer_of("conv1", "mlp", 2);
  CHECK(us(by_profile(), layer, Pass::forward) == 15.0);
  CHECK(us(by_profile(), layer, Pass::backward) == 40.0);
  CHECK(us(by_profile(), layer, Pass::recompute) == 15.0);
  CHECK(us(by_profile(), layer, Pass::backward_input) == std::nullopt);
}

TEST_CASE("measured: else what it says of the layer's kind, in proportion from a single point") {
  const Layer layer = layer_of("block 7", "mlp", 4);
  CHECK(us(by_profile(), layer, Pass::forward) == 16.0);
  CHECK(us(by_profile(), layer, Pass::backward_input) == 12.0);
  CHECK(us(by_profile(), layer, Pass::backward) == 20.0);
}

TEST_CASE("measured: an entry with numbers speaks for layers of its kind that have them") {
  // Of hidden 8 alone, by examples of 16 tokens, and of any sequence by tokens.
  HardwareSpec spec = by_profile();
  spec.profile->entries = {{.layer = "norm",
                            .points = {{.examples = 1, .forward_us = 5}},
                            .numbers = {{"hidden", 8}},
                            .sequence = 16},
                           {.layer = "norm",
                            .points = {{.examples = 64, .forward_us = 7}},
                            .numbers = {{"hidden", 16}},
                            .counts_tokens = true}};
  Layer layer = layer_of("n", "norm", 2);
  layer.key.sequence = 16;
  layer.key.parts = {{"norm", {{"hidden", 8}, {"bias", 0}, {"weights", 1}}}};
  CHECK(us(spec, layer, Pass::forward) == 10.0);
  layer.key.parts.push_back(
      {"norm", {{"hidden", 16}, {"bias", 0}, {"weights", 1}}});  // 2 * 16 tokens of 64
  CHECK(us(spec, layer, Pass::forward) == 10.0 + 3.5);
  layer.key.sequence = 32;  // nothing speaks for hidden 8 then
  CHECK(measured_refusal(spec, layer).find("has no layer \"n\" of kind \"norm\"") !=
        std::string::npos);
  layer.key.sequence = 16;
  layer.key.parts[0].numbers["bias"] = 1;
  CHECK(measured_refusal(spec, layer) != "accepted");
  spec.profile->entries[0].numbers = {{"height", 1}};
  CHECK(measured_refusal(spec, layer)
            .starts_with(
                "/hardware/profile: layers.json: a layer of kind \"norm\", height: unknown key"));
}

TEST_CASE("measured: a layer that states its times takes these") {
  Layer layer = layer_of("conv1", "", 1);
  layer.forward_us = 3;
  CHECK(us(by_profile(), layer, Pass::forward) == 3.0);
}

TEST_CASE("measured: what the profile lacks is taken from the machine, if there is one") {
  HardwareSpec spec = by_profile();
  const Layer unknown = layer_of("block 7", "attention", 4);
  CHECK(measured_refusal(spec, unknown) ==
        "the profile layers.json has no layer \"block 7\" of kind \"attention\", nor its kind; "
        "measure it, or add a machine");
  Layer part = layer_of("conv1", "", 1);
  part.work.repeated = Repeated::selected;
  CHECK_THROWS_AS(us(spec, part, Pass::recompute), InputError);
  spec.machine = machine();
  CHECK(us(spec, unknown, Pass::forward).value() == doctest::Approx(100));
  CHECK(us(spec, layer_of("conv1", "", 1), Pass::forward) == 10.0);
  CHECK(us(spec, part, Pass::recompute) == 0.0);  // none of its kernels is selective
}

TEST_CASE("measured: the peak is that of the machine") {
  HardwareSpec spec = by_profile();
  const CostModelEntry* measured = find_named(cost_model_entries(), "measured");
  CHECK(measured->make(spec)->peak_flops() == std::nullopt);
  spec.machine = machine();
  CHECK(measured->make(spec)->peak_flops() == 10e12);
}

TEST_CASE("measured: without a profile, or with one of another device, it says which is needed") {
  HardwareSpec spec;
  const Layer layer = layer_of("conv1", "", 1);
  CHECK(measured_refusal(spec, layer) ==
        "/hardware/profile: \"profile\" is missing: measured reads its times from this file");
  spec = by_profile();
  spec.profile->device = "made-up";
  CHECK(measured_refusal(spec, layer) == "accepted");
  spec.machine = machine();
  CHECK(measured_refusal(spec, layer) == "accepted");
  spec.profile->device = "another";
  CHECK(measured_refusal(spec, layer) ==
        "/hardware/profile: layers.json was measured on \"another\", not on \"made-up\"; give a "
        "profile of this device, or name the machine that was measured");
}

TEST_CASE("measured: a cell of an unknown number of examples has no times") {
  CHECK(measured_refusal(by_profile(), layer_of("conv1", "", 0)) ==
        "the number of examples per cell is unknown; a profile has times by examples");
}

}  // namespace penstock::testing
