#include "gui/models/lanes/rank_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <sstream>

#include "experiments/input/files/quantity.hpp"
#include "experiments/input/scenario/document.hpp"
#include "sim/base/error.hpp"
#include "sim/base/plain_numbers.hpp"

namespace penstock {
namespace {

std::vector<RankSummary> stages_by_rank(const ViewedRun& run) {
  const Plan& plan = run.plan;
  std::vector<std::set<std::uint32_t>> found(plan.ranks);
  for (const WorkClass& work : plan.classes) {
    if (is_lanes(run)) break;
    if (!plan.is_link(work.resource)) found[work.resource].insert(index(work.stage));
  }
  std::vector<RankSummary> facts(plan.ranks);
  for (std::size_t r = 0; r < facts.size(); ++r)
    facts[r].stages = {found[r].begin(), found[r].end()};
  return facts;
}

/// "8–15, 24–31" of ascending numbers.
std::string ranges(const std::vector<std::uint32_t>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", numbers[i]);
    if (last > i) text += fmt::format("–{}", numbers[last]);
    i = last + 1;
  }
  return text;
}

/// The numbers of the layers that some stages hold.
std::vector<std::uint32_t> layers_of(const Layout& layout,
                                     const std::vector<std::uint32_t>& stages) {
  std::vector<std::uint32_t> layers;
  for (const std::uint32_t stage : stages) {
    if (stage >= layout.placement.stage_count()) continue;
    const std::uint32_t place = layout.placement.position(Stage{stage});
    if (place >= layout.partition.stages.size()) continue;
    for (const LayerIndex layer : layout.partition.stages[place]) layers.push_back(index(layer));
  }
  std::sort(layers.begin(), layers.end());
  layers.erase(std::unique(layers.begin(), layers.end()), layers.end());
  return layers;
}

/// Whether each rank holds the stage of its number, which says nothing.
bool are_plain(const std::vector<RankSummary>& facts) {
  for (std::uint32_t r = 0; r < facts.size(); ++r) {
    if (!facts[r].stages.empty() && facts[r].stages != std::vector{r}) return false;
  }
  return true;
}

std::string held_by(const ViewedRun& run, bool plain, const RankSummary& facts) {
  const bool has_layers =
      run.layout != nullptr && run.scenario != nullptr && !value_at(*run.scenario, "/model/stages");
  if (has_layers) {
    const std::vector<std::uint32_t> layers = layers_of(*run.layout, facts.stages);
    if (!layers.empty()) return (layers.size() == 1 ? "layer " : "layers ") + ranges(layers);
  }
  if (plain || facts.stages.empty()) return {};
  return stages_text(facts.stages);
}

[[noreturn]] void refuse(const std::string& word) {
  throw InputError(fmt::format(
      "\"{}\" is not understood; a filter reads idle>30% mem>40GiB stage:3 rank:5 0-7", word));
}

std::uint32_t number_in(std::string_view digits, const std::string& word) {
  const auto value = whole_number<std::uint32_t>(digits);
  if (!value) refuse(word);
  return *value;
}

double share_in(std::string_view text, const std::string& word) {
  const auto value =
      text.ends_with('%') ? plain_number(text.substr(0, text.size() - 1)) : std::nullopt;
  if (!value) refuse(word);
  return *value / 100;
}

std::uint64_t bytes_in(std::string_view text, const std::string& word) {
  try {
    return static_cast<std::uint64_t>(quantity_of(text, QuantityKind::bytes));
  } catch (const InputError&) {
    refuse(word);
  }
}

std::pair<std::uint32_t, std::uint32_t> ranks_named(std::string_view text,
                                                    const std::string& word) {
  const std::size_t dash = text.find('-');
  const std::uint32_t first = number_in(text.substr(0, dash), word);
  if (dash == std::string_view::npos) return {first, first};
  return {first, number_in(text.substr(dash + 1), word)};
}

void take_word(const std::string& word, RankFilter& filter) {
  const auto behind = [&](std::string_view start) {
    return std::string_view(word).substr(start.size());
  };
  if (word.starts_with("idle>")) {
    filter.idle_above = share_in(behind("idle>"), word);
  } else if (word.starts_with("idle<")) {
    filter.idle_below = share_in(behind("idle<"), word);
  } else if (word.starts_with("mem>")) {
    filter.memory_above = bytes_in(behind("mem>"), word);
  } else if (word.starts_with("mem<")) {
    filter.memory_below = bytes_in(behind("mem<"), word);
  } else if (word.starts_with("stage:")) {
    filter.stage = number_in(behind("stage:"), word);
  } else {
    filter.ranks.push_back(
        ranks_named(word.starts_with("rank:") ? behind("rank:") : std::string_view(word), word));
  }
}

bool fits(const RankFilter& filter, std::uint32_t rank, const RankSummary& facts) {
  if (filter.idle_above && facts.idle <= *filter.idle_above) return false;
  if (filter.idle_below && facts.idle >= *filter.idle_below) return false;
  if (filter.memory_above && facts.peak_bytes <= *filter.memory_above) return false;
  if (filter.memory_below && facts.peak_bytes >= *filter.memory_below) return false;
  const auto& stages = facts.stages;
  if (filter.stage && !std::binary_search(stages.begin(), stages.end(), *filter.stage))
    return false;
  return filter.ranks.empty() ||
         std::any_of(filter.ranks.begin(), filter.ranks.end(), [&](const auto& range) {
           return rank >= range.first && rank <= range.second;
         });
}

/// Whether a rank stands above another one; equal ones stand by number.
bool is_above(RankSort sort, const RankSummary& one, const RankSummary& other) {
  switch (sort) {
    case RankSort::idle:
      return one.idle > other.idle;
    case RankSort::memory:
      return one.peak_bytes > other.peak_bytes;
    case RankSort::stage:
      return one.stages < other.stages;
    case RankSort::number:
      break;
  }
  return false;
}

}  // namespace

