#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "experiments/measure/calibration/calibration.hpp"
#include "experiments/run/layout/stage_demand.hpp"
#include "hardware_models/registry.hpp"
#include "schedules/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"
#include "sim/plan/lower.hpp"
#include "validate/calibration/term_model.hpp"
#include "validate/statistics/bootstrap.hpp"
#include "validate/statistics/summary.hpp"
#include "validate/store/layer_point.hpp"

namespace penstock {
namespace {

constexpr double tensor_bytes = 65536;
// For pipelines of layers.
constexpr std::uint32_t layers_of_rank = 2;
constexpr double tokens = 16;
constexpr double vocab = 64;

/// Work of a busy stage as a share of the mean: in an uneven pipeline it rises from 0.7 to 1.3.
double share_of(const std::string& family, std::uint32_t stage, std::uint32_t stages) {
  if (family != "uneven" || stages < 2) return 1;
  return 0.7 + 0.6 * stage / (stages - 1);
}

/// In a linked pipeline a tensor occupies its link for a third of a forward pass and arrives a
/// sixth later; in the others it arrives at once.
HardwareSpec hardware_of(const PipelineSetting& setting) {
  HardwareSpec spec;
  if (setting.family != "linked") return spec;
  spec.latency_us = setting.size / 6;
  spec.bandwidth_bytes_per_s = tensor_bytes / (setting.size / 3) * 1e6;
  return spec;
}

/// The layers of a stage: equally many on all ranks, and a loss at the end.
std::vector<LayerSpec> layers_of(const PipelineSetting& setting, std::uint32_t stage,
                                 std::uint32_t stages) {
  const LayerSpec mlp{.kind = "mlp",
                      .numbers = {{"hidden", setting.size}, {"intermediate", 4 * setting.size}}};
  std::vector<LayerSpec> layers(layers_of_rank * setting.ranks / stages, mlp);
  if (stage + 1 == stages) {
    layers.push_back({.kind = "head", .numbers = {{"hidden", setting.size}, {"vocab", vocab}}});
  }
  return layers;
}

/// The numbers of a layer and of its cell.
NamedNumbers cell_sizes(const LayerSpec& layer) {
  NamedNumbers sizes = layer.numbers;
  sizes["examples"] = 1;
  sizes["sequence"] = tokens;
  return sizes;
}

JobLayers job_layers(const PipelineSetting& setting, std::uint32_t stages) {
  JobLayers layers;
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    layers.stages.push_back(layers_of(setting, stage, stages));
  }
  layers.shape.sequence = tokens;
  layers.shape.activation_size = layers.shape.parameter_size = sizeof(double);
  return layers;
}

/// A time by the models, followed by that of each draw. Nanoseconds.
using Drawn = std::vector<double>;

void add(const Drawn& time, Drawn& sum) {
  if (sum.empty()) sum.resize(time.size());
  for (std::size_t i = 0; i < time.size(); ++i) sum[i] += time[i];
}

/// The median of samples, and of samples drawn from them with replacement.
Drawn medians(const std::vector<double>& samples, std::uint32_t draws) {
  Drawn times{median(samples)};
  const auto count = static_cast<std::uint32_t>(samples.size());
  for (std::uint32_t draw = 0; draw < draws; ++draw) {
    std::vector<double> drawn;
    for (std::uint32_t place = 0; place < count; ++place) {
      drawn.push_back(samples[drawn_number(1, "samples", draw, place, count)]);
    }
    times.push_back(median(std::move(drawn)));
  }
  return times;
}

/// Isolated durations of a setting's actions.
class AloneTimes {
 public:
  AloneTimes(const PipelineSetting& setting, std::uint32_t stages, const IsolatedTimes& kernels)
      : setting_(setting), stages_(stages), kernels_(kernels) {}

  /// The requested work of a busy stage. F, I and W take equally long; B is I and W.
  double asked_us(std::uint32_t stage, Pass pass) const {
    const double share = share_of(setting_.family, stage, stages_) * setting_.ranks / stages_;
    return setting_.size * share * (pass == Pass::backward ? 2 : 1);
  }

  Drawn of(std::uint32_t stage, Pass pass) const {
    if (!has_layers(setting_)) return by("busy", "", {{"ns", 1e3 * asked_us(stage, pass)}});
    Drawn sum;
    for (const LayerSpec& layer : layers_of(setting_, stage, stages_)) add(of(layer, pass), sum);
    return sum;
  }

 private:
  Drawn of(const LayerSpec& layer, Pass pass) const {
    const NamedNumbers sizes = cell_sizes(layer);
    if (pass == Pass::forward) return by(layer.kind, "forward", sizes);
    Drawn sum;
    if (gives_gradient(pass)) add(by(layer.kind, "backward_input", sizes), sum);
    if (ends_activation(pass)) add(by(layer.kind, "backward_weight", sizes), sum);
    return sum;
  }

