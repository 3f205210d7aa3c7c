#include <doctest/doctest.h>

#include "hardware_models/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"
#include "tests/support/system.hpp"

namespace penstock::testing {
namespace {

std::unique_ptr<HardwareModel> ideal(const HardwareSpec& spec) {
  return find_named(cost_model_entries(), "ideal")->make(spec);
}

TransferTime of_8000_bytes(const HardwareSpec& spec) {
  return ideal(spec)->transfer(8000, Rank{0}, Rank{1});
}

}  // namespace

TEST_CASE("ideal hardware takes the times that the layer states, and knows no others") {
  const auto hardware = ideal({});
  const Layer layer = stage_of(4, 7, 3);
  CHECK(hardware->compute_us(layer, Pass::forward) == 4.0);
  CHECK(hardware->compute_us(layer, Pass::backward_input) == 7.0);
  CHECK(hardware->compute_us(layer, Pass::backward_weight) == 3.0);
  CHECK(hardware->compute_us(layer, Pass::backward) == 10.0);
  CHECK(hardware->compute_us(stage_of(4, 9), Pass::backward) == 9.0);
  CHECK(hardware->compute_us(stage_of(4, 9), Pass::backward_input) == std::nullopt);
  CHECK(hardware->compute_us(Layer{}, Pass::forward) == std::nullopt);
  Layer half = stage_of(4, 7, 3);
  half.backward_weight_us.reset();
  CHECK(hardware->compute_us(half, Pass::backward) == std::nullopt);
}

TEST_CASE("a pure delay occupies nothing; a bandwidth occupies, and a latency comes on top") {
  CHECK(of_8000_bytes({}).occupies_us == 0);
  CHECK(of_8000_bytes({}).latency_us == 0);
  CHECK(of_8000_bytes(delay(5)).occupies_us == 0);
  CHECK(of_8000_bytes(delay(5)).latency_us == 5);
  CHECK(of_8000_bytes(link(2, 1e9)).occupies_us == 8);
  CHECK(of_8000_bytes(link(2, 1e9)).latency_us == 2);
}

TEST_CASE("the memory of the host is as far as another rank, unless it has a link of its own") {
  const auto to_host = [](const HardwareSpec& spec) {
    return ideal(spec)->transfer(8000, Rank{0}, host_memory);
  };
  HardwareSpec spec = link(2, 1e9);
  CHECK(to_host(spec).occupies_us == 8);
  CHECK(to_host(spec).latency_us == 2);
  spec.host_bandwidth_bytes_per_s = 4e9;
  spec.host_latency_us = 3;
  CHECK(to_host(spec).occupies_us == 2);
  CHECK(to_host(spec).latency_us == 3);
  CHECK(ideal(spec)->transfer(8000, host_memory, Rank{1}).occupies_us == 2);
  CHECK(of_8000_bytes(spec).occupies_us == 8);
  CHECK(ideal(spec)->transfer(8000, Rank{0}, data_replicas).occupies_us == 8);
  CHECK(to_host(delay(5)).latency_us == 5);
}

TEST_CASE("shared links go with custom hardware") {
  const HardwareSpec spec{.topology = TopologySpec{"nvswitch", {}}};
  CHECK_THROWS_WITH_AS(ideal(spec),
                       "the cost model \"ideal\" does not support shared links; use \"custom\"",
                       InputError);
}

TEST_CASE("a delay beside a latency or a bandwidth contradicts itself") {
  HardwareSpec spec = link(2, 1e9);
  spec.transfer_us = 1;
  CHECK_THROWS_WITH_AS(ideal(spec),
                       "transfer_us conflicts with latency_us or bandwidth_bytes_per_s; give a "
                       "pure delay, or a latency with a bandwidth",
                       InputError);
  spec.transfer_us = 0;
  CHECK_NOTHROW(ideal(spec));
}

}  // namespace penstock::testing
