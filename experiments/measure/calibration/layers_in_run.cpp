#include "experiments/measure/calibration/layers_in_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "experiments/run/layout/layout.hpp"
#include "experiments/run/simulation.hpp"
#include "experiments/run/stage_formats.hpp"
#include "sim/base/error.hpp"
#include "validate/calibration/kernel_sweep.hpp"
#include "validate/calibration/term_model.hpp"
#include "validate/machine/clock.hpp"
#include "validate/statistics/summary.hpp"
#include "validate/store/layer_point.hpp"
#include "validate/store/validity.hpp"

namespace penstock {
namespace {

constexpr std::uint32_t least_runs = 12;  // warm-up included
constexpr std::uint32_t most_runs = 200;
// While layers vary, runs take up to this many times as long.
constexpr double most_patience = 10;
// A sample covers so much work, unless too few are left.
constexpr double long_enough_ns = 200'000;
constexpr std::size_t least_samples = 8;

/// The scenario under 1F1B, with its own ranks and microbatches.
Scenario under_1f1b(const Scenario& scenario) {
  const Layout own = settle(scenario);
  const std::uint32_t microbatches =
      own.batch.microbatches.value_or(own.microbatches / std::max(own.slices, 1U));
  nlohmann::json schedule{{"name", "1f1b"}, {"microbatches", microbatches}};
  const nlohmann::json::json_pointer samples("/schedule/samples_per_microbatch");
  if (scenario.document->contains(samples)) {
    schedule["samples_per_microbatch"] = (*scenario.document)[samples];
  }
  return changed(scenario, {fmt::format("/parallel/pipeline={}", own.placement.ranks()),
                            "/parallel/data=1", "/schedule=" + schedule.dump()});
}

NamedNumbers stated(const NamedNumbers& numbers) {
  NamedNumbers all = numbers;
  std::erase_if(all, [](const auto& number) { return std::isnan(number.second); });
  return all;
}

/// The parts of a layer as points to measure, without their pass; empty for a layer without parts.
std::vector<LayerPoint> points_of_layer(const Layer& layer) {
  std::vector<LayerPoint> points;
  for (const LayerPart& part : layer.key.parts) {
    points.push_back({.kind = part.kind,
                      .pass = "",
                      .numbers = stated(part.numbers),
                      .amount = layer.key.examples,
                      .sequence = layer.key.sequence});
  }
  return points;
}

/// The model's layers in running order, without their pass.
std::vector<LayerPoint> layers_in_order(const Layout& layout) {
  std::vector<LayerPoint> layers;
  for (std::vector<LayerIndex> stage : layout.partition.stages) {
    std::sort(stage.begin(), stage.end());
    for (const LayerIndex layer : stage) {
      const std::vector<LayerPoint> own = points_of_layer(layout.model.layers[index(layer)]);
      layers.insert(layers.end(), own.begin(), own.end());
    }
  }
  return layers;
}

std::string pass_name(Pass pass) {
  if (pass == Pass::forward) return "forward";
  return pass == Pass::backward_input ? "backward_input" : "backward_weight";
}

/// The means of a cell over `together` iterations each, without the shortest and the longest.
std::vector<double> means_of(const std::vector<LayerSpent>& iterations, std::size_t together) {
  std::vector<double> means;
  for (std::size_t i = 0; i + together <= iterations.size(); i += together) {
    std::vector<double> batch;
    for (std::size_t each = i; each < i + together; ++each) {
      batch.push_back(iterations[each].ns / iterations[each].cells);
    }
    means.push_back(trimmed_mean(std::move(batch)));
  }
  return means;
}

/// Collects the time of each kind, shape and pass in every iteration.
class Samples {
 public:
  explicit Samples(std::vector<LayerPoint> layers) : layers_(std::move(layers)) {}

  void add(const TimesOfLayers& times) {
    std::map<std::size_t, LayerSpent> spent;  // by point
    for (const auto& [layer, one] : times) {
      if (layer.layer >= layers_.size()) continue;  // a loss that the model does not list
      LayerSpent& sum = spent[place_of(layer)];
      sum.ns += one.ns;
      sum.cells += one.cells;
    }
    for (const auto& [place, one] : spent) iterations_[place].push_back(one);
  }

  std::vector<SweptPoint> taken() const {
    std::vector<SweptPoint> points = points_;
    for (std::size_t place = 0; place < points.size(); ++place) {
      points[place].samples_ns = samples_in_run(iterations_[place]);
    }
    return points;
  }

  /// Whether all layers have enough samples that agree.
  bool are_steady() const {
    const std::vector<SweptPoint> points = taken();
    return !points.empty() && std::all_of(points.begin(), points.end(), [](const auto& point) {
      return point.samples_ns.size() >= least_samples &&
             (spread_of(point.samples_ns).deviation <= steady_deviation ||
              median_is_known(point.samples_ns));
    });
  }

 private:
  std::size_t place_of(const LayerPass& layer) {
    const auto [found, first] = places_.try_emplace(layer, points_.size());
    if (!first) return found->second;
    LayerPoint point = layers_[layer.layer];
    point.pass = pass_name(layer.pass);
    point.condition = in_run_condition;
    KernelPoint kernel = kernel_point(point);
    for (std::size_t place = 0; place < points_.size(); ++place) {
      if (points_[place].point.kernel == kernel) return found->second = place;
    }
    points_.push_back({{.kernel = std::move(kernel), .sizes = {}}, {}});
    iterations_.emplace_back();
    return found->second;
  }

