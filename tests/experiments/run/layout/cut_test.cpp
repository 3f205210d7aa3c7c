// Cuts that partitioners make in scenarios, against all cuts, each run as a scenario of its own.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <nlohmann/json.hpp>

#include "experiments/run/run.hpp"
#include "tests/support/cut_problems.hpp"
#include "tests/support/draws.hpp"

namespace penstock::testing {
namespace {

using Json = nlohmann::json;
using Cuts = std::vector<std::uint32_t>;

/// How long a cut takes, and whether it fits.
struct CutRun {
  Time time = max_time;
  bool fits = false;
};

CutRun run_of(const Json& scenario) {
  const RunResult result = run(parse_scenario(scenario.dump(), "s.json", {}));
  if (!result.report) return {};
  return {result.report->makespan, result.findings.empty()};
}

CutRun run_of(Json scenario, const Cuts& cuts) {
  Json stages = Json::array();
  for (std::size_t s = 0; s + 1 < cuts.size(); ++s) {
    Json layers = Json::array();
    for (std::uint32_t layer = cuts[s]; layer < cuts[s + 1]; ++layer) layers.push_back(layer);
    stages.push_back(layers);
  }
  scenario["partition"] = {{"stages", stages}};
  return run_of(scenario);
}

/// The shortest of all cuts that fit; without one that does, nothing.
std::optional<Time> shortest(const Json& scenario, std::uint32_t layers, std::uint32_t stages) {
  std::optional<Time> least;
  for_each_cut(layers, stages, stages, [&](const Cuts& cuts) {
    const CutRun one = run_of(scenario, cuts);
    if (one.fits && (!least || one.time < *least)) least = one.time;
  });
  return least;
}

Json drawn_layers(std::uint32_t count, const std::function<void(Json&)>& add) {
  Json layers = Json::array();
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t input = from_to(1, 9), weight = from_to(1, 9);
    Json layer{{"forward_us", from_to(1, 9)},
               {"backward_us", input + weight},
               {"backward_input_us", input},
               {"backward_weight_us", weight}};
    add(layer);
    layers.push_back(layer);
  }
  return layers;
}

Json on_ranks(const Json& layers, std::uint32_t pipeline, const Json& schedule) {
  return {{"model", {{"layers", layers}}},
          {"hardware", {{"name", "ideal"}}},
          {"parallel", {{"pipeline", pipeline}}},
          {"schedule", schedule}};
}

/// A schedule and its stages on each rank.
struct DrawnOrder {
  const char* name;
  std::uint32_t chunks;
};
constexpr std::array drawn_orders{DrawnOrder{"1f1b", 1},      DrawnOrder{"gpipe", 1},
                                  DrawnOrder{"zb-h1", 1},     DrawnOrder{"zb-h2", 1},
                                  DrawnOrder{"zb-v", 2},      DrawnOrder{"interleaved-1f1b", 2},
                                  DrawnOrder{"eager-1f1b", 1}};

}  // namespace

// Weights take 16 bytes with Adam, of which ZeRO-1 shards 12 over four replicas; capacities are
// between the least and the most that any cut needs.
TEST_CASE("cut: simulated finds the shortest of all cuts that fit in the order's memory") {
  CHECK(rc::check([] {
    const DrawnOrder order = drawn_orders[below(drawn_orders.size())];
    const std::uint32_t pipeline = order.chunks == 2 ? 2 : from_to(2, 3);
    const std::uint32_t stages = pipeline * order.chunks;
    const std::uint32_t count = from_to(stages, stages + 3);
    const bool shards = one_in(2);
    const Json layers = drawn_layers(count, [&](Json& layer) {
      layer["stash_bytes"] = 10 * from_to(0, 9);
      layer["workspace_bytes"] = 50 * from_to(0, 3);
      layer["parameter_bytes"] = 4 * from_to(0, 9);
    });
    Json scenario = on_ranks(layers, pipeline,
                             {{"name", order.name}, {"microbatches", pipeline * from_to(1, 3)}});
    scenario["memory"] = {{"optimizer", "adam"}, {"capacity_bytes", 100 * from_to(2, 20)}};
    if (shards) {
      scenario["parallel"]["data"] = 4;
      scenario["memory"]["zero"] = 1;
    }
    const std::optional<Time> least = shortest(scenario, count, stages);
    scenario["partition"] = {{"name", "simulated"}};
    const CutRun own = run_of(scenario);
    RC_ASSERT(own.fits == least.has_value());
    if (least) RC_ASSERT(own.time == *least);
    if (!least || order.chunks > 1) return;
    scenario["partition"] = {{"name", "memory"}};
    RC_ASSERT(run_of(scenario).fits);
  }));
}

TEST_CASE("cut: simulated knows slow ranks, and links that take time or differ") {
  CHECK(rc::check([] {
    const std::uint32_t pipeline = from_to(2, 3);
    const std::uint32_t count = from_to(pipeline, pipeline + 3);
    const Json layers =
        drawn_layers(count, [](Json& layer) { layer["activation_bytes"] = 1000 * from_to(0, 40); });
    Json scenario =
        on_ranks(layers, pipeline,
                 {{"name", one_in(2) ? "1f1b" : "gpipe"}, {"microbatches", from_to(1, 6)}});
    Json& hardware = scenario["hardware"];
    if (one_in(3)) {
      hardware["transfer_us"] = from_to(1, 20);
    } else {
      hardware["latency_us"] = from_to(0, 5);
      hardware["bandwidth_bytes_per_s"] = 1e9 * from_to(1, 9);
    }
    if (one_in(2)) {
      const std::uint32_t from = below(pipeline - 1);
      const bool back = one_in(2);
      Json slow{{"from", from + back}, {"to", from + !back}, {"factor", from_to(2, 9)}};
      scenario["chance"]["slow_links"] = Json::array({slow});
      std::swap(slow["from"], slow["to"]);
      if (one_in(2)) scenario["chance"]["slow_links"].push_back(slow);
    }
    if (one_in(2)) {
      scenario["chance"]["stragglers"] = {{{"rank", below(pipeline)}, {"factor", from_to(2, 4)}}};
    }
    const std::optional<Time> least = shortest(scenario, count, pipeline);
    scenario["partition"] = {{"name", "simulated"}};
    RC_ASSERT(run_of(scenario).time == *least);
  }));
}

// Two versions of a layer on the first rank, three layers on the second one: 200 and 300 bytes. Two
// layers on the first one take 400 bytes.
TEST_CASE("cut: weight versions of an asynchronous order need their memory") {
  const Json measured{{"forward_us", 1}, {"backward_us", 2}, {"parameter_bytes", 100}};
  const Json layers = Json::array({measured, measured, measured, measured});
  Json scenario = on_ranks(layers, 2, {{"name", "pipedream"}, {"microbatches", 8}});
  scenario["memory"] = {{"optimizer", "none"}, {"capacity_bytes", 310}};
  for (const char* name : {"memory", "devices", "simulated"}) {
    CAPTURE(name);
    scenario["partition"] = {{"name", name}};
    CHECK(run_of(scenario).fits);
  }
}

}  // namespace penstock::testing
