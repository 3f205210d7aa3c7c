#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "experiments/input/orders/order_check.hpp"
#include "experiments/input/orders/torch_comms.hpp"
#include "tests/oracle/recorded_file.hpp"
#include "tests/support/ruled_system.hpp"

// Orders of the folder `orders` that a rule must lower to cell by cell, and searched orders that a
// rule need not equal, but must not be worse than.

namespace penstock::testing {
namespace {

using nlohmann::json;
using Rows = std::vector<std::vector<std::string>>;

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

/// The cells of an order; blanks only fill rows up and are dropped.
Rows cells_of(std::string text) {
  std::erase(text, '\r');
  Rows rows;
  for (const std::string& line : split(text, '\n')) {
    rows.push_back(split(line, ','));
    std::erase(rows.back(), "");
  }
  return rows;
}

/// Where two orders part: "rank 1, cell 3: 1F0 for 1RECV_F0", or "".
std::string first_difference(const Rows& made, const Rows& recorded) {
  if (made.size() != recorded.size()) {
    return fmt::format("{} ranks for {}", made.size(), recorded.size());
  }
  for (std::size_t rank = 0; rank < made.size(); ++rank) {
    const auto& one = made[rank];
    const auto& other = recorded[rank];
    const auto [a, b] = std::mismatch(one.begin(), one.end(), other.begin(), other.end());
    if (a == one.end() && b == other.end()) continue;
    return fmt::format("rank {}, cell {}: {} for {}", rank, a - one.begin(),
                       a == one.end() ? "the end" : *a, b == other.end() ? "the end" : *b);
  }
  return "";
}

Sizes sizes_of(const json& entry) { return {entry["p"], entry["v"], entry["m"]}; }

/// The rule of a recorded family, or "". In all of the lowered ones PyTorch's groups hold p.
std::string rule_of(const json& entry, const std::map<std::string, std::string>& rules) {
  const auto found = rules.find(entry["schedule"]);
  return found == rules.end() ? "" : found->second;
}

}  // namespace

TEST_CASE("rules lower to the orders with communication that PyTorch makes of them") {
  const std::map<std::string, std::string> rules{
      {"pytorch_lowered_1f1b", "1f1b"},
      {"pytorch_lowered_dualpipev", "dualpipev"},
      {"pytorch_lowered_gpipe", "gpipe"},
      {"pytorch_lowered_interleaved1f1b", "interleaved-1f1b"},
      {"pytorch_lowered_interleavedzerobubble", "interleaved-zb"},
      {"pytorch_lowered_loopedbfs", "looped-bfs"},
      {"pytorch_lowered_zbv", "zb-v"}};
  int compared = 0;
  for (const json& entry : json::parse(recorded_file("manifest.json"))) {
    const std::string name = rule_of(entry, rules);
    if (name.empty()) continue;
    const std::string file = entry["file"];
    const System system = system_of(name, sizes_of(entry), stage_of(1, 1, 1));
    const bool fsdp = entry["variant"] == "fsdp";
    // Overlap cells without REDUCE_GRAD: no release lowers so.
    if (!fsdp && name == "dualpipev") continue;
    // The recorded ones without FSDP lack REDUCE_GRAD, as those of 2.9 do.
    const Lowering lowering{fsdp ? TorchVersion::v2_14 : TorchVersion::v2_9, fsdp};
    const std::string made = write_torch_comms(system.schedule, system.placement, lowering);
    const std::string recorded = recorded_file(file);
    CHECK_MESSAGE(first_difference(cells_of(made), cells_of(recorded)) == "", file);
    const auto fault = check_order(made, {}).fault;
    CHECK_MESSAGE(!fault, file << ": " << (fault ? fault->text : ""));
    ++compared;
  }
  CHECK(compared == 8);
}

TEST_CASE("rules of searched families are no longer and hold no more than what the search found") {
  const std::map<std::string, std::string> rules{
      {"sail_vhalf", "v-half"}, {"sail_vmin", "v-min"}, {"sail_zb2p", "zb-h2"}};
  const json expected = json::parse(recorded_file("expected.json"))["files"];
  int compared = 0;
  for (const json& entry : json::parse(recorded_file("manifest.json"))) {
    const std::string name = rule_of(entry, rules);
    const Sizes sizes = sizes_of(entry);
    // Others were searched for other times than f = i = w, or are not in their steady state.
    if (name.empty() || entry.contains("variant") || sizes.microbatches < 2 * sizes.ranks) continue;
    const std::string file = entry["file"];
    const Report report = simulated(system_of(name, sizes, stage_of(1, 1, 1))).report;
    std::uint32_t held = 0, recorded = 0;
    for (const RankReport& rank : report.ranks) held = std::max(held, rank.peak_activations);
    for (const json& peak : expected[file]["peak_activations"]) {
      recorded = std::max(recorded, peak.get<std::uint32_t>());
    }
    CAPTURE(file);
    CHECK(to_us(report.makespan) <= expected[file]["uniform"]["makespan"].get<double>());
    CHECK(held <= recorded);
    ++compared;
  }
  MESSAGE(compared << " orders");
  CHECK(compared > 0);
}

}  // namespace penstock::testing
