#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "experiments/input/formats/torch_csv.hpp"
#include "schedules/policies/choosing/zero_bubble_search.hpp"
#include "sim/base/time.hpp"
#include "tests/oracle/recorded_file.hpp"
#include "tests/support/system.hpp"

namespace penstock::testing {
namespace {

using nlohmann::json;

/// From the first to the last action of a rank, the longest of all.
double longest_span_us(const Schedule& order, const Layer& stage, double transfer_us) {
  const std::uint32_t ranks = order.ranks();
  System system{Placement::loop(ranks, 1), order, std::vector<Layer>(ranks, stage)};
  system.hardware = delay(transfer_us);
  double longest = 0;
  for (const RankReport& rank : simulated(system).report.ranks) {
    longest = std::max(longest, to_us(rank.end - rank.start));
  }
  return longest;
}

Schedule found(std::uint32_t ranks, std::uint32_t microbatches, std::uint32_t activations,
               const StagePrice& price) {
  Schedule schedule(ranks);
  const std::vector<StagePrice> prices(ranks, price);
  const auto rows = zero_bubble_rows(prices, microbatches, activations);
  for (const Rank rank : Numbers<Rank>(ranks)) {
    std::array<std::uint32_t, pass_count> next{};
    for (const Pass pass : rows[index(rank)]) {
      schedule.on(rank).emplace_back(pass, Stage{index(rank)},
                                     Microbatch{next[static_cast<std::size_t>(pass)]++});
    }
  }
  return schedule;
}

}  // namespace

TEST_CASE("zero-bubble finds spans as short as those that its authors' generator found") {
  std::size_t compared = 0;
  for (const json& entry : json::parse(recorded_file("manifest.json"))) {
    if (entry["schedule"] != "sail_zb1p" && entry["schedule"] != "sail_zb2p") continue;
    CAPTURE(entry["file"].get<std::string>());
    const double f = entry["cost_f"], i = entry["cost_b"], w = entry["cost_w"];
    const double transfer = entry["cost_comm"];
    const StagePrice price{.forward = from_us(f),
                           .input = from_us(i),
                           .weight = from_us(w),
                           .to_next = from_us(transfer),
                           .to_previous = from_us(transfer)};
    const Schedule ours = found(entry["p"], entry["m"], entry["max_mem_microbatches"], price);
    const Schedule theirs = read_torch_csv(recorded_file(entry["file"])).schedule;
    const Layer stage = stage_of(f, i, w);
    CHECK(longest_span_us(ours, stage, transfer) == longest_span_us(theirs, stage, transfer));
    ++compared;
  }
  CHECK(compared == 41);
}

}  // namespace penstock::testing
