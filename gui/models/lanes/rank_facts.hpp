#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gui/models/run/viewed_run.hpp"

namespace penstock {

/// What a person asks of a rank first.
struct RankSummary {
  std::vector<std::uint32_t> stages;  // ascending; none of a lane that is no rank
  std::string holds;             // "layers 8–15", or else "stage 3"; empty if it says nothing
  double idle = 0;               // share of the run
  std::uint64_t peak_bytes = 0;  // 0: unknown
  bool overflows = false;        // the peak is above the capacity
};

/// By rank.
std::vector<RankSummary> facts_of_ranks(const ViewedRun& run);

/// The order in which ranks stand from top to bottom.
enum class RankSort : std::uint8_t { number, idle, memory, stage };
constexpr std::size_t rank_sort_count = 4;
/// "by number", "most idle first", "most memory first", "by stage".
std::string_view name(RankSort sort);

/// Which ranks are shown: all conditions that are given hold.
struct RankFilter {
  std::optional<double> idle_above, idle_below;  // shares
  std::optional<std::uint64_t> memory_above, memory_below;
  std::optional<std::uint32_t> stage;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ranks;  // first and last of any of these
  friend bool operator==(const RankFilter&, const RankFilter&) = default;
};

/// Reads `idle>30% mem>40GiB stage:3 0-7 12`. Throws InputError that says what is understood: a
/// share has its sign.
RankFilter read_rank_filter(std::string_view text);

/// How many ranks are shown, and in which order.
struct RankOrder {
  RankSort sort = RankSort::number;
  RankFilter filter;
  bool folded = false;  // shows one replica of each stage, the first that fits the filter
  bool is_default() const { return *this == RankOrder{}; }
  friend bool operator==(const RankOrder&, const RankOrder&) = default;
};

/// The ranks from top to bottom.
std::vector<std::uint32_t> ranks_in(const RankOrder& order, const std::vector<RankSummary>& facts);

/// "stage 3", "stages 0, 4": what a rank holds, of ascending numbers.
std::string stages_text(const std::vector<std::uint32_t>& stages);

/// How many ranks hold the stages of this one, itself among them.
std::size_t replicas_of(std::uint32_t rank, const std::vector<RankSummary>& facts);

}  // namespace penstock
