#include "validate/calibration/kernel_sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/error.hpp"
#include "sim/base/named.hpp"
#include "validate/machine/clock.hpp"
#include "validate/probes/registry.hpp"
#include "validate/probes/timing/probe_timing.hpp"
#include "validate/statistics/bootstrap.hpp"
#include "validate/statistics/summary.hpp"
#include "validate/store/layer_point.hpp"
#include "validate/training/stage_trial.hpp"

namespace penstock {
namespace {

std::optional<Sampler> sampler_of(const KernelPoint& point) {
  if (!point.pass.empty()) {
    // What runs around a pass is not known here.
    if (point.condition != solo_condition) return std::nullopt;
    const auto layer = layer_point(point);
    return layer ? layer_sampler(*layer) : std::nullopt;
  }
  const ProbeEntry* probe = find_named(probe_entries(), point.kernel);
  const auto sizes = shape_numbers(point.shape);
  if (probe == nullptr || !sizes) return std::nullopt;
  try {
    return probe->make(settled_numbers(probe->name, probe->sizes, *sizes));
  } catch (const InputError&) {
    return std::nullopt;
  }
}

/// Runs once untimed, so that what earlier kernels left in the caches does not affect the sample.
double warm_sample(const Sampler& sampler) {
  sampler();
  return sampler();
}

/// The number of samples that a sweep takes at the present rate, in whole rounds.
std::uint64_t expected_samples(std::uint64_t taken, double elapsed_s, std::uint32_t points,
                               const SweepLimits& limits) {
  const double in_time = static_cast<double>(taken) * limits.seconds / std::max(elapsed_s, 1e-9);
  const double rounds =
      std::clamp<double>(std::ceil(in_time / points), limits.least_rounds, limits.most_rounds);
  return std::max(taken, static_cast<std::uint64_t>(rounds) * points);
}

std::string text_of(const KernelPoint& point) {
  return fmt::format("{} {} {} {}", point.kernel, point.pass, point.shape, point.condition);
}

/// Collects points and assigns each to a part.
class PointList {
 public:
  explicit PointList(std::uint64_t seed) : seed_(seed) {}

  /// An end of a range: always training, whatever its hash, since nothing lies beyond it.
  void add_end(const std::string& kernel, const NamedNumbers& sizes) {
    add(kernel, "", sizes, DataPart::training);
  }
  void add(const std::string& kernel, const NamedNumbers& sizes, bool is_beyond) {
    add(kernel, "", sizes, part_of(kernel, sizes, is_beyond));
  }
  /// All passes of a layer, in the same part.
  void add_layer(const std::string& kind, const NamedNumbers& sizes, bool is_beyond) {
    for (const char* pass : {"forward", "backward_input", "backward_weight"}) {
      add(kind, pass, sizes, part_of(kind, sizes, is_beyond));
    }
  }

  std::vector<SweepPoint> points;

 private:
  /// A third of the inner points is held out.
  DataPart part_of(const std::string& kernel, const NamedNumbers& sizes, bool is_beyond) const {
    if (is_beyond) return DataPart::extrapolation;
    const bool kept_back = drawn_number(seed_, kernel + " " + shape_text(sizes), 0, 0, 3) == 0;
    return kept_back ? DataPart::interpolation : DataPart::training;
  }

  void add(const std::string& kernel, const std::string& pass, const NamedNumbers& sizes,
           DataPart part) {
    points.push_back({{kernel, pass, shape_text(sizes), "solo"}, sizes, part});
  }

