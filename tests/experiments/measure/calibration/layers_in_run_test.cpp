#include "experiments/measure/calibration/layers_in_run.hpp"

#include <doctest/doctest.h>

#include "sim/base/error.hpp"
#include "tests/support/small_scenarios.hpp"
#include "validate/statistics/summary.hpp"
#include "validate/store/validity.hpp"

namespace penstock::testing {
namespace {

/// Iterations of 8 cells that take as long as `cell_ns` says of each iteration.
template <class Length>
std::vector<LayerSpent> iterations_of(std::size_t count, Length cell_ns) {
  std::vector<LayerSpent> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back({8 * cell_ns(i), 8});
  return all;
}

double spread_in_run(const std::vector<LayerSpent>& iterations) {
  return spread_of(samples_in_run(iterations)).deviation;
}

}  // namespace

TEST_CASE("layers in a run: a layer that states its times is named by its number, and why") {
  CHECK_THROWS_WITH_AS(layer_points(parse_scenario(scenario_plain, "s.json")),
                       "s.json: /model: layer 0 cannot be measured: it states its times; a layer "
                       "with a \"kind\" can",
                       UsageError);
}

TEST_CASE("layers in a run: long passes have a sample for each iteration") {
  const auto iterations =
      iterations_of(20, [](std::size_t i) { return 50'000.0 + 1000.0 * static_cast<double>(i); });
  const std::vector<double> samples = samples_in_run(iterations);
  REQUIRE(samples.size() == 20);
  CHECK(samples.front() == 50'000);
  CHECK(samples.back() == 69'000);
}

// Cells of 1 us, and half as long again in two of four iterations. Alone, half of the iterations
// are a quarter off the middle; 5 together, no sample is further than 5 %.
TEST_CASE("layers in a run: short passes are put together, and few are left as they are") {
  const auto length = [](std::size_t i) { return i % 4 < 2 ? 1000.0 : 1500.0; };
  const auto iterations = iterations_of(40, length);
  const std::vector<double> samples = samples_in_run(iterations);
  CHECK(samples.size() == 8);
  CHECK(samples.front() == doctest::Approx(1200));
  CHECK(spread_in_run(iterations) < 0.05);
  CHECK(samples_in_run(iterations_of(9, length)).size() == 9);
}

// Cells of 40, 50 and 65 us in turn: a third is 20 % off the middle and a third 30 %; of 8
// together, at least 2 are of each.
TEST_CASE("layers in a run: iterations that vary are put together") {
  const auto length = [](std::size_t i) { return i % 3 == 0 ? 40e3 : i % 3 == 1 ? 50e3 : 65e3; };
  const std::vector<double> samples = samples_in_run(iterations_of(64, length));
  CHECK(samples.size() == 8);
  CHECK(spread_in_run(iterations_of(64, length)) < 0.05);
  CHECK(spread_in_run(iterations_of(12, length)) > ValidityRules::most_spread);
}

// Cells of 2 us. For 25 iterations at a time, every other one takes 1.7 or 0.4 times as long: means
// of batches differ, but the median of 200 iterations is 2 us.
TEST_CASE("layers in a run: the median of many short passes is known though batches differ") {
  const auto length = [](std::size_t i) {
    const double phase = i / 25 % 3 == 0 ? 1.0 : i / 25 % 3 == 1 ? 1.7 : 0.4;
    return 2000 * (i % 2 == 0 ? 1.0 : phase);
  };
  const std::vector<double> samples = samples_in_run(iterations_of(200, length));
  CHECK(median(samples) == doctest::Approx(2000));
  CHECK(median_is_known(samples));
}

// An interruption of 100 us in every ninth iteration, of cells of 8 x 1 us.
TEST_CASE("layers in a run: interruptions do not make short passes vary") {
  const auto length = [](std::size_t i) { return i % 9 == 4 ? 13'500.0 : 1000.0; };
  CHECK(spread_in_run(iterations_of(200, length)) < ValidityRules::most_spread);
  CHECK(median(samples_in_run(iterations_of(200, length))) == doctest::Approx(1000).epsilon(0.02));
}

// The first half of the run takes 1.6 times as long: whichever is right, the row is not.
TEST_CASE("layers in a run: a pass that changes during the run still varies too much") {
  const auto iterations = iterations_of(40, [](std::size_t i) { return i < 20 ? 1600.0 : 1000.0; });
  CHECK(spread_in_run(iterations) > ValidityRules::most_spread);
}

}  // namespace penstock::testing
