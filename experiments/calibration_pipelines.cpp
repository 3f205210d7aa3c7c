#include "experiments/calibration_pipelines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "hardware_models/registry.hpp"
#include "schedules/registry.hpp"
#include "sim/error.hpp"
#include "sim/lower.hpp"
#include "sim/named.hpp"
#include "validate/bootstrap.hpp"

namespace penstock {
namespace {

constexpr double tensor_bytes = 65536;
constexpr std::array<std::string_view, 3> families{"even", "uneven", "linked"};
constexpr std::array<std::string_view, 7> other_schedules{
    "gpipe", "eager-1f1b", "interleaved-1f1b", "looped-bfs", "zb-h1", "zb-h2", "zb-v"};
constexpr std::size_t trained = 12, interpolated = 6, transferred = 3;

/// Every combination of a grid. The family goes round, so that each meets all sizes.
std::vector<PipelineSetting> grid(std::uint32_t most_ranks) {
  std::vector<PipelineSetting> all;
  for (const std::uint32_t ranks : {2U, 3U, 4U}) {
    for (const std::uint32_t microbatches : {4U, 8U, 12U}) {
      for (const double forward_us : {15.0, 30.0, 60.0}) {
        if (ranks > most_ranks) continue;
        const std::string family(families[all.size() % families.size()]);
        all.push_back({family, ranks, microbatches, forward_us});
      }
    }
  }
  return all;
}

/// Beyond the grid in one of its sizes each.
std::vector<PipelineSetting> beyond(std::uint32_t most_ranks) {
  std::vector<PipelineSetting> all{{"even", 6, 12, 30},   {"uneven", 8, 8, 30},
                                   {"linked", 2, 32, 30}, {"even", 4, 24, 30},
                                   {"uneven", 2, 8, 150}, {"linked", 4, 8, 150}};
  std::erase_if(all, [&](const PipelineSetting& one) { return one.ranks > most_ranks; });
  return all;
}

/// What a family makes of a stage, as a share of the mean: the stages of an uneven pipeline rise
/// from 0.7 to 1.3 times it.
double share_of(const std::string& family, std::uint32_t stage, std::uint32_t stages) {
  if (family != "uneven" || stages < 2) return 1;
  return 0.7 + 0.6 * stage / (stages - 1);
}

Layer stage_of(const PipelineSetting& setting, std::uint32_t stage, std::uint32_t stages) {
  const double us =
      setting.forward_us * share_of(setting.family, stage, stages) * setting.ranks / stages;
  Layer layer;
  layer.forward_us = us;
  layer.backward_input_us = us;
  layer.backward_weight_us = us;
  layer.activation_bytes = tensor_bytes;
  return layer;
}

/// A tensor of a linked pipeline holds its link for a third of a forward pass and arrives a sixth
/// of one later; in the others it is there at once.
HardwareSpec hardware_of(const PipelineSetting& setting) {
  HardwareSpec spec;
  if (setting.family != "linked") return spec;
  spec.latency_us = setting.forward_us / 6;
  spec.bandwidth_bytes_per_s = tensor_bytes / (setting.forward_us / 3) * 1e6;
  return spec;
}

Costs priced(const Plan& plan, const PipelineSetting& setting, std::uint32_t stages) {
  ModelGraph model;
  Partition partition;
  for (const LayerIndex layer : Numbers<LayerIndex>(stages)) {
    model.layers.push_back(stage_of(setting, index(layer), stages));
    partition.stages.push_back({layer});
  }
  model.connect_as_chain();
  const auto hardware = find_named(cost_model_entries(), "ideal")->make(hardware_of(setting));
  return price(plan, model, partition, *hardware);
}

double busy_ns(const KernelModel& busy, std::int64_t asked_ns, std::optional<std::size_t> draw) {
  if (asked_ns <= 0) return 0;
  const NamedNumbers sizes{{"ns", static_cast<double>(asked_ns)}};
  return draw ? busy.at(sizes, *draw) : busy.at(sizes);
}

/// By work class what it takes alone; links what the job says.
std::vector<double> alone(const Job& job, const KernelModel& busy,
                          std::optional<std::size_t> draw = {}) {
  std::vector<double> all;
  for (std::size_t work = 0; work < job.work_ns.size(); ++work) {
    const bool moves = job.plan.is_link(job.plan.classes[work].resource);
    const std::int64_t asked_ns = job.work_ns[work];
    all.push_back(moves ? static_cast<double>(asked_ns) : busy_ns(busy, asked_ns, draw));
  }
  return all;
}

}  // namespace

std::string text(const PipelineSetting& setting) {
  return fmt::format("p{} m{} {}us {}", setting.ranks, setting.microbatches, setting.forward_us,
                     setting.family);
}

std::vector<PipelineCase> pipeline_cases(std::uint64_t seed, std::uint32_t most_ranks) {
  const std::vector<PipelineSetting> inside = grid(most_ranks);
  const std::vector<std::uint32_t> order =
      shuffled(seed, "pipelines", 0, static_cast<std::uint32_t>(inside.size()));
  std::vector<PipelineCase> cases;
  for (std::size_t i = 0; i < order.size() && i < trained + interpolated; ++i) {
    const bool trains = i % 3 != 2;
    cases.push_back(
        {inside[order[i]], "1f1b", trains ? PipelinePart::training : PipelinePart::interpolation});
  }
  for (const PipelineSetting& setting : beyond(most_ranks)) {
    cases.push_back({setting, "1f1b", PipelinePart::extrapolation});
  }
  // The first ones trained on: the order is that of a shuffle.
  std::size_t left = transferred;
  for (std::size_t i = 0; left > 0 && i < order.size(); ++i) {
    if (cases[i].part != PipelinePart::training) continue;
    --left;
    for (const std::string_view schedule : other_schedules) {
      cases.push_back({cases[i].setting, std::string(schedule), PipelinePart::transfer});
    }
  }
  return cases;
}

std::uint64_t split_hash(const std::vector<PipelineCase>& cases) {
  std::string all;
  for (const PipelineCase& one : cases) {
    all += fmt::format("{} {}: {}\n", one.schedule, text(one.setting), name(one.part));
  }
  return text_hash(all);
}

std::optional<Job> job_of(const PipelineCase& of) {
  const ScheduleEntry& entry = *find_named(schedule_entries(), of.schedule);
  const ScheduleOptions options{of.setting.microbatches, {}};
  try {
    const Placement placement = entry.place(of.setting.ranks, usual_chunks(entry, options));
    Plan plan = std::get<Plan>(lower(make_schedule(entry, placement, options), placement));
    const auto stages = static_cast<std::uint32_t>(placement.chains().front().size());
    const Costs costs = priced(plan, of.setting, stages);
    return scaled_job(std::move(plan), costs);
  } catch (const RuleError&) {
    return std::nullopt;
  }
}

std::optional<Pipeline> pipeline_of(const PipelineCase& of, const KernelModel& busy) {
  auto job = job_of(of);
  if (!job) return std::nullopt;
  Pipeline pipeline{.name = fmt::format("{} {}", of.schedule, text(of.setting)),
                    .family = of.setting.family,
                    .setting = text(of.setting),
                    .schedule = of.schedule,
                    .part = of.part,
                    .job = std::move(*job)};
  pipeline.alone_ns = alone(pipeline.job, busy);
  for (std::size_t draw = 0; draw < busy.terms.draws.size(); ++draw) {
    pipeline.alone_draws_ns.push_back(alone(pipeline.job, busy, draw));
  }
  return pipeline;
}

}  // namespace penstock
