#include "validate/calibration/layer_sampler.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "sim/base/error.hpp"
#include "sim/base/named.hpp"
#include "validate/machine/work_clock.hpp"
#include "validate/statistics/summary.hpp"
#include "validate/training/stage_trial.hpp"

namespace penstock {
namespace {

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
