#include "experiments/run/layout/spread.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "experiments/run/run.hpp"
#include "experiments/show/results/run_summary.hpp"
#include "tests/support/says.hpp"

namespace penstock::testing {
namespace {

Confidence fitted_to(const FittedRange& range) {
  return {.spread = 0.1, .because = "ten rows", .fitted = range, .provenance = {}};
}

Layout sized_layout(const std::vector<std::string>& settings) {
  const char* const text = R"({
    "model": { "layers": [ { "parts": [ {"kind": "attention", "hidden": 4096, "heads": 32},
                                        {"kind": "mlp", "hidden": 4096, "intermediate": 16384} ],
                             "repeat": 2 } ], "sequence": 4096, "microbatch": 1 },
    "hardware": { "name": "dgx-h100" },
    "parallel": { "pipeline": 1 },
    "memory": { "capacity_bytes": 1e15 },
    "schedule": { "name": "1f1b", "microbatches": 1 } })";
  return settle(parse_scenario(text, "s.json", settings));
}

}  // namespace

TEST_CASE("a run of the sizes that were fitted has the spread of these runs") {
  const Confidence known = fitted_to({.devices = 64, .kernel_us = 200, .expert_tokens = 512});
  const RunSpread inside =
      spread_of(known, {.devices = 64, .kernel_us = 200, .expert_tokens = 512});
  CHECK(inside.value == 0.1);
  CHECK(inside.because == "ten rows");
  CHECK(inside.beyond.empty());
  CHECK(spread_of(known, {}).value == 0.1);
  CHECK(spread_of(fitted_to({}), {.devices = 1e6, .kernel_us = 121, .expert_tokens = 1}).value ==
        0.1);
}

TEST_CASE("more devices, fewer tokens of an expert and shorter kernels widen it by half each") {
  const Confidence known = fitted_to({.devices = 64, .kernel_us = 400, .expert_tokens = 512});
  CHECK(spread_of(known, {.devices = 65}).value == doctest::Approx(0.15));
  CHECK(spread_of(known, {.expert_tokens = 511}).value == doctest::Approx(0.15));
  CHECK(spread_of(known, {.kernel_us = 399}).value == doctest::Approx(0.15));
  const RunSpread all = spread_of(known, {.devices = 128, .kernel_us = 200, .expert_tokens = 64});
  CHECK(all.value == doctest::Approx(0.1 * 1.5 * 1.5 * 1.5));
  CHECK(all.beyond == std::vector<std::string>{"128 devices, at most 64 in fitted runs",
                                               "64 tokens an expert, at least 512 in fitted runs",
                                               "200 us a kernel, at least 400 in fitted runs"});
}

TEST_CASE("where launches may bind it reaches up to a step of kernels that are long enough") {
  const Confidence known = fitted_to({.kernel_us = 400});
  CHECK(spread_of(known, {.kernel_us = 30}).longer == 4);
  CHECK(spread_of(known, {.kernel_us = 30}).value == doctest::Approx(0.15));
  CHECK(spread_of(known, {.kernel_us = 120}).longer == 1);
  CHECK(spread_of(fitted_to({}), {.kernel_us = 60}).beyond.size() == 1);
  const RunResult small = run(sized_layout({"/model/sequence=128"}));
  const nlohmann::ordered_json told = uncertainty_json(small);
  const double us = to_us(small.report->makespan),
               longer = short_kernel_us / double(told["kernel_us"]);
  REQUIRE(longer > 2);
  CHECK(told["most_us"].get<double>() == doctest::Approx(us * longer));
  CHECK(told["least_us"].get<double>() > us / 2);
}

TEST_CASE("the size of a run is that of its devices, its kernels and its experts") {
  const RunSize dense = size_of(sized_layout({"/parallel/data=4"}));
  CHECK(dense.devices == 4);
  CHECK(dense.expert_tokens == 0);
  const RunSize small = size_of(sized_layout({"/model/sequence=512"}));
  CHECK(small.kernel_us < dense.kernel_us / 4);
  // Captured graphs have no launches.
  CHECK(size_of(sized_layout({"/hardware/kernel_issue_us=0"})).kernel_us == 0);
  const RunSize experts = size_of(sized_layout(
      {R"(/model/layers/0/parts/1={"kind": "moe", "hidden": 4096, "experts": 8, "chosen": 2,
                                   "expert_intermediate": 512})"}));
  CHECK(experts.expert_tokens == 4096 * 2 / 8);
}

TEST_CASE("a report says why its interval is wider") {
  const RunResult usual = run(sized_layout({}));
  CHECK_FALSE(says(uncertainty_text(usual), "wider"));
  const RunResult many = run(sized_layout({"/parallel/data=16384"}));
  CHECK(says(uncertainty_text(many), "wider: 16384 devices, at most 11616 in fitted runs"));
  CHECK(uncertainty_json(many)["beyond"].size() == 1);
  CHECK(uncertainty_json(many)["spread"] ==
        doctest::Approx(1.5 * uncertainty_json(usual)["spread"].get<double>()));
}

}  // namespace penstock::testing