std::string stages_text(const std::vector<std::uint32_t>& stages) {
  return (stages.size() == 1 ? "stage " : "stages ") + ranges(stages);
}

std::vector<RankSummary> facts_of_ranks(const ViewedRun& run) {
  std::vector<RankSummary> facts = stages_by_rank(run);
  const double whole = std::max(1.0, static_cast<double>(run.report.makespan.picoseconds));
  const bool plain = are_plain(facts);
  for (std::uint32_t r = 0; r < facts.size(); ++r) {
    facts[r].holds = held_by(run, plain, facts[r]);
    if (r >= run.report.ranks.size()) continue;
    const RankReport& rank = run.report.ranks[r];
    facts[r].idle = static_cast<double>(rank.idle.picoseconds) / whole;
    facts[r].peak_bytes = rank.memory.bytes;
    facts[r].overflows = run.capacity_bytes && rank.memory.bytes > *run.capacity_bytes;
  }
  return facts;
}

std::string_view name(RankSort sort) {
  constexpr std::array<std::string_view, rank_sort_count> names{"by number", "most idle first",
                                                                "most memory first", "by stage"};
  return names[static_cast<std::size_t>(sort)];
}

RankFilter read_rank_filter(std::string_view text) {
  RankFilter filter;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) take_word(word, filter);
  return filter;
}

std::vector<std::uint32_t> ranks_in(const RankOrder& order, const std::vector<RankSummary>& facts) {
  std::vector<std::uint32_t> ranks;
  std::set<std::vector<std::uint32_t>> seen;
  for (std::uint32_t rank = 0; rank < facts.size(); ++rank) {
    if (!fits(order.filter, rank, facts[rank])) continue;
    const std::vector<std::uint32_t>& stages = facts[rank].stages;
    if (order.folded && !stages.empty() && !seen.insert(stages).second) continue;
    ranks.push_back(rank);
  }
  std::stable_sort(ranks.begin(), ranks.end(), [&](std::uint32_t a, std::uint32_t b) {
    return is_above(order.sort, facts[a], facts[b]);
  });
  return ranks;
}

std::size_t replicas_of(std::uint32_t rank, const std::vector<RankSummary>& facts) {
  return static_cast<std::size_t>(
      std::count_if(facts.begin(), facts.end(),
                    [&](const RankSummary& each) { return each.stages == facts[rank].stages; }));
}

}  // namespace penstock
