#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "experiments/run/run.hpp"

namespace penstock::testing {
namespace {

/// Microseconds of a step of a small model on 8 devices, replicas or not, with constants of a
/// stack.
double step_us(const std::string& constants, int data = 8, int zero = 1, int microbatches = 2,
               const std::vector<std::string>& settings = {}) {
  const std::string text = fmt::format(R"({{
    "model": {{ "layers": [ {{ "parts": [ {{"kind": "attention", "hidden": 4096, "heads": 32}},
                                        {{"kind": "mlp", "hidden": 4096, "intermediate": 16384}} ],
                             "repeat": 4 }} ], "sequence": 4096, "microbatch": 1 }},
    "hardware": {{ "name": "dgx-a100", "stack": {} }},
    "parallel": {{ "pipeline": 1, "data": {} }},
    "memory": {{ "zero": {}, "capacity_bytes": 1e15 }},
    "schedule": {{ "name": "1f1b", "microbatches": {} }} }})",
                                       constants, data, zero, microbatches);
  return to_us(run(parse_scenario(text, "s.json", settings)).report->makespan);
}

}  // namespace

TEST_CASE("a step takes the time that the stack adds to it") {
  const double plain_us = step_us(R"({"name": "megatron-2021"})");
  CHECK(step_us(R"({"name": "megatron-2021", "step_us": 5000})") ==
        doctest::Approx(plain_us + 5000).epsilon(1e-9));
}

TEST_CASE("a step takes the time of its stack once, however many stages a rank updates") {
  using Texts = std::vector<std::string>;
  for (const Texts& order : {Texts{"/schedule/name=1f1b"},
                             Texts{"/schedule/name=interleaved-1f1b", "/parallel/chunks=2"},
                             Texts{"/schedule/name=zb-v"}, Texts{"/schedule/name=chimera"},
                             Texts{"/schedule/name=dualpipe"}}) {
    CAPTURE(order[0]);
    Texts settings{"/parallel/pipeline=2"};
    settings.insert(settings.end(), order.begin(), order.end());
    const double plain_us = step_us(R"({"name": "megatron-2021"})", 1, 1, 4, settings);
    const double with_us =
        step_us(R"({"name": "megatron-2021", "step_us": 5000})", 1, 1, 4, settings);
    CHECK(with_us == doctest::Approx(plain_us + 5000).epsilon(1e-9));
  }
}

TEST_CASE("computing takes longer with each doubling of the replicas") {
  const char* const lossy = R"({"name": "megatron-2021", "scale_loss": 0.01})";
  const char* const alone = R"({"name": "megatron-2021"})";
  CHECK(step_us(lossy, 1) == doctest::Approx(step_us(alone, 1)));
  const double compute_us = step_us(alone, 1);
  for (const int data : {2, 4, 8}) {
    const double doublings = data == 2 ? 1 : data == 4 ? 2 : 3;
    const double lost_us = step_us(lossy, data) - step_us(alone, data);
    // Of computing; the update and what is exposed stay as they are.
    CHECK(lost_us > 0.9 * doublings * 0.01 * compute_us);
    CHECK(lost_us <= doublings * 0.01 * compute_us);
  }
}

TEST_CASE("an update waits for the exposed share of sums that overlap computing") {
  const auto with = [](const char* share) {
    return step_us(R"({"name": "megatron-2021", "sums_exposed": )" + std::string(share) + "}");
  };
  const double half_us = with("0.5") - with("0"), all_us = with("1") - with("0");
  CHECK(half_us > 0);
  CHECK(all_us == doctest::Approx(2 * half_us).epsilon(1e-6));
}

TEST_CASE("backwards of ZeRO-2 wait for the exposed share of the reductions that follow them") {
  const auto exposed_us = [](int zero, int microbatches) {
    const auto with = [&](const char* share) {
      return step_us(R"({"name": "megatron-2021", "sums_exposed": )" + std::string(share) + "}", 8,
                     zero, microbatches);
    };
    return with("0.5") - with("0");
  };
  const double once_us = exposed_us(2, 1), more_us = exposed_us(2, 2) - once_us;
  CHECK(once_us == doctest::Approx(exposed_us(1, 1)).epsilon(1e-6));
  CHECK(once_us > 0);
  CHECK(more_us == doctest::Approx(once_us).epsilon(1e-6));  // reductions are equal
  CHECK(exposed_us(2, 4) == doctest::Approx(once_us + 3 * more_us).epsilon(1e-6));
  CHECK(exposed_us(1, 4) == doctest::Approx(once_us).epsilon(1e-6));
}

TEST_CASE("passes of ZeRO-3 wait for the exposed share of their sums and gathers") {
  for (const std::string constant : {"sums_exposed", "gathers_exposed"}) {
    const auto with = [&](const char* share) {
      return step_us(R"({"name": "megatron-2021", ")" + constant + R"(": )" + share + "}", 8, 3);
    };
    const double half_us = with("0.5") - with("0"), all_us = with("1") - with("0");
    CHECK(half_us > 0);
    CHECK(all_us == doctest::Approx(2 * half_us).epsilon(1e-6));
  }
}

}  // namespace penstock::testing
