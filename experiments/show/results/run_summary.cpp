#include "experiments/show/results/run_summary.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/run/batch/step_batch.hpp"
#include "experiments/run/batch_report.hpp"
#include "experiments/run/layout/exchanges.hpp"
#include "experiments/run/layout/spread.hpp"
#include "experiments/run/layout/training.hpp"
#include "experiments/run/module_report.hpp"
#include "experiments/run/throughput.hpp"
#include "experiments/show/results/cost_report.hpp"
#include "schedules/registry.hpp"
#include "sim/base/named.hpp"
#include "sim/base/numbers.hpp"
#include "sim/order/placement.hpp"
#include "sim/report/idle.hpp"
#include "sim/report/idle_sums.hpp"

namespace penstock {
namespace {

std::string line(const char* name, const std::string& text) {
  return fmt::format("{:<12} {}\n", name, text);
}

std::string times_text(const RunResult& result, TimeUnit unit) {
  const auto in_unit = [&](double us) {
    return fmt::format("{} {}", time_text(from_us(us), unit), unit.name);
  };
  std::string text =
      line(makespan_name(*result.plan),
           fmt::format("{} {}", time_text(result.report->makespan, unit), unit.name));
  if (result.steady_interval_us) {
    text += line("steady", in_unit(*result.steady_interval_us) + " per microbatch");
  }
  return text;
}

std::string throughput_text(const Throughput& throughput) {
  std::string text;
  if (throughput.tokens_per_s_per_device) {
    text = fmt::format("{} tokens/s/device, {} tokens/s, ",
                       number_text(*throughput.tokens_per_s_per_device),
                       number_text(*throughput.tokens_per_s));
  }
  return line("throughput", text + number_text(throughput.samples_per_s) + " samples/s");
}

std::string utilization_text(const Throughput& throughput) {
  if (!throughput.model_tflops_per_device) return "";
  std::string text = number_text(*throughput.model_tflops_per_device) + " TFLOP/s/device";
  if (throughput.model_flops_utilization) {
    text += fmt::format(", {} MFU, {} HFU (with recomputation)",
                        percent_text(*throughput.model_flops_utilization),
                        percent_text(*throughput.hardware_flops_utilization));
  }
  return line("utilization", text);
}

/// The rank with the highest peak, and the rest of what its allocator can use.
std::string memory_text(const RunResult& result) {
  if (result.report->ranks.empty()) return "";
  const BatchPeak worst = highest_peak(*result.report, result.batch);
  const std::uint64_t peak = worst.bytes;
  if (peak == 0) return "";
  std::string text = bytes_text(peak);
  const auto& capacity = result.layout.memory.capacity_bytes;
  if (capacity) {
    const std::uint64_t usable = *result.layout.memory.usable_bytes();
    const bool over = peak > usable;
    text += fmt::format(" of {}, {} {}", bytes_text(*capacity),
                        bytes_text(over ? peak - usable : usable - peak), over ? "over" : "left");
  }
  const bool is_shown = !result.batch || worst.replica == result.batch->slowest;
  const std::string whose = is_shown ? "" : fmt::format(" of replica {}", worst.replica);
  return line("memory", fmt::format("{} (worst rank: {}{})", text, index(worst.rank), whose)) +
         fit_text(result);
}

std::string bubble_text(const RunResult& result) {
  const Bubble& bubble = result.report->bubble;
  return line("bubble",
              fmt::format("{} of {}, {} over ideal, {} of the longest span",
                          percent_text(bubble.of_makespan), makespan_name(*result.plan),
                          percent_text(bubble.over_ideal), percent_text(bubble.of_longest_span)));
}

/// Groups of experts are made of the devices of the other degrees.
std::string experts_text(const Degrees& degrees) {
  const bool whole = degrees.expert_tensor < degrees.tensor;
  if (degrees.expert == 1 && !whole) return "";
  return fmt::format("; experts over {}{}", degrees.expert,
                     whole ? fmt::format(", each on {}", degrees.expert_tensor) : "");
}

/// " (2 chunks each)", or how many stages there are where ranks hold unequal numbers.
std::string chunks_text(const Layout& layout) {
  const Placement& placement = layout.placement;
  bool even = true;
  for (const Rank rank : Numbers<Rank>(placement.ranks())) {
    even = even && placement.stages_of(rank).size() == placement.stages_of(Rank{}).size();
  }
  if (!even && !layout.module && further_pieces(layout) == 0) {
    return fmt::format(" ({} stages)", placement.chains().front().size());
  }
  const std::uint32_t chunks = chunks_of(layout);
  return chunks > 1 ? fmt::format(" ({} chunks each)", chunks) : "";
}

std::string layout_text(const RunResult& result) {
  const Layout& layout = result.layout;
  const Degrees& degrees = layout.degrees;
  const StepBatch* batch = result.batch ? &result.batch->batch : nullptr;
  return line("layout", fmt::format("{}: {} pipeline{} × {} tensor × {} data × {} context{}",
                                    counted(devices_of(layout), "device"), pipeline_ranks(layout),
                                    chunks_text(layout), degrees.tensor, degrees.data,
                                    degrees.context, experts_text(degrees))) +
         line("batch", fmt::format("{}, global batch {}{}",
                                   counted(layout.microbatches, "microbatch", "microbatches"),
                                   number_text(samples_of(layout, batch)),
                                   batch != nullptr ? " documents" : ""));
}

std::string part_text(const PartReport& part, const LayoutModule& module) {
  const bool of_module = part.name == module.name;
  const char* where = !of_module ? "" : module.shares_devices ? ", shared" : " of its own";
  return line(
      part.name.c_str(),
      fmt::format("{}{}: {} pipeline × {} tensor × {} data{}; busy {}, bubble {}, {}",
                  counted(part.devices, "device"), where, part.pipeline, part.degrees.tensor,
                  part.degrees.data, of_module && module.frozen ? ", frozen" : "",
                  percent_text(part.busy), percent_text(part.bubble), bytes_text(part.peak_bytes)));
}

/// What each part of the model takes, where one has degrees of its own.
std::string parts_text(const RunResult& result) {
  std::string text;
  if (!result.layout.module) return text;
  for (const PartReport& part : part_reports(result)) {
    text += part_text(part, *result.layout.module);
  }
  return text;
}

/// The least and the most that a step takes, in microseconds.
StepInterval interval_of(const RunResult& result, const RunSpread& spread) {
  const StepInterval factors = step_interval(spread);
  const double us = to_us(result.report->makespan);
  return {us * factors.least, us * factors.most};
}

}  // namespace

std::string run_summary(const RunResult& result) {
  const TimeUnit unit = unit_for(result.report->makespan);
  return times_text(result, unit) + uncertainty_text(result) + throughput_text(result.throughput) +
         utilization_text(result.throughput) + memory_text(result) + bubble_text(result) +
         layout_text(result) + parts_text(result) +
         (result.training_cost ? line("training", cost_text(*result.training_cost)) : "");
}

std::string fit_text(const RunResult& result) {
  const JudgedMemory worst = worst_memory(result);
  if (!worst.word) return "";
  const auto& [least, most] = worst.interval;
  std::string text(penstock::text(*worst.word));
  if (least != most) text += fmt::format(": needs {} to {}", bytes_text(least), bytes_text(most));
  const std::uint64_t reserved = result.layout.memory.reserved_bytes();
  if (reserved > 0) {
    text += fmt::format("{} {} reserved for the allocator", least != most ? "," : ":",
                        bytes_text(reserved));
  }
  return line("fit", text);
}

const char* makespan_name(const Plan& plan) {
  if (!plan.class_names.empty()) return "recording";
  const ScheduleEntry* entry = find_named(schedule_entries(), plan.schedule);
  return entry == nullptr || entry->weights == WeightUse::flushed ? "step time" : "makespan";
}

std::string numbered_notes(const RunResult& result) {
  if (result.notes.empty()) return "";
  std::string text = "notes\n";
  for (std::size_t i = 0; i < result.notes.size(); ++i) {
    text += fmt::format("{:>2}. {}\n", i + 1, result.notes[i]);
  }
  return text;
}

std::uint32_t rank_of_task(const Plan& plan, TaskId task) {
  const std::uint32_t resource = plan.class_of(task).resource;
  if (!plan.is_link(resource)) return resource;
  const Link& link = plan.link(resource);
  return index(is_rank(link.from) ? link.from : link.to);
}

std::string place_text(const Plan& plan, std::uint32_t resource) {
  if (!plan.is_link(resource)) {
    return plan.rank_names.empty() ? fmt::format("rank {}", resource) : plan.rank_names[resource];
  }
  return "link " + text(plan.link(resource));
}

Rank busiest_of(const Report& report) {
  const auto found = std::ranges::max_element(report.ranks, {}, &RankReport::busy);
  return Rank{static_cast<std::uint32_t>(found - report.ranks.begin())};
}

bool knows_memory(const Report& report) {
  return std::ranges::any_of(report.ranks,
                             [](const RankReport& rank) { return rank.memory.bytes > 0; });
}

std::vector<BufferKind> kinds_held(const Report& report) {
  std::vector<BufferKind> kinds;
  for (std::uint8_t kind = 0; kind < buffer_kinds; ++kind) {
    const auto held = [&](const RankReport& rank) { return rank.memory.by_kind[kind] != 0; };
    if (std::ranges::any_of(report.ranks, held)) kinds.push_back(BufferKind{kind});
  }
  return kinds;
}

bool has_uncertainty(const RunResult& result) {
  return result.report && result.layout.hardware.confidence.has_value();
}

std::string uncertainty_text(const RunResult& result) {
  if (!has_uncertainty(result)) return "";
  const RunSpread spread = spread_of(result.layout);
  const StepInterval interval = interval_of(result, spread);
  const TimeUnit unit = unit_for(result.report->makespan);
  const std::string wider =
      spread.beyond.empty() ? "" : fmt::format("; wider: {}", fmt::join(spread.beyond, "; "));
  const Provenance& from = result.layout.hardware.confidence->provenance;
  const std::vector<std::pair<const char*, const std::vector<std::string>&>> origins{
      {"measured", from.measured}, {"fitted", from.fitted}, {"assumed", from.assumed}};
  const auto origin_text = [](const auto& origin) {
    const auto& [is, names] = origin;
    return names.empty() ? "" : fmt::format("{}: {}", is, fmt::join(names, ", "));
  };
  return line("interval",
              fmt::format("{} to {} {} ({:.0f} % of runs, by the spread of published ones{})",
                          time_text(from_us(interval.least), unit),
                          time_text(from_us(interval.most), unit), unit.name, 100 * interval_level,
                          wider)) +
         line("constants", joined(origins, origin_text, "; "));
}

ordered_json uncertainty_json(const RunResult& result) {
  const RunSize size = size_of(result.layout);
  const RunSpread spread = spread_of(*result.layout.hardware.confidence, size);
  const StepInterval interval = interval_of(result, spread);
  const Confidence& confidence = *result.layout.hardware.confidence;
  return {{"level", interval_level},
          {"least_us", interval.least},
          {"most_us", interval.most},
          {"spread", spread.value},
          {"because", spread.because},
          {"beyond", spread.beyond},
          {"kernel_us", size.kernel_us},
          {"expert_tokens", size.expert_tokens},
          {"measured", confidence.provenance.measured},
          {"fitted", confidence.provenance.fitted},
          {"assumed", confidence.provenance.assumed}};
}

std::string draw_run(PictureFormat format, const Plan& plan, const Timeline& timeline,
                     const std::string& title, const PictureOptions& options,
                     const TimelineExplanation& explanation) {
  const Time end = makespan(plan, timeline);
  IdleSums idle;
  for (const IdleCauses& of_rank : idle_causes(plan, timeline)) idle += of_rank;
  const double all = to_us(end) * plan.ranks;
  const TimeUnit unit = unit_for(end);
  std::string subtitle =
      fmt::format("{} {} {}", makespan_name(plan), time_text(end, unit), unit.name);
  if (plan.class_names.empty()) {
    subtitle += ", bubble " + percent_text(all == 0 ? 0 : us_of(idle.total()) / all);
  }
  return draw_timeline(format, plan, timeline,
                       {.title = title,
                        .subtitle = std::move(subtitle),
                        .options = options,
                        .explanation = explanation});
}

}  // namespace penstock
