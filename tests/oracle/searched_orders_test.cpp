#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "experiments/input/formats/torch_csv.hpp"
#include "experiments/input/scenario/scenario.hpp"
#include "experiments/plan/order_search/order_hunt.hpp"
#include "sim/base/time.hpp"
#include "tests/oracle/recorded_file.hpp"
#include "tests/support/system.hpp"

// Every case that another project's search recorded is searched here within the recorded memory.
// The whole table with times is printed by experiments/program/bench/search_orders.

namespace penstock::testing {
namespace {

using nlohmann::json;

bool is_searched(const json& entry) {
  constexpr std::array families{"sail_zb1p",
                                "sail_zb2p",
                                "sail_zbv",
                                "sail_v_adaptive",
                                "sail_vhalf",
                                "sail_vmin",
                                "sail_group_interleaved"};
  return std::find(families.begin(), families.end(), entry["schedule"].get<std::string>()) !=
         families.end();
}

struct PassTimes {
  double forward, input, weight, transfer;
};

PassTimes times_of(const json& entry) {
  return {entry.value("cost_f", 1.0), entry.value("cost_b", 1.0), entry.value("cost_w", 1.0),
          entry.value("cost_comm", 0.0)};
}

double recorded_us(const json& entry) {
  const auto [f, i, w, transfer] = times_of(entry);
  const OrderFile order = read_torch_csv(recorded_file(entry["file"]));
  const std::size_t stages = entry["p"].get<std::size_t>() * entry["v"].get<std::size_t>();
  System system{placement_of(order, {}), order.schedule,
                std::vector<Layer>(stages, stage_of(f, i, w))};
  system.hardware = delay(transfer);
  return to_us(simulated(system).report.makespan);
}

Scenario scenario_of(const json& entry, std::uint32_t capacity) {
  const auto [f, i, w, transfer] = times_of(entry);
  const std::uint32_t ranks = entry["p"], chunks = entry["v"];
  const json stage{
      {"forward_us", f}, {"backward_input_us", i}, {"backward_weight_us", w}, {"stash_bytes", 1}};
  const char* name = entry["placement"] == "v" ? "zb-v" : chunks == 1 ? "1f1b" : "looped-bfs";
  return scenario_from(
      {{"model", {{"stages", json::array()}}},
       {"hardware", {{"name", "ideal"}, {"devices", ranks}, {"transfer_us", transfer}}},
       {"parallel", {{"pipeline", ranks}, {"chunks", chunks}}},
       {"memory", {{"capacity_bytes", capacity}}},
       {"schedule", {{"name", name}, {"microbatches", entry["m"]}}}},
      "case", {"/model/stages=" + json(std::vector<json>(ranks * chunks, stage)).dump()});
}

}  // namespace

TEST_CASE("search finds orders no longer than those that other searches recorded") {
  const json expected = json::parse(recorded_file("expected.json"))["files"];
  std::size_t number = 0, compared = 0, shorter = 0, longer = 0;
  for (const json& entry : json::parse(recorded_file("manifest.json"))) {
    // A selection, so that the test takes half a minute at most.
    if (!is_searched(entry) || number++ % 6 != 0 || entry["p"] > 8) continue;
    CAPTURE(entry["file"].get<std::string>());
    const std::vector<std::uint32_t> peaks =
        expected[entry["file"].get<std::string>()]["peak_activations"];
    const std::uint32_t capacity = *std::max_element(peaks.begin(), peaks.end());
    const HuntResult found = hunt_order(scenario_of(entry, capacity), {.budget_s = 1.5});
    REQUIRE(found.fits);
    const double recorded = recorded_us(entry), makespan = to_us(found.run.report->makespan);
    CHECK(makespan <= recorded * (1 + 1e-9));
    longer += makespan > recorded * (1 + 1e-9) ? 1 : 0;
    shorter += makespan < recorded * (1 - 1e-9) ? 1 : 0;
    for (const RankReport& rank : found.run.report->ranks) {
      CHECK(rank.peak_activations <= capacity);
    }
    ++compared;
  }
  CHECK(compared >= 20);
  CHECK(longer == 0);
  CHECK(3 * shorter >= compared);
}

}  // namespace penstock::testing
