#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "experiments/input/formats/torch_csv.hpp"
#include "schedules/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"
#include "sim/engines/events.hpp"
#include "tests/oracle/recorded_file.hpp"
#include "tests/support/system.hpp"

// Orders that other projects' own generators made, with what an independent simulator says of them:
// the folder `orders` of the one that PENSTOCK_ORACLES names holds manifest.json, expected.json and
// the orders.

namespace penstock::testing {
namespace {

using nlohmann::json;

struct Oracles {
  json manifest = json::parse(recorded_file("manifest.json"));
  json expected = json::parse(recorded_file("expected.json"))["files"];
};

std::vector<std::vector<Stage>> chains_of(const json& entry) {
  std::vector<std::vector<Stage>> chains;
  for (const json& chain : entry.value("chains", json::array())) {
    chains.emplace_back();
    for (const json& stage : chain) chains.back().push_back(Stage{stage.get<std::uint32_t>()});
  }
  return chains;
}

/// An order of the folder with the uneven costs that were recorded for it.
System system_of(const json& entry, const json& costs) {
  const OrderFile order = read_torch_csv(recorded_file(entry["file"]));
  System system{placement_of(order, chains_of(entry)), order.schedule, {}};
  for (std::size_t s = 0; s < costs["tF"].size(); ++s) {
    system.stages.push_back(stage_of(costs["tF"][s], costs["tI"][s], costs["tW"][s]));
    system.stages.back().backward_us = costs["tB"][s];
  }
  system.hardware = delay(costs["comm"]);
  return system;
}

bool close(double value, double wanted) {
  return std::abs(value - wanted) <= 1e-6 * std::max(1.0, std::abs(wanted));
}

/// What of a report is not as it was recorded, or "".
std::string difference(const Report& report, const json& expected, bool peaks_recorded) {
  const json& want = expected["random"];
  const auto differs = [](const std::string& what, double value, const json& wanted) {
    return fmt::format("{} is {}, recorded {}", what, value, wanted.dump());
  };
  if (!close(to_us(report.makespan), want["makespan"])) {
    return differs("makespan", to_us(report.makespan), want["makespan"]);
  }
  if (report.ranks.size() != expected["p"]) {
    return differs("number of ranks", static_cast<double>(report.ranks.size()), expected["p"]);
  }
  for (std::size_t r = 0; r < report.ranks.size(); ++r) {
    const RankReport& rank = report.ranks[r];
    const auto of_rank = [&](const char* what) { return fmt::format("{} of rank {}", what, r); };
    if (!close(to_us(rank.start), want["rank_start"][r])) {
      return differs(of_rank("start"), to_us(rank.start), want["rank_start"][r]);
    }
    if (!close(to_us(rank.end), want["rank_end"][r])) {
      return differs(of_rank("end"), to_us(rank.end), want["rank_end"][r]);
    }
    if (!close(to_us(rank.busy), want["rank_busy"][r])) {
      return differs(of_rank("busy time"), to_us(rank.busy), want["rank_busy"][r]);
    }
    if (peaks_recorded && rank.peak_activations != expected["peak_activations"][r]) {
      return differs(of_rank("peak activations"), rank.peak_activations,
                     expected["peak_activations"][r]);
    }
  }
  if (!close(report.bubble.of_makespan, want["bubble_fraction"])) {
    return differs("bubble", report.bubble.of_makespan, want["bubble_fraction"]);
  }
  return "";
}

/// A rule with the options that make it one of the recorded families.
struct Named {
  std::string name;
  std::map<std::string, std::string, std::less<>> settings = {};
};

/// PyTorch's interleaved schedules: as many rounds as whole groups of p fit into m.
std::string pytorch_group(std::uint32_t p, std::uint32_t m) {
  return std::to_string(m / std::max(1U, m / p));
}

/// The rule that a recorded order follows, for families whose order a rule fixes.
std::optional<Named> rule_of(const json& entry) {
  const std::string family = entry["schedule"];
  const std::string variant = entry.contains("variant") && entry["variant"].is_string()
                                  ? entry["variant"].get<std::string>()
                                  : "";
  const auto p = entry["p"].get<std::uint32_t>();
  const auto m = entry["m"].get<std::uint32_t>();
  const bool chunks = entry["v"].get<std::uint32_t>() > 1;
  if (family == "pytorch_gpipe" || family == "alpa_gpipe") return Named{"gpipe"};
  if (family == "torchgpipe") return Named{"gpipe", {{"backward_order", "descending"}}};
  if (family == "pytorch_1f1b" || family == "megatron_1f1b" || family == "sail_1f1b") {
    return Named{"1f1b"};
  }
  if (family == "alpa_eager_1f1b") return Named{"eager-1f1b"};
  if (family == "alpa_inference") return Named{"forward-only"};
  if (family == "megatron_interleaved1f1b" && variant.find("moe") == std::string::npos) {
    return Named{"interleaved-1f1b",
                 {{"group", entry["microbatch_group_size_per_vp_stage"].dump()}}};
  }
  if (family == "pytorch_interleaved1f1b") {
    return Named{"interleaved-1f1b", {{"group", pytorch_group(p, m)}}};
  }
  if (family == "sail_vpp") return Named{"interleaved-1f1b"};
  if (family == "pytorch_interleavedzerobubble") {
    return chunks ? Named{"interleaved-zb", {{"group", pytorch_group(p, m)}}} : Named{"zb-h1"};
  }
  if (family == "pytorch_loopedbfs") return Named{"looped-bfs"};
  if (family == "pytorch_zbv") return Named{"zb-v"};
  if (family == "sail_vhalf") return Named{"v-half"};
  if (family == "sail_vmin") return Named{"v-min"};
  if (family == "pytorch_dualpipev" || family == "deepseek_dualpipev") return Named{"dualpipev"};
  if (family == "deepseek_dualpipe") return Named{"dualpipe"};
  if (family == "chimera" && variant == "pipes2" && entry["v"] == 2) return Named{"chimera"};
  if (family == "sail_seq1f1b") return Named{"seq-1f1b", {{"slices", entry["seq_splits"].dump()}}};
  return std::nullopt;
}

/// Where two orders part: "rank 1, cell 3: 0B0 for 0F1", or "".
std::string first_difference(const Schedule& made, const Schedule& recorded) {
  if (made.ranks() != recorded.ranks()) {
    return fmt::format("{} ranks for {}", made.ranks(), recorded.ranks());
  }
  for (Rank rank : Numbers<Rank>(made.ranks())) {
    const auto& one = made.on(rank);
    const auto& other = recorded.on(rank);
    for (std::size_t i = 0; i < std::min(one.size(), other.size()); ++i) {
      if (one[i] == other[i]) continue;
      return fmt::format("rank {}, action {}: {} for {}", index(rank), i, text(one[i]),
                         text(other[i]));
    }
    if (one.size() != other.size()) {
      return fmt::format("rank {}: {} actions for {}", index(rank), one.size(), other.size());
    }
  }
  return "";
}

std::string order_difference(const json& entry, const ScheduleEntry& rule, const Named& named) {
  try {
    const Placement placement =
        rule.place(entry["p"].get<std::uint32_t>(), entry["v"].get<std::uint32_t>());
    const Schedule made =
        make_schedule(rule, placement, {entry["m"].get<std::uint32_t>(), named.settings});
    return first_difference(made, read_torch_csv(recorded_file(entry["file"])).schedule);
  } catch (const RuleError& error) {
    return error.what();
  }
}

/// Whether the event engine gives the same timeline to the byte, running ahead of the clock and
/// with every start and end as an event.
bool events_agree(const Outcome& outcome) {
  const Conditions every_event{.sends_in_flight = UINT32_MAX};
  for (const Conditions& conditions : {Conditions{}, every_event}) {
    const RunOutcome again = run_events({outcome.plan, outcome.costs, conditions});
    if (std::holds_alternative<Standstill>(again)) return false;
    const auto& timeline = std::get<Timeline>(again);
    const Timeline& relaxed = outcome.timeline;
    if (timeline.begin != relaxed.begin || timeline.end != relaxed.end ||
        timeline.last_input != relaxed.last_input) {
      return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("every recorded order runs as it was recorded, with uneven costs and delays") {
  const Oracles oracles;
  int ran = 0;
  for (const json& entry : oracles.manifest) {
    const std::string file = entry["file"];
    const std::string family = entry["schedule"];
    if (!oracles.expected.contains(file) || family.starts_with("pytorch_lowered")) continue;
    const json& expected = oracles.expected[file];
    const Outcome outcome = simulated(system_of(entry, expected["random"]["cost"]));
    // What an inference order holds was counted differently there.
    const std::string fault =
        difference(outcome.report, expected, /*peaks_recorded=*/family != "alpa_inference");
    CHECK_MESSAGE(fault.empty(), file << ": " << fault);
    CHECK_MESSAGE(events_agree(outcome), file << ": the event engine gives another timeline");
    ++ran;
  }
  MESSAGE(ran << " orders");
  CHECK(ran > 0);
}

TEST_CASE("every rule gives the orders that other projects' generators give") {
  const Oracles oracles;
  int compared = 0;
  for (const json& entry : oracles.manifest) {
    const auto named = rule_of(entry);
    if (!named) continue;
    const ScheduleEntry* rule = find_named(schedule_entries(), named->name);
    if (rule == nullptr) continue;
    const std::string fault = order_difference(entry, *rule, *named);
    CHECK_MESSAGE(fault.empty(), entry["file"].get<std::string>()
                                     << ": " << named->name << ": " << fault);
    ++compared;
  }
  MESSAGE(compared << " orders");
  CHECK(compared > 0);
}

}  // namespace penstock::testing
