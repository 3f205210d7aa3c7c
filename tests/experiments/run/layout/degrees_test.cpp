#include "experiments/run/layout/degrees.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "experiments/run/layout/layout.hpp"
#include "experiments/run/layout/training.hpp"
#include "sim/base/error.hpp"
#include "tests/support/refusal.hpp"

namespace penstock::testing {
namespace {

constexpr const char* experts = R"({
  "model": {"layers": [{"kind": "moe", "hidden": 64, "experts": 64, "chosen": 2,
                        "expert_intermediate": 64}], "sequence": 128, "microbatch": 2},
  "hardware": {"name": "dgx-a100"}, "schedule": {"name": "1f1b", "microbatches": 3}})";

Scenario with(const std::vector<std::string>& settings) {
  return parse_scenario(experts, "s.json", settings);
}

Scenario with(std::uint32_t tensor, std::uint32_t context, std::uint32_t data,
              const std::vector<std::string>& more = {}) {
  std::vector<std::string> settings{fmt::format("/parallel/tensor={}", tensor),
                                    fmt::format("/parallel/context={}", context),
                                    fmt::format("/parallel/data={}", data), "/parallel/pipeline=1"};
  settings.insert(settings.end(), more.begin(), more.end());
  return with(settings);
}

std::string refusal(const Scenario& scenario) {
  return refused_at([&] { settle_degrees(scenario); });
}

std::uint32_t power_of_two(int most) { return 1U << *rc::gen::inRange(0, most + 1); }

}  // namespace

TEST_CASE("experts never change the number of devices or the batch") {
  CHECK(rc::check([] {
    const std::uint32_t tensor = power_of_two(3), context = power_of_two(2), data = power_of_two(3);
    const std::uint32_t shared = std::gcd(tensor, power_of_two(3));
    const std::uint32_t expert = std::gcd(tensor * context * data / shared, power_of_two(6));
    const Layout none = settle(with(tensor, context, data));
    const Layout some = settle(with(tensor, context, data,
                                    {fmt::format("/parallel/expert={}", expert),
                                     fmt::format("/parallel/expert_tensor={}", shared)}));
    RC_ASSERT(devices_of(some) == tensor * context * data);
    RC_ASSERT(devices_of(some) == devices_of(none));
    RC_ASSERT(global_batch_of(some) == global_batch_of(none));
    RC_ASSERT(global_batch_of(some) == 2 * 3 * data);
  }));
}

TEST_CASE("of expert and expert_tensor exactly those are accepted that divide the devices") {
  for (const std::uint32_t expert : {1U, 2U, 3U, 4U, 8U, 16U, 32U, 64U}) {
    for (const std::uint32_t shared : {1U, 2U, 3U, 4U, 8U}) {
      const std::string answer = refusal(with(4, 2, 2,
                                              {fmt::format("/parallel/expert={}", expert),
                                               fmt::format("/parallel/expert_tensor={}", shared)}));
      const bool divides = 4 % shared == 0 && 16 % (expert * shared) == 0;
      CHECK_MESSAGE((answer == "accepted") == divides, expert << " x " << shared << ": " << answer);
    }
  }
}

TEST_CASE("experts are split over the tensor group where they divide data x context, else whole") {
  const auto shared = [](std::uint32_t expert) {
    return settle_degrees(with(4, 2, 2, {fmt::format("/parallel/expert={}", expert)}))
        .expert_tensor;
  };
  CHECK(shared(1) == 4);
  CHECK(shared(2) == 4);
  CHECK(shared(4) == 4);
  CHECK(shared(8) == 1);
  CHECK(shared(16) == 1);
  CHECK(settle_degrees(with(4, 2, 2, {"/parallel/expert=2", "/parallel/expert_tensor=2"}))
            .expert_tensor == 2);
}

TEST_CASE("a group of experts that nothing states as whole is noted") {
  const auto has_note = [](const Layout& layout) {
    return std::any_of(layout.notes.begin(), layout.notes.end(), [](const std::string& note) {
      return note.starts_with("expert_tensor = 1: expert 8 does not divide data x context, 4");
    });
  };
  CHECK(has_note(settle(with(4, 2, 2, {"/parallel/expert=8"}))));
  CHECK_FALSE(has_note(settle(with(4, 2, 2, {"/parallel/expert=4"}))));
  CHECK_FALSE(has_note(settle(with(4, 2, 2, {"/parallel/expert=8", "/parallel/expert_tensor=1"}))));
}

TEST_CASE("experts that would add devices are refused with what divides, and with the data meant") {
  CHECK(
      refusal(with(1, 1, 4, {"/parallel/expert=8"})) ==
      "/parallel/expert: 8 does not divide the 4 devices of tensor 1 x context 1 x data 4. Experts "
      "divide these devices and add none: set expert to one of 1, 2, 4; or, where experts used to "
      "multiply the devices, /parallel/data to 32 (data x expert)");
  CHECK(refusal(with(1, 1, 32, {"/parallel/expert=8"})) == "accepted");
  CHECK(
      refusal(with(4, 1, 2, {"/parallel/expert=8", "/parallel/expert_tensor=2"}))
          .starts_with("/parallel/expert: 8 x expert_tensor 2 does not divide the 8 devices of "
                       "tensor 4 x context 1 x data 2. Experts divide these devices and add none: "
                       "set expert to one of 1, 2, 4; "));
  CHECK(
      refusal(with(4, 1, 2, {"/parallel/expert_tensor=3"})) ==
      "/parallel/expert_tensor: 3 does not divide tensor 4: devices that share an expert are part "
      "of a tensor group; it may be 1, 2, 4");
}

TEST_CASE("the devices of the hardware are those of the other degrees") {
  const std::string all = "/hardware/devices=16";
  CHECK(devices_of(settle(with(4, 2, 2, {all, "/parallel/expert=4"}))) == 16);
  CHECK_THROWS_WITH_AS(settle(with(4, 2, 2, {"/hardware/devices=64", "/parallel/expert=4"})),
                       "s.json: /hardware/devices: it is 64, but 1 pipeline rank times the other "
                       "degrees of /parallel take 16",
                       InputError);
}

TEST_CASE("groups of experts lie in those of a rank, and their replicas beside them") {
  const Layout layout = settle(with(4, 2, 2, {"/parallel/expert=4", "/parallel/expert_tensor=2"}));
  const HardwareSpec& spec = layout.hardware.spec;
  CHECK(spec.expert == 4);
  CHECK(spec.expert_tensor == 2);
  CHECK(spec.devices_per_rank == 16);
  CHECK(spec.devices_per_replica == 8);
  const Layer& layer = layout.model.layers.front();
  // Of 16 devices 4 hold the router's weights, 2 those of an expert.
  CHECK(layer.copies * layout.degrees.data == 4);
  CHECK(layer.expert_copies * layout.degrees.data / layer.expert_spread == 2);
}

}  // namespace penstock::testing