  std::vector<LayerPoint> layers_;
  std::map<LayerPass, std::size_t> places_;
  std::vector<SweptPoint> points_;  // without samples
  std::vector<std::vector<LayerSpent>> iterations_;
};

LayersInRun not_in_run(std::string why) { return {.points = {}, .iterations = 0, .why_not = why}; }

LayersInRun measured_in_run(const Job& job, const BackendEntry& entry, const Layout& layout,
                            double seconds) {
  const auto backend = entry.make(job);
  Samples samples(layers_in_order(layout));
  const std::int64_t begin = monotonic_ns();
  const auto elapsed_s = [begin] { return 1e-9 * static_cast<double>(monotonic_ns() - begin); };
  LayersInRun result;
  const auto goes_on = [&](std::uint32_t run) {
    if (run < least_runs || elapsed_s() < seconds) return true;
    const bool is_judged = run % 4 == 0;  // to judge takes time too
    return !is_judged || (elapsed_s() < most_patience * seconds && !samples.are_steady());
  };
  for (std::uint32_t run = 0; run < most_runs && goes_on(run); ++run) {
    auto outcome = backend->run();
    if (const auto* halt = std::get_if<Standstill>(&outcome)) return not_in_run(halt->text);
    const bool warm = run >= least_runs / 3 && elapsed_s() > seconds / 8;
    if (!warm || !backend->disturbances().empty()) continue;
    samples.add(backend->layer_times());
    ++result.iterations;
  }
  result.points = samples.taken();
  if (result.points.empty()) return not_in_run("no iteration was clean");
  return result;
}

LayersInRun run_under_1f1b(const Scenario& scenario, const BackendEntry& backend, double seconds) {
  const Layout layout = with_codecs(settle(under_1f1b(scenario)));
  auto priced = Simulation(layout).priced_order();
  if (const auto* finding = std::get_if<Finding>(&priced)) return not_in_run(finding->text);
  if (auto obstacle = backend.obstacle(std::get<PricedPlan>(priced)))
    return not_in_run(obstacle->text);
  Job job =
      job_of(std::get<PricedPlan>(std::move(priced)), backend.length(layout.placement.ranks()));
  RealLayers real = real_layers(layout, layout.schedule, job.priced.plan);
  if (!real.layers) return not_in_run(real.why_not);
  job.layers = std::move(real.layers);
  {
    const auto warm = backend.make(job);
    warm->profile();
    use_measured(job, warm->profile());
  }
  job.layers->times_layers = true;
  return measured_in_run(job, backend, layout, seconds);
}

[[noreturn]] void refuse(const Scenario& scenario, const std::string& layer,
                         const std::string& why) {
  throw UsageError(
      fmt::format("{}: /model: {} cannot be measured: {}", scenario.source, layer, why));
}

void add(const Scenario& scenario, const std::string& layer, LayerPoint point,
         std::vector<KernelPoint>& points) {
  for (const char* pass : {"forward", "backward_input", "backward_weight"}) {
    point.pass = pass;
    KernelPoint kernel = kernel_point(point);
    if (std::find(points.begin(), points.end(), kernel) != points.end()) continue;
    if (!layer_sampler(point)) {
      refuse(scenario, layer,
             fmt::format("no kernel here runs {} of the kind \"{}\" at {}", pass, point.kind,
                         kernel.shape));
    }
    points.push_back(std::move(kernel));
  }
}

}  // namespace

std::vector<double> samples_in_run(const std::vector<LayerSpent>& iterations) {
  std::vector<double> lengths;
  for (const LayerSpent& one : iterations) lengths.push_back(one.ns);
  const double wanted = std::ceil(long_enough_ns / std::max(median(std::move(lengths)), 1.0));
  const std::size_t most = std::max<std::size_t>(1, iterations.size() / least_samples);
  std::vector<double> samples =
      means_of(iterations, static_cast<std::size_t>(std::min(wanted, static_cast<double>(most))));
  if (spread_of(samples).deviation <= steady_deviation) return samples;
  samples = means_of(iterations, most);
  if (spread_of(samples).deviation <= steady_deviation) return samples;
  // Means of few batches vary with phases of the machine; the median of many samples may be known.
  std::vector<double> singles = means_of(iterations, 1);
  return median_is_known(singles) ? singles : samples;
}

LayersInRun layers_in_run(const Scenario& scenario, const BackendEntry& backend, double seconds) {
  if (!backend.runs_layers) return not_in_run(fmt::format("{} runs no layers", backend.name));
  try {
    return run_under_1f1b(scenario, backend, seconds);
  } catch (const UsageError& error) {
    return not_in_run(error.what());
  } catch (const InputError& error) {
    return not_in_run(error.what());
  }
}

std::vector<KernelPoint> layer_points(const Scenario& scenario) {
  std::vector<KernelPoint> points;
  const Layout layout = settle(scenario);
  for (std::size_t i = 0; i < layout.model.layers.size(); ++i) {
    const Layer& layer = layout.model.layers[i];
    const std::string name =
        layer.name.empty() ? fmt::format("layer {}", i) : fmt::format("layer \"{}\"", layer.name);
    if (layer.key.parts.empty()) {
      refuse(scenario, name,
             layer.key.kind.empty() ? "it states its times; a layer with a \"kind\" can"
                                    : "a group of devices shares it");
    }
    for (LayerPoint& part : points_of_layer(layer)) add(scenario, name, std::move(part), points);
  }
  return points;
}

}  // namespace penstock
