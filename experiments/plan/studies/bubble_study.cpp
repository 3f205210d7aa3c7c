#include "experiments/plan/studies/bubble_study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>
#include <variant>

#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/orders/memory_need.hpp"
#include "experiments/run/layout/stage_demand.hpp"
#include "hardware_models/registry.hpp"
#include "schedules/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"
#include "sim/engines/events.hpp"
#include "sim/plan/lower.hpp"
#include "sim/report/report.hpp"

namespace penstock {
namespace {

constexpr std::uint32_t most_microbatches = 65'536;
constexpr std::uint32_t most_studied_ranks = 1024;
constexpr std::uint32_t most_usual_microbatches = 256;
constexpr std::uint32_t most_chunks_a_rank = 64;

const ScheduleEntry& entry_of(const std::string& name) {
  if (const ScheduleEntry* entry = find_named(schedule_entries(), name)) return *entry;
  throw UsageError("--schedules: " + unknown_text(fmt::format("schedule \"{}\"", name),
                                                  meant_schedule(name),
                                                  names_of(schedule_entries())));
}

/// A text as a number from 1 to `most`; nothing otherwise.
std::optional<std::uint32_t> count_in(std::string_view text, std::uint32_t most) {
  const auto count = whole_number<std::uint32_t>(text);
  return count && *count > 0 && *count <= most ? count : std::nullopt;
}

std::vector<std::string> words_in(const std::string& list) {
  std::vector<std::string> words;
  std::istringstream stream(list);
  for (std::string word; std::getline(stream, word, ',');) words.push_back(word);
  return words;
}

/// Equal layers, one per model stage, on the ranks of a placement.
std::pair<ModelGraph, Partition> equal_stages(const Placement& placement) {
  std::uint32_t count = 0;
  for (const Stage stage : placement.stages()) {
    count = std::max(count, placement.position(stage) + 1);
  }
  ModelGraph model;
  Partition partition;
  for (const LayerIndex layer : Numbers<LayerIndex>(count)) {
    Layer equal;
    equal.forward_us = equal.backward_input_us = equal.backward_weight_us = 1;
    equal.backward_us = 2;
    model.layers.push_back(equal);
    partition.stages.push_back({layer});
  }
  model.connect_as_chain();
  return {std::move(model), std::move(partition)};
}

double bubble_of(const Bubble& bubble, BubbleKind kind) {
  if (kind == BubbleKind::over_ideal) return bubble.over_ideal;
  return kind == BubbleKind::of_makespan ? bubble.of_makespan : bubble.of_longest_span;
}

/// A closed form, which is a share of the makespan, as another bubble. All ranks work equally long,
/// so the ideal is the work of a rank. The longest span of a rank has no closed form.
double converted(double of_makespan, BubbleKind kind) {
  if (kind == BubbleKind::of_makespan) return of_makespan;
  return kind == BubbleKind::over_ideal ? of_makespan / (1 - of_makespan) : std::nan("");
}

/// The bubble of one simulated run. Throws RuleError.
double simulated_bubble(const ScheduleEntry& entry, const Placement& placement,
                        std::uint32_t microbatches, BubbleKind kind) {
  const auto [model, partition] = equal_stages(placement);
  const ScheduleOptions options{microbatches, {}};
  need_memory_for(fmt::format("--schedules: {}", entry.name), placement, options,
                  entry.slices_for == nullptr ? 1 : entry.slices_for(options), CellBytes::run);
  PricedPlan priced;
  priced.plan = std::get<Plan>(lower(make_schedule(entry, placement, options), placement));
  const auto hardware = find_named(cost_model_entries(), "ideal")->make({});
  priced.costs = price(priced.plan, model, partition, *hardware);
  return bubble_of(summarize(priced.plan, priced.costs, relax(priced)).bubble, kind);
}

Placement placement_of(const ScheduleEntry& entry, const StudiedSchedule& what,
                       std::uint32_t ranks) {
  try {
    return place_stages(entry, ranks, what.chunks, {1, {}}, fmt::format(": write {}:", what.name));
  } catch (const RuleError& error) {
    throw UsageError(fmt::format("--schedules {}:{}: {}", what.name, what.chunks, error.what()));
  }
}

std::string name_of(BubbleKind kind) { return bubble_kinds()[static_cast<std::size_t>(kind)]; }

std::string label_of(BubbleKind kind) {
  constexpr std::array labels{"idle share of the makespan", "makespan over the ideal, minus 1",
                              "idle share of the longest span of a rank"};
  return labels[static_cast<std::size_t>(kind)];
}

bool has_closed_form(const BubblePlot& plot) {
  return std::ranges::any_of(plot.series,
                             [](const auto& series) { return !series.closed_form.empty(); });
}

BubbleSeries series_of(const StudiedSchedule& what, const BubbleStudy& study) {
  const ScheduleEntry& entry = entry_of(what.name);
  const Placement placement = placement_of(entry, what, study.ranks);
  BubbleSeries series;
  series.name = what.chunks == entry.default_chunks && entry.default_chunks == 1
                    ? what.name
                    : fmt::format("{}, {} chunks", what.name, what.chunks);
  for (const std::uint32_t m : study.microbatches) {
    try {
      series.simulated.emplace_back(m, simulated_bubble(entry, placement, m, study.kind));
    } catch (const RuleError& error) {
      series.missing.emplace_back(m, error.what());
      continue;  // the closed form does not hold either
    }
    if (entry.bubble_of_makespan == nullptr) continue;
    const double closed =
        converted(entry.bubble_of_makespan(study.ranks, what.chunks, m), study.kind);
    if (!std::isnan(closed)) series.closed_form.emplace_back(m, closed);
  }
  return series;
}

}  // namespace

std::vector<std::string> bubble_kinds() { return {"of_makespan", "over_ideal", "of_longest_span"}; }

BubbleKind bubble_kind_of(const std::string& name) {
  const std::vector<std::string> all = bubble_kinds();
  const auto found = std::find(all.begin(), all.end(), name);
  if (found == all.end()) {
    throw UsageError("--bubble: " + unknown_text(fmt::format("\"{}\"", name), name, all));
  }
  return BubbleKind{static_cast<std::uint8_t>(found - all.begin())};
}

std::vector<StudiedSchedule> usual_schedules() {
  return {{"naive", 1}, {"gpipe", 1}, {"1f1b", 1}, {"interleaved-1f1b", 2}, {"interleaved-1f1b", 4},
          {"zb-h1", 1}, {"zb-h2", 1}, {"zb-v", 2}, {"interleaved-zb", 2},   {"v-half", 2},
          {"v-min", 2}};
}

std::vector<StudiedSchedule> schedules_in(const std::string& list) {
  std::vector<StudiedSchedule> schedules;
  for (const std::string& word : words_in(list)) {
    const std::size_t colon = word.find(':');
    const std::string name = word.substr(0, colon);
    const std::uint32_t usual = usual_chunks(entry_of(name), {1, {}});
    const auto chunks =
        colon == std::string::npos
            ? std::optional(usual)
            : count_in(std::string_view(word).substr(colon + 1), most_chunks_a_rank);
    if (!chunks) {
      throw UsageError(
          fmt::format("--schedules {}: after the colon comes a number of chunks from 1 "
                      "to {}, as in interleaved-1f1b:2",
                      word, most_chunks_a_rank));
    }
    schedules.push_back({name, *chunks});
  }
  return schedules;
}

std::vector<std::uint32_t> microbatches_in(const std::string& list) {
  std::vector<std::uint32_t> counts;
  if (list.empty()) {
    for (std::uint32_t m = 1; m <= most_usual_microbatches; m *= 2) counts.push_back(m);
  }
  for (const std::string& word : words_in(list)) {
    const auto count = count_in(word, most_microbatches);
    if (!count) {
      throw UsageError(
          fmt::format("--microbatches: \"{}\" is no number from 1 to {}; a list is like 1,2,4",
                      word, most_microbatches));
    }
    counts.push_back(*count);
  }
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

BubblePlot bubble_study(const BubbleStudy& study) {
  if (study.ranks < 2 || study.ranks > most_studied_ranks) {
    throw UsageError(
        fmt::format("the bubble study has 2 to {} ranks, not {}", most_studied_ranks, study.ranks));
  }
  BubblePlot plot;
  plot.title = fmt::format("Pipeline bubble on {} ranks", study.ranks);
  plot.x_label = "microbatches";
  plot.kind = name_of(study.kind);
  plot.y_label = label_of(study.kind);
  for (const StudiedSchedule& what : study.schedules) plot.series.push_back(series_of(what, study));
  plot.subtitle =
      fmt::format("equal stages, B = 2F, I = W = F, free links; lines with markers: simulated{}",
                  has_closed_form(plot) ? ", thin: closed form" : "");
  return plot;
}

std::vector<std::string> missing_points(const BubblePlot& plot) {
  std::vector<std::string> lines;
  for (const BubbleSeries& series : plot.series) {
    if (series.missing.empty()) continue;
    std::vector<double> microbatches;
    for (const auto& [count, why] : series.missing) microbatches.push_back(count);
    lines.push_back(fmt::format("{}: no point at {} microbatches: {}", series.name,
                                fmt::join(microbatches, ", "), series.missing.front().second));
  }
  return lines;
}

}  // namespace penstock
