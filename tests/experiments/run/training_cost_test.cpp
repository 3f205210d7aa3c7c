#include "experiments/run/training_cost.hpp"

#include <doctest/doctest.h>

#include "experiments/run/run.hpp"
#include "tests/support/program.hpp"
#include "tests/support/says.hpp"

namespace penstock::testing {
namespace {

const std::string llama_file = PENSTOCK_ROOT "/experiments/scenarios/llama_8b_on_a_dgx_h100.json";

// A training of a million seconds at a thousand tokens per second, on 10 devices.
constexpr Throughput thousand{.samples_per_s = 2, .tokens_per_s = 1000};

}  // namespace

TEST_CASE("days, cost and energy follow from tokens, price and the power of the devices") {
  const auto cost = cost_of({1e9, 2.5}, thousand, 10, 700);
  REQUIRE(cost);
  CHECK(cost->days == doctest::Approx(1e6 / 86'400));
  CHECK(*cost->cost == doctest::Approx(1e6 / 3600 * 10 * 2.5));
  CHECK(*cost->energy_mwh == doctest::Approx(1e6 / 3600 * 10 * 700e-6));
  CHECK(!cost->are_examples);
  const TrainingCost half = scaled(*cost, 0.5);
  CHECK(half.days == doctest::Approx(cost->days / 2));
  CHECK(*half.cost == doctest::Approx(*cost->cost / 2));
  CHECK(*half.energy_mwh == doctest::Approx(*cost->energy_mwh / 2));
}

TEST_CASE("what is not stated is not made up") {
  CHECK(!cost_of({}, thousand, 10, 700));
  const auto plain = cost_of({1e9, {}}, thousand, 10, 0);
  REQUIRE(plain);
  CHECK(!plain->cost);
  CHECK(!plain->energy_mwh);
  const auto examples = cost_of({1e6, {}}, {.samples_per_s = 2}, 10, 0);
  REQUIRE(examples);
  CHECK(examples->are_examples);
  CHECK(examples->days == doctest::Approx(5e5 / 86'400));
}

TEST_CASE("a run under a power cap takes the energy of the cap") {
  const auto energy_per_day = [](const std::vector<std::string>& settings) {
    const RunResult result = run(read_scenario(llama_file, settings), {.training = {1e12, {}}});
    REQUIRE(result.training_cost);
    return *result.training_cost->energy_mwh / result.training_cost->days;
  };
  // Eight H100 of 700 W.
  CHECK(energy_per_day({}) == doctest::Approx(8 * 700 * 24 * 1e-6));
  CHECK(energy_per_day({"/hardware/power_watts=500"}) == doctest::Approx(8 * 500 * 24 * 1e-6));
}

TEST_CASE("run says what the whole training takes, as text and as JSON") {
  const ProgramRun text =
      run_penstock({"run", llama_file, "--tokens", "1e12", "--price", "2"}, ".");
  CHECK(says(text.output, "\ntraining     1e+12 tokens: "));
  CHECK(says(text.output, " (devices alone, at full power)\n"));
  const ProgramRun json = run_penstock({"run", llama_file, "--tokens", "1e12", "--json"}, ".");
  CHECK(says(json.output, "\"training\": {\n    \"tokens\": 1000000000000.0,"));
  CHECK_FALSE(says(run_penstock({"run", llama_file, "--json"}, ".").output, "\"training\""));
}

}  // namespace penstock::testing
