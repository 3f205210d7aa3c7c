#include "experiments/run/repeat.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "experiments/run/run.hpp"
#include "experiments/show/results/result_json.hpp"
#include "sim/base/error.hpp"
#include "tests/support/small_scenarios.hpp"

namespace penstock::testing {
namespace {

RunResult repeated(std::uint32_t count, const std::vector<std::string>& settings) {
  return run(parse_scenario(scenario_plain, "s.json", settings), {.repeat = count});
}

std::vector<std::optional<Time>> microseconds(const std::vector<int>& all) {
  std::vector<std::optional<Time>> times;
  for (const int us : all) times.emplace_back(from_us(us));
  return times;
}

}  // namespace

TEST_CASE("a distribution has mean, deviation, interval and quantiles of its makespans") {
  // 4 1 2 3 5: mean 3, squares 1 + 4 + 1 + 0 + 4 = 10, deviation sqrt(10 / 4); the interval is
  // t(4) = 2.776 times sqrt(2.5 / 5) to both sides.
  const Distribution five = distribution_of(microseconds({4, 1, 2, 3, 5}));
  CHECK(*five.mean == doctest::Approx(3));
  CHECK(*five.standard_deviation == doctest::Approx(std::sqrt(2.5)));
  CHECK(five.mean_within->first == doctest::Approx(3 - 2.776 * std::sqrt(0.5)));
  CHECK(five.mean_within->second == doctest::Approx(3 + 2.776 * std::sqrt(0.5)));
  // Of five sorted values, 5 % lies 0.2 of the way from the first to the second.
  CHECK(quantile_us(five, 0.05) == doctest::Approx(1.2));
  CHECK(quantile_us(five, 0.5) == 3);
  CHECK(quantile_us(five, 0.95) == doctest::Approx(4.8));
  CHECK(quantile_us(five, 0) == 1);
  CHECK(quantile_us(five, 1) == 5);
}

TEST_CASE("beyond its table, Student's t goes over into the normal distribution") {
  // Half of the draws at 1, half at 3: deviation sqrt(n / (n - 1)); t(39) is 2.0227.
  std::vector<int> draws(40, 1);
  std::fill(draws.begin() + 20, draws.end(), 3);
  const Distribution forty = distribution_of(microseconds(draws));
  const double error = std::sqrt(40.0 / 39) / std::sqrt(40.0);
  CHECK(forty.mean_within->second - 2 == doctest::Approx(2.0227 * error).epsilon(0.002));
}

TEST_CASE("one draw has a mean but no deviation, and none that finished has nothing") {
  const nlohmann::json one = distribution_json(distribution_of(microseconds({7})));
  CHECK(one["mean_us"] == 7);
  CHECK(one["stddev_us"].is_null());
  CHECK(one["mean_interval_95_us"].is_null());
  CHECK(one["quantiles_us"]["p95"] == 7);
  const Distribution none = distribution_of({std::nullopt, std::nullopt});
  const nlohmann::json document = distribution_json(none);
  CHECK(document["count"] == 2);
  CHECK(document["unfinished"] == 2);
  CHECK(document["mean_us"].is_null());
  CHECK(document["quantiles_us"].is_null());
  CHECK(distribution_text(none) == "2 draws, of which 2 did not finish\n");
}

// 1,000 draws that take all different times end in any order.
TEST_CASE("draws are simulated on all cores, and are those of one core, in order") {
  const auto makespan_of = [](std::uint32_t draw) -> std::optional<Time> {
    volatile double busy = 0;
    for (std::uint32_t i = 0; i < draw * 7919 % 1000; ++i) busy = busy + i;
    if (draw % 100 == 99) return std::nullopt;
    return Time{draw};
  };
  std::vector<std::optional<Time>> serial;
  for (std::uint32_t draw = 0; draw < 1000; ++draw) serial.push_back(makespan_of(draw));
  std::vector<std::uint64_t> reported;
  CHECK(makespans_of_draws(1000, true, makespan_of,
                           [&](std::string_view unit, std::uint64_t done, std::uint64_t total) {
                             CHECK(unit == "draws");
                             CHECK(total == 1000);
                             reported.push_back(done);
                           }) == serial);
  REQUIRE_FALSE(reported.empty());
  CHECK(std::is_sorted(reported.begin(), reported.end()));
  CHECK(makespans_of_draws(3, false, makespan_of) == std::vector<std::optional<Time>>(3, Time{0}));
}

TEST_CASE("of several draws that fail, the first one says why") {
  const auto fails = [](std::uint32_t draw) -> std::optional<Time> {
    throw InputError(std::to_string(draw));
  };
  CHECK_THROWS_WITH_AS(makespans_of_draws(50, true, fails), "0", InputError);
}

TEST_CASE("draws that do not finish are counted and left out of the numbers") {
  const nlohmann::json document =
      distribution_json(distribution_of({from_us(2), std::nullopt, from_us(4)}));
  CHECK(document["count"] == 3);
  CHECK(document["unfinished"] == 1);
  CHECK(document["mean_us"] == 3);
  CHECK(document["makespans_us"] == nlohmann::json({2, nullptr, 4}));
}

TEST_CASE("of the makespans the first 10,000 are listed") {
  const nlohmann::json document =
      distribution_json(distribution_of(microseconds(std::vector<int>(10'001, 3))));
  CHECK(document["count"] == 10'001);
  CHECK(document["makespans_us"].size() == 10'000);
}

TEST_CASE("the text has mean, interval and a histogram") {
  // 1, 2, 2, 3: mean 2, deviation sqrt(2 / 3), t(3) = 3.182: 3.182 * 0.4082 = 1.299. The bars are
  // 0.2 us wide; the longest makespan belongs to the last.
  CHECK(distribution_text(distribution_of(microseconds({2, 1, 3, 2}))) ==
        R"(4 draws: step time 2 ± 1.299 µs (mean, 95 % confidence)
standard deviation 0.8165, from 1 to 3, median 2, 90 % from 1.15 to 2.85

from  draws
   1      1  #########################
 1.2      0
 1.4      0
 1.6      0
 1.8      0
   2      2  ##################################################
 2.2      0
 2.4      0
 2.6      0
 2.8      1  #########################
)");
  CHECK(distribution_text(distribution_of(microseconds({5, 5}))) ==
        "2 draws: step time 5 ± 0 µs (mean, 95 % confidence)\n"
        "standard deviation 0, from 5 to 5, median 5, 90 % from 5 to 5\n");
}

TEST_CASE("the run that is reported is draw 0, and the same seed gives the same bytes") {
  const std::vector<std::string> settings{"/chance={\"seed\": 3, \"jitter\": 0.2}"};
  const RunResult result = repeated(50, settings);
  REQUIRE(result.repeated->makespans.size() == 50);
  CHECK(result.repeated->makespans[0] == result.report->makespan);
  CHECK(result.repeated->makespans[1] != result.repeated->makespans[0]);
  CHECK(result_json(result).dump() == result_json(repeated(50, settings)).dump());
  // More draws add to the first ones.
  const auto more = repeated(60, settings).repeated->makespans;
  CHECK(std::vector(more.begin(), more.begin() + 50) == result.repeated->makespans);
  CHECK(repeated(50, {"/chance={\"seed\": 4, \"jitter\": 0.2}"}).repeated->makespans !=
        result.repeated->makespans);
}

TEST_CASE("without chance all draws are equal") {
  const RunResult result = repeated(3, {});
  CHECK(result.repeated->makespans == microseconds({15, 15, 15}));
  CHECK(*result.repeated->standard_deviation == 0);
  CHECK_FALSE(repeated(0, {}).repeated.has_value());
  CHECK_FALSE(result_json(repeated(0, {})).contains("repeat"));
}

TEST_CASE("jitter on one rank alone adds up: the mean and spread of the makespan are its own") {
  // One rank, 100 forwards of 1 us: the makespan is their sum, with mean 100 and a deviation of
  // 10 sqrt(e^(0.1^2) - 1) = 1.0025. 2,000 draws give the mean to 0.0224 and the deviation to a
  // share of 1 / sqrt(4000) = 0.0158; four times that is allowed.
  const RunResult result = run(parse_scenario(R"({
    "model":    { "stages": [ {"forward_us": 1} ] },
    "schedule": { "name": "forward-only", "microbatches": 100 },
    "chance":   { "jitter": 0.1 } })",
                                              "s.json"),
                               {.repeat = 2000});
  CHECK(std::abs(*result.repeated->mean - 100) < 4 * 0.0224);
  CHECK(std::abs(*result.repeated->standard_deviation / 1.0025 - 1) < 4 * 0.0158);
}

TEST_CASE("where actions and transfers slow each other down, relax does not apply") {
  for (const char* setting : {"/overheads={\"compute_slowdown_by_transfer\": 1.1}",
                              "/overheads={\"transfer_slowdown_by_compute\": 2}"}) {
    const Scenario scenario = parse_scenario(scenario_plain, "s.json", {setting});
    CHECK_THROWS_AS(run(scenario, {.engine = Engine::relax}), UsageError);
    CHECK_NOTHROW(run(scenario));
  }
}

}  // namespace penstock::testing