  /// As measured at this very shape, or by the model.
  Drawn by(std::string_view kernel, std::string_view pass, const NamedNumbers& sizes) const {
    const TermModel& model = model_of(kernels_.models, kernel, pass)->terms;
    if (const SweptPoint* point = measured(kernel, pass, sizes)) {
      return medians(point->samples_ns, static_cast<std::uint32_t>(model.draws.size()));
    }
    const std::vector<double> terms = terms_at(kernel, pass, sizes);
    Drawn times{model.at(terms)};
    for (std::size_t draw = 0; draw < model.draws.size(); ++draw) {
      times.push_back(model.at(terms, draw));
    }
    return times;
  }

  const SweptPoint* measured(std::string_view kernel, std::string_view pass,
                             const NamedNumbers& sizes) const {
    for (const SweptPoint& one : kernels_.measured) {
      const KernelPoint& point = one.point.kernel;
      if (point.kernel == kernel && point.pass == pass && one.point.sizes == sizes) return &one;
    }
    return nullptr;
  }

  const PipelineSetting& setting_;
  std::uint32_t stages_;
  const IsolatedTimes& kernels_;
};

/// Stages with their requested times, or, for layers, with their expected times.
Layer stage_of(const PipelineSetting& setting, std::uint32_t stage, const AloneTimes& alone) {
  const auto us = [&](Pass pass) {
    return has_layers(setting) ? alone.of(stage, pass).front() / 1e3 : alone.asked_us(stage, pass);
  };
  Layer layer;
  layer.forward_us = us(Pass::forward);
  layer.backward_input_us = us(Pass::backward_input);
  layer.backward_weight_us = us(Pass::backward_weight);
  layer.activation_bytes = tensor_bytes;
  return layer;
}

Costs priced(const Plan& plan, const PipelineSetting& setting, std::uint32_t stages,
             const AloneTimes& alone) {
  ModelGraph model;
  Partition partition;
  for (const LayerIndex layer : Numbers<LayerIndex>(stages)) {
    model.layers.push_back(stage_of(setting, index(layer), alone));
    partition.stages.push_back({layer});
  }
  model.connect_as_chain();
  const auto hardware = find_named(cost_model_entries(), "ideal")->make(hardware_of(setting));
  return price(plan, model, partition, *hardware);
}

/// Fills in the isolated duration of each work class; links as in the job.
void add_alone_times(const AloneTimes& alone, Pipeline& pipeline) {
  const Plan& plan = pipeline.job.priced.plan;
  for (const Time time : pipeline.job.priced.costs.duration) {
    pipeline.alone_ns.push_back(static_cast<double>(to_ns(time)));
  }
  for (std::size_t work = 0; work < plan.classes.size(); ++work) {
    const WorkClass& kind = plan.classes[work];
    if (plan.is_link(kind.resource)) continue;
    const Drawn times = alone.of(plan.model_stage[index(kind.stage)], kind.pass);
    pipeline.alone_draws_ns.resize(times.size() - 1, pipeline.alone_ns);
    pipeline.alone_ns[work] = times.front();
    for (std::size_t draw = 0; draw + 1 < times.size(); ++draw) {
      pipeline.alone_draws_ns[draw][work] = times[draw + 1];
    }
  }
}

constexpr std::array<std::string_view, 3> busy_families{"even", "uneven", "linked"};
constexpr std::array<double, 3> busy_us{15, 30, 60};
constexpr std::array<double, 3> hidden_numbers{32, 48, 64};
constexpr std::array<std::string_view, 3> transferred_families{"even", "layers", "linked"};
constexpr std::array<std::string_view, 7> other_schedules{
    "gpipe", "eager-1f1b", "interleaved-1f1b", "looped-bfs", "zb-h1", "zb-h2", "zb-v"};
// Of each fit, trained and interpolated together.
constexpr std::size_t busy_inside = 18;
constexpr std::size_t layers_inside = 12;

/// All combinations of a grid. Busy families alternate, so that each occurs with all sizes.
std::vector<PipelineSetting> grid(std::uint32_t most_ranks, bool of_layers) {
  std::vector<PipelineSetting> all;
  for (const std::uint32_t ranks : {2U, 3U, 4U}) {
    for (const std::uint32_t microbatches : {4U, 8U, 12U}) {
      for (std::size_t size = 0; size < busy_us.size() && ranks <= most_ranks; ++size) {
        const std::string_view busy = busy_families[(all.size() / 3 + size) % 3];
        all.push_back({std::string(of_layers ? "layers" : busy), ranks, microbatches,
                       of_layers ? hidden_numbers[size] : busy_us[size]});
      }
    }
  }
  return all;
}

/// Each exceeds the grid in one size.
std::vector<PipelineSetting> beyond(std::uint32_t most_ranks, bool runs_layers) {
  std::vector<PipelineSetting> all{
      {"even", 6, 12, 30},   {"uneven", 8, 8, 30},  {"linked", 2, 32, 30},
      {"even", 4, 24, 30},   {"uneven", 2, 8, 150}, {"linked", 4, 8, 150},
      {"layers", 6, 12, 48}, {"layers", 2, 24, 48}, {"layers", 4, 8, 96}};
  std::erase_if(all, [&](const PipelineSetting& one) {
    return one.ranks > most_ranks || (has_layers(one) && !runs_layers);
  });
  return all;
}

/// Two of three are for training.
void add_inside(const std::vector<PipelineSetting>& settings, std::uint64_t seed, std::size_t most,
                std::vector<PipelineCase>& cases) {
  const std::vector<std::uint32_t> order =
      shuffled(seed, has_layers(settings.front()) ? "layers" : "pipelines", 0,
               static_cast<std::uint32_t>(settings.size()));
  for (std::size_t i = 0; i < order.size() && i < most; ++i) {
    cases.push_back(
        {settings[order[i]], "1f1b", i % 3 != 2 ? DataPart::training : DataPart::interpolation});
  }
}

}  // namespace

