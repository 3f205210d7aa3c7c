#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/input/scenario/document.hpp"
#include "experiments/plan/order_search/order_hunt.hpp"
#include "experiments/plan/order_search/search_problem.hpp"
#include "schedules/search/order_problem.hpp"

namespace penstock {
namespace {

constexpr std::size_t most_named_rows = 8;

std::string gap_text(const HuntResult& result) {
  if (result.proven) return "proven: no order on the placements tried is shorter";
  if (result.bound.picoseconds <= 0) return "no bound is known";
  return fmt::format("at most {} above the bound of {}", percent_text(result.gap()),
                     short_time_text(result.bound));
}

/// Whether microbatches are left in an order in which another may be shorter.
bool keeps_microbatches(const HuntResult& result) {
  return !result.proven && microbatches_differ(result.run.layout);
}

std::string gain_text(const HuntResult& result) {
  const ComparedOrder* named = result.best_named();
  if (named == nullptr) return "no named order fits";
  const double gain = 1 - to_us(step_of(result.run)) / to_us(named->makespan);
  if (gain <= 0) return fmt::format("no shorter than {}, the best named order", named->name);
  return fmt::format("{} shorter than {}, the best named order", percent_text(gain), named->name);
}

/// The word of `run`, unless it is that the order fits.
std::string fit_note(const HuntResult& result) {
  if (worst_memory(result.run).word != MemoryWord::may_fit) return "";
  if (!result.unsure) return " (may fit)";
  return fmt::format(" (may fit; nothing was found within {})",
                     bytes_text(*result.run.layout.memory.usable_bytes()));
}

std::string found_text(const HuntResult& result) {
  const Report& report = *result.run.report;
  const auto fullest = std::ranges::max_element(report.ranks, {}, &RankReport::peak_activations);
  const std::uint64_t bytes = report.ranks[index(worst_of(report))].memory.bytes;
  return fmt::format(
      "step time  {}: {}\n"
      "           {}\n"
      "{}"
      "bubble     {} of the makespan\n"
      "memory     {} on the fullest rank{}, {} at most\n"
      "found by   {}, {} timed in {:.1f} s\n",
      compared_text(result.run), gain_text(result), gap_text(result),
      keeps_microbatches(result) ? "           microbatches differ, and keep their order\n" : "",
      percent_text(report.bubble.of_makespan), bytes_text(bytes), fit_note(result),
      counted(fullest->peak_activations, "activation"), result.origin,
      counted(result.evaluations, "order"), result.seconds);
}

/// What was chosen of the activations that the scenario recomputes.
std::string recomputed_text(const Layout& layout) {
  const auto& lists = layout.recompute.microbatches;
  if (lists.empty()) return "";
  std::size_t count = 0;
  for (const auto& list : lists) count += list.size();
  return fmt::format("recompute  {} of {} activations\n", count,
                     lists.size() * layout.microbatches);
}

std::string named_text(const HuntResult& result) {
  std::vector<std::vector<std::string>> rows{{"named order", "step time", "memory", ""}};
  for (const ComparedOrder& named : result.named) {
    if (rows.size() > most_named_rows) break;
    rows.push_back({named.name, short_time_text(named.makespan), bytes_text(named.peak_bytes),
                    !named.may_fit                      ? "out of memory"
                    : named.word == MemoryWord::may_fit ? "may fit"
                                                        : ""});
  }
  return aligned(rows, {0, 3});
}

ordered_json named_json(const HuntResult& result) {
  return list_json(result.named, [&](const ComparedOrder& named) -> ordered_json {
    return {{"name", named.name},
            {"makespan_us", to_us(named.makespan)},
            {"peak_memory_bytes", named.peak_bytes},
            {"fits", result.has_room(named)},
            {"memory", or_null(named.word, [](MemoryWord word) { return text(word); })}};
  });
}

ordered_json ranks_json(const Report& report) {
  ordered_json ranks = ordered_json::array();
  for (std::size_t r = 0; r < report.ranks.size(); ++r) {
    const RankReport& rank = report.ranks[r];
    ranks.push_back({{"rank", r},
                     {"busy_us", to_us(rank.busy)},
                     {"idle_us", to_us(rank.idle)},
                     {"peak_activations", rank.peak_activations},
                     {"peak_memory_bytes", rank.memory.bytes}});
  }
  return ranks;
}

/// Microbatches to recompute, in a section whose mode goes with them.
void write_choice(const std::vector<std::vector<std::uint32_t>>& lists, bool by_kind,
                  nlohmann::json& section) {
  if (section.is_object() && section.value("mode", "") == "except_last") {
    section["mode"] = "full";
    if (by_kind) section["unit"] = "stage";
  }
  section["microbatches"] = lists;
}

}  // namespace

std::string hunt_text(const HuntResult& result) {
  if (!result.fits) {
    return "no order was found that fits the memory\n\n" + named_text(result);
  }
  return found_text(result) + recomputed_text(result.run.layout) + "\n" + named_text(result);
}

ordered_json hunt_json(const HuntResult& result) {
  ordered_json document{{"penstock", 1}, {"found", result.fits}};
  if (result.fits) {
    const Report& report = *result.run.report;
    document["makespan_us"] = to_us(step_of(result.run));
    if (const auto& draws = result.run.repeated) document["draws"] = distribution_json(*draws);
    document["bubble"] = {{"of_makespan", report.bubble.of_makespan},
                          {"over_ideal", report.bubble.over_ideal},
                          {"of_longest_span", report.bubble.of_longest_span}};
    document["keeps_microbatch_order"] = keeps_microbatches(result);
    document["origin"] = result.origin;
    document["memory"] =
        or_null(worst_memory(result.run).word, [](MemoryWord word) { return text(word); });
    document["ranks"] = ranks_json(report);
    if (const auto& lists = result.run.layout.recompute.microbatches; !lists.empty()) {
      document["recomputed_microbatches"] = lists;
    }
  }
  const bool bounded = result.bound.picoseconds > 0;
  document["bound_us"] = bounded ? ordered_json(to_us(result.bound)) : ordered_json(nullptr);
  document["gap"] = bounded && result.fits ? ordered_json(result.gap()) : ordered_json(nullptr);
  document["proven"] = result.proven;
  document["interrupted"] = result.interrupted;
  document["evaluations"] = result.evaluations;
  document["seconds"] = result.seconds;
  document["named"] = named_json(result);
  return document;
}

std::string hunt_line(const HuntState& state) {
  constexpr SearchTime none = never;
  const bool found = state.best.picoseconds < none;
  std::string text = found ? "best " + short_time_text(state.best) : "nothing fits yet";
  if (state.bound.picoseconds <= 0) return text;
  text += ", bound " + short_time_text(state.bound);
  if (!found) return text;
  return text + ", gap " +
         percent_text(static_cast<double>(state.best.picoseconds) /
                          static_cast<double>(state.bound.picoseconds) -
                      1);
}

std::string scenario_with_order(const Scenario& scenario, const HuntResult& result,
                                const std::string& order_file, const std::string& folder) {
  namespace fs = std::filesystem;
  nlohmann::json document = moved_document(scenario, folder);
  set_order(document,
            {{"file", fs::proximate(order_file, folder.empty() ? "." : folder).generic_string()}});
  document["description"] = fmt::format("{} in a better order, written by penstock search",
                                        fs::path(scenario.source).filename().string());
  if (const auto& lists = result.run.layout.recompute.microbatches; !lists.empty()) {
    write_choice(lists, scenario.model.by_kind(), document["recompute"]);
  }
  document["parallel"]["pipeline"] = result.order.ranks();
  document["parallel"]["chunks"] = result.run.layout.placement.stage_count() / result.order.ranks();
  return document.dump(2) + "\n";
}

}  // namespace penstock