  std::uint64_t seed_;
};

/// A random power of two between the bounds, in quarter steps of the exponent.
double drawn_size(std::uint64_t seed, std::string_view kernel, std::uint32_t shape,
                  std::uint32_t side, double low, double high) {
  const auto steps = static_cast<std::uint32_t>(4 * (high - low)) + 1;
  return std::round(std::exp2(low + drawn_number(seed, kernel, shape, side, steps) / 4.0));
}

void add_products(std::uint64_t seed, PointList& list) {
  constexpr std::uint32_t inside = 36, beyond = 8;
  for (std::uint32_t shape = 0; shape < inside + beyond; ++shape) {
    const bool is_beyond = shape >= inside;
    const auto size = [&](std::uint32_t side) {
      return is_beyond ? drawn_size(seed, "gemm", shape, side, 8.25, 8.75)
                       : drawn_size(seed, "gemm", shape, side, 5, 8);
    };
    list.add("gemm", {{"m", size(0)}, {"n", size(1)}, {"k", size(2)}}, is_beyond);
  }
}

/// Layers of pipelines, with their width and one more number.
void add_layers(std::uint64_t seed, const std::string& kind, const std::string& other,
                PointList& list) {
  constexpr std::uint32_t inside = 14, beyond = 4;
  for (std::uint32_t shape = 0; shape < inside + beyond; ++shape) {
    const bool is_beyond = shape >= inside;
    const auto size = [&](std::uint32_t side, double low, double high) {
      return is_beyond ? drawn_size(seed, kind, shape, side, high + 0.25, high + 0.75)
                       : drawn_size(seed, kind, shape, side, low, high);
    };
    list.add_layer(kind,
                   {{"hidden", size(0, 4.5, 6.5)},
                    {other, size(1, 6, 8.5)},
                    {"examples", 1},
                    {"sequence", size(2, 3, 6)}},
                   is_beyond);
  }
}

/// A kernel with one number. Values above `inside` are extrapolated to.
void add_row(PointList& list, const std::string& kernel, const std::string& number,
             const std::vector<double>& values, double inside) {
  for (const double value : values) {
    const bool is_end = value == values.front() || value == inside;
    is_end ? list.add_end(kernel, {{number, value}})
           : list.add(kernel, {{number, value}}, value > inside);
  }
}

/// From one power of two to another, two values per doubling, in whole words.
std::vector<double> doublings(int first, int last) {
  std::vector<double> values;
  for (int half = 2 * first; half <= 2 * last; ++half) {
    values.push_back(8 * std::round(std::exp2(half / 2.0) / 8));
  }
  return values;
}

constexpr double most_flops = 1e10;
constexpr double most_bytes = 1 << 30;

std::optional<Pass> pass_of(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, Pass>, 4> passes{
      {{"forward", Pass::forward},
       {"backward", Pass::backward},
       {"backward_input", Pass::backward_input},
       {"backward_weight", Pass::backward_weight}}};
  const auto* found = std::find_if(passes.begin(), passes.end(),
                                   [&](const auto& one) { return one.first == name; });
  return found == passes.end() ? std::nullopt : std::optional(found->second);
}

bool is_too_large(const LayerWork& work) {
  const double held = (work.held_parameters + work.held_expert_parameters) * sizeof(double);
  const double bytes = 3 * held + 3 * (work.kept_bytes + work.input_bytes + work.output_bytes);
  return bytes > most_bytes || work.forward_flops + work.backward_flops > most_flops;
}

/// A layer after the measured one. It is never run; without it the measured layer would be the last
/// of the model, followed by a loss.
LayerSpec follower(Columns columns, std::size_t numbers) {
  const auto count = static_cast<double>(numbers);
  if (columns == Columns::tokens) return {.kind = "norm", .numbers = {{"hidden", count}}};
  return {.kind = "conv",
          .numbers = {{"channels_in", count}, {"channels_out", 1}, {"height", 1}, {"width", 1}}};
}

/// The layer as the first stage of a model.
JobLayers model_around(const LayerSpec& spec, const CellShape& shape, const KernelEntry& kernel) {
  JobLayers layers{.stages = {{spec}}, .shape = shape};
  if (kernel.ends == Ends::last) return layers;
  const LayerNumbers numbers(all_numbers_of(spec));
  const std::size_t passed = kernel.rows_passed == nullptr ? 0 : kernel.rows_passed(numbers);
  layers.stages.push_back({follower(kernel.columns, kernel.rows_out(numbers) - passed)});
  return layers;
}

/// The first stage of a model, ready to run repeatedly.
class FirstStage {
 public:
  FirstStage(const JobLayers& layers, Pass pass)
      : layers_(layers),
        model_(layered_model(layers)),
        weights_(initial_weights(model_.stages.front(), layers.seed)),
        trial_(model_, 0, weights_, layers_),
        pass_(pass) {}

  /// Short passes are run many times per sample, so that no single one makes up much of it.
  double sample_ns() {
    constexpr double long_enough_ns = 100'000;
    constexpr std::size_t most_passes = 200;
    double sum = 0;
    std::vector<double> passes;
    while (passes.empty() || (sum < long_enough_ns && passes.size() < most_passes)) {
      passes.push_back(pass_ns());
      sum += passes.back();
    }
    return trimmed_mean(std::move(passes));
  }