std::optional<Plan> plan_of(const PipelineCase& of) {
  const ScheduleEntry& entry = *find_named(schedule_entries(), of.schedule);
  const ScheduleOptions options{of.setting.microbatches, {}};
  try {
    const Placement placement = entry.place(of.setting.ranks, usual_chunks(entry, options));
    return std::get<Plan>(lower(make_schedule(entry, placement, options), placement));
  } catch (const RuleError&) {
    return std::nullopt;
  }
}

std::vector<SweepPoint> layer_passes_of(const std::vector<PipelineCase>& cases) {
  std::vector<SweepPoint> points;
  for (const PipelineCase& one : cases) {
    if (!has_layers(one.setting)) continue;
    // The only stage of a pipeline of one rank has layers of every kind.
    PipelineSetting whole = one.setting;
    whole.ranks = 1;
    for (const LayerSpec& layer : layers_of(whole, 0, 1)) {
      const NamedNumbers sizes = cell_sizes(layer);
      for (const char* pass : {"forward", "backward_input", "backward_weight"}) {
        KernelPoint point{layer.kind, pass, shape_text(sizes), std::string(solo_condition)};
        const auto known = std::find_if(points.begin(), points.end(), [&](const SweepPoint& each) {
          return each.kernel == point;
        });
        if (known == points.end()) points.push_back({.kernel = std::move(point), .sizes = sizes});
      }
    }
  }
  return points;
}

std::optional<Pipeline> pipeline_of(const PipelineCase& of, const IsolatedTimes& kernels) {
  auto plan = plan_of(of);
  if (!plan) return std::nullopt;
  const std::uint32_t stages = std::ranges::max(plan->model_stage) + 1;
  const AloneTimes alone(of.setting, stages, kernels);
  Costs costs = priced(*plan, of.setting, stages, alone);
  Pipeline pipeline{.name = fmt::format("{} {}", of.schedule, text(of.setting)),
                    .family = of.setting.family,
                    .work = has_layers(of.setting) ? "layers" : "busy",
                    .setting = text(of.setting),
                    .schedule = of.schedule,
                    .part = of.part,
                    .job = scaled_job({*std::move(plan), std::move(costs)})};
  if (has_layers(of.setting)) pipeline.job.layers = job_layers(of.setting, stages);
  add_alone_times(alone, pipeline);
  return pipeline;
}

bool has_layers(const PipelineSetting& setting) { return setting.family == "layers"; }

std::string text(const PipelineSetting& setting) {
  const std::string size =
      fmt::format(fmt::runtime(has_layers(setting) ? "h{}" : "{}us"), setting.size);
  return fmt::format("p{} m{} {} {}", setting.ranks, setting.microbatches, size, setting.family);
}

std::vector<PipelineCase> pipeline_cases(std::uint64_t seed, std::uint32_t most_ranks,
                                         bool runs_layers) {
  std::vector<PipelineCase> cases;
  add_inside(grid(most_ranks, false), seed, busy_inside, cases);
  if (runs_layers) add_inside(grid(most_ranks, true), seed, layers_inside, cases);
  const std::vector<PipelineCase> inside = cases;
  for (const PipelineSetting& setting : beyond(most_ranks, runs_layers)) {
    cases.push_back({setting, "1f1b", DataPart::extrapolation});
  }
  for (const std::string_view family : transferred_families) {
    // The first in a shuffled order.
    const auto one = std::find_if(inside.begin(), inside.end(), [&](const PipelineCase& each) {
      return each.setting.family == family && each.part == DataPart::training;
    });
    if (one == inside.end()) continue;
    for (const std::string_view schedule : other_schedules) {
      cases.push_back({one->setting, std::string(schedule), DataPart::transfer});
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

}  // namespace penstock
