#include "experiments/studies/bubble_study.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "experiments/layout/stage_demand.hpp"
#include "hardware_models/registry.hpp"
#include "schedules/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"
#include "sim/engines/relax.hpp"
#include "sim/plan/lower.hpp"
#include "sim/report/report.hpp"

namespace penstock {
namespace {

struct Studied {
  const char* schedule;
  std::uint32_t chunks;
};
constexpr std::array<Studied, 5> studied{
    {{"naive", 1}, {"gpipe", 1}, {"1f1b", 1}, {"interleaved-1f1b", 2}, {"interleaved-1f1b", 4}}};
constexpr std::uint32_t most_microbatches = 256;
constexpr std::uint32_t most_ranks = 64;

/// The bubble of one simulated run.
double simulated_bubble(const ScheduleEntry& entry, const Placement& placement,
                        std::uint32_t microbatches) {
  ModelGraph model;
  Partition partition;
  for (LayerIndex layer : Numbers<LayerIndex>(placement.stage_count())) {
    model.layers.push_back({.forward_us = 1, .backward_us = 2});
    partition.stages.push_back({layer});
  }
  model.connect_as_chain();
  PricedPlan priced;
  priced.plan =
      std::get<Plan>(lower(make_schedule(entry, placement, {microbatches, {}}), placement));
  const auto hardware = find_named(cost_model_entries(), "ideal")->make({});
  priced.costs = price(priced.plan, model, partition, *hardware);
  return summarize(priced.plan, priced.costs, relax(priced)).bubble.of_makespan;
}

BubbleSeries series_of(const Studied& what, std::uint32_t ranks) {
  const ScheduleEntry& entry = *find_named(schedule_entries(), what.schedule);
  const Placement placement = entry.place(ranks, what.chunks);
  BubbleSeries series;
  series.name =
      what.chunks == 1 ? what.schedule : fmt::format("{}, {} chunks", what.schedule, what.chunks);
  for (std::uint32_t m = 1; m <= most_microbatches; m *= 2) {
    // A group must divide the microbatches or leave enough over, which other sizes do not.
    if (what.chunks > 1 && m >= ranks && m % ranks != 0) continue;
    series.simulated.emplace_back(m, simulated_bubble(entry, placement, m));
    const double closed = entry.bubble_of_makespan(ranks, what.chunks, m);
    if (!std::isnan(closed)) series.closed_form.emplace_back(m, closed);
  }
  return series;
}

}  // namespace

BubblePlot bubble_study(std::uint32_t ranks) {
  if (ranks < 2 || ranks > most_ranks) {
    throw UsageError(
        fmt::format("the bubble study is about 2 to {} ranks, not {}", most_ranks, ranks));
  }
  BubblePlot plot;
  plot.title = fmt::format("Pipeline bubble on {} ranks", ranks);
  plot.subtitle =
      "equal stages, B = 2F, free links; lines with markers: simulated, thin: closed form";
  plot.x_label = "microbatches";
  plot.y_label = "idle share of the makespan";
  for (const Studied& what : studied) {
    BubbleSeries series = series_of(what, ranks);
    // Schedules with one and the same bubble share a line, which two would only hide.
    if (!plot.series.empty() && plot.series.back().simulated == series.simulated) {
      plot.series.back().name += ", " + series.name;
    } else {
      plot.series.push_back(std::move(series));
    }
  }
  return plot;
}

}  // namespace penstock