 private:
  double pass_ns() {
    trial_.prepare(pass_, false);
    clock_.start();
    trial_.perform();
    return clock_.lap_ns();
  }

  JobLayers layers_;
  LayeredModel model_;
  LayerTensors weights_;
  StageTrial trial_;
  Pass pass_;
  WorkClock clock_;
};

}  // namespace

std::optional<std::vector<double>> sample_kernel(const KernelPoint& point, std::uint32_t repeats) {
  const auto sampler = sampler_of(point);
  if (!sampler) return std::nullopt;
  std::vector<double> samples;
  for (std::uint32_t i = 0; i < repeats; ++i) samples.push_back(warm_sample(*sampler));
  return samples;
}

Sweep sweep(const std::vector<SweepPoint>& points, std::uint64_t seed, const SweepLimits& limits) {
  Sweep swept;
  std::vector<Sampler> samplers;
  for (const SweepPoint& point : points) {
    auto sampler = sampler_of(point.kernel);
    if (!sampler) throw std::logic_error("nothing runs " + text_of(point.kernel));
    samplers.push_back(std::move(*sampler));
    swept.points.push_back({point, {}});
  }
  const Sampler canary = *sampler_of({"canary", "", "", "solo"});
  const Sampler clock = *sampler_of({"clock", "", "", "solo"});
  const std::int64_t begin = monotonic_ns();
  const auto elapsed_s = [begin] { return 1e-9 * static_cast<double>(monotonic_ns() - begin); };
  std::uint64_t taken = 0;
  while (swept.rounds < limits.most_rounds &&
         (swept.rounds < limits.least_rounds || elapsed_s() < limits.seconds)) {
    const auto count = static_cast<std::uint32_t>(points.size());
    for (const std::uint32_t i : shuffled(seed, "sweep", swept.rounds, count)) {
      swept.points[i].samples_ns.push_back(warm_sample(samplers[i]));
      ++taken;
      if (limits.on_sample)
        limits.on_sample(taken, expected_samples(taken, elapsed_s(), count, limits));
    }
    swept.canary_ns.push_back(warm_sample(canary));
    swept.clock_ns.push_back(clock());
    ++swept.rounds;
  }
  for (SweptPoint& point : swept.points) {
    point.samples_ns.erase(point.samples_ns.begin(), point.samples_ns.begin() + swept.rounds / 4);
  }
  return swept;
}

std::vector<SweepPoint> sweep_points(std::uint64_t seed) {
  PointList list(seed);
  add_products(seed, list);
  add_layers(seed, "mlp", "intermediate", list);
  add_layers(seed, "head", "vocab", list);
  add_row(list, "copy", "bytes", doublings(6, 22), 1 << 20);
  add_row(list, "handover", "bytes", doublings(6, 18), 1 << 16);
  for (const char* codec : {"bfp", "outlier-bfp", "nonuniform-bfp"}) {
    add_row(list, codec, "values", doublings(8, 14), 1 << 12);
  }
  add_row(list, "busy", "ns", doublings(10, 17), 1 << 15);
  add_row(list, "launch", "threads", {1, 2, 3, 4, 5, 6, 7, 8, 12, 16}, 8);
  return std::move(list.points);
}

std::uint64_t split_hash(const std::vector<SweepPoint>& points) {
  std::string all;
  for (const SweepPoint& point : points) {
    all += fmt::format("{} {} {}: {}\n", point.kernel.kernel, point.kernel.pass, point.kernel.shape,
                       name(point.part));
  }
  return text_hash(all);
}

std::optional<Sampler> layer_sampler(const LayerPoint& layer) {
  const KernelEntry* kernel = find_named(kernel_entries(), layer.kind);
  const auto pass = pass_of(layer.pass);
  if (kernel == nullptr || !pass) return std::nullopt;
  const LayerSpec spec{.kind = layer.kind, .numbers = layer.numbers};
  const CellShape shape = cell_shape(layer);
  try {
    if (is_too_large(work_of(spec, shape))) return std::nullopt;
    const JobLayers layers = model_around(spec, shape, *kernel);
    if (why_not_layers(layers)) return std::nullopt;
    const auto stage = std::make_shared<FirstStage>(layers, *pass);
    return [stage] { return stage->sample_ns(); };
  } catch (const InputError&) {
    return std::nullopt;
  }
}

}  // namespace penstock
