#include "experiments/run/throughput.hpp"

#include <algorithm>
#include <vector>

#include "experiments/run/layout/spread.hpp"
#include "experiments/run/layout/stack_memory.hpp"
#include "experiments/run/layout/training.hpp"
#include "hardware_models/spec/machine.hpp"
#include "hardware_models/times/roofline_time.hpp"
#include "sim/base/random.hpp"

namespace penstock {
namespace {

/// FLOPs of the cells of one stage on one device.
struct StageFlops {
  double forward = 0;
  double backward = 0;
  double again = 0;  // recomputation
};

/// The model's FLOPs of F, but for kernels that are not repeated; or those of selected kernels.
double made_again(const Layer& layer, const StackConstants& stack) {
  if (layer.work.repeated == Repeated::nothing) return 0;
  const Extent extent = recomputed_extent(layer, stack);
  double repeated = 0, others = 0;
  for (const Kernel& kernel : layer.work.kernels) {
    if (kernel.pass != Pass::forward) continue;
    (extent.has(kernel) ? repeated : others) += kernel.flops * kernel.count;
  }
  return extent.selected_only ? repeated : layer.work.forward_flops - others;
}

std::vector<StageFlops> flops_of_stages(const Layout& layout) {
  const StackConstants stack = stack_of(layout);
  std::vector<StageFlops> stages;
  for (const std::vector<LayerIndex>& layers : layout.partition.stages) {
    StageFlops& stage = stages.emplace_back();
    for (const LayerIndex number : layers) {
      const Layer& layer = layout.model.layers[index(number)];
      stage.forward += layer.work.forward_flops;
      stage.backward += layer.work.backward_flops;
      stage.again += made_again(layer, stack);
    }
  }
  return stages;
}

/// FLOPs of a run: of the model, and of recomputation.
struct RunFlops {
  double model = 0;
  double again = 0;
};

/// The devices of a rank with a stage, over those of a rank of the pipeline.
double relative_devices(const Layout& layout, std::uint32_t stage) {
  const auto& module = layout.module;
  if (!module || module->shares_devices || stage >= module->stages) return 1;
  return static_cast<double>(module->devices_per_own_rank()) /
         static_cast<double>(devices_per_rank(layout.degrees));
}

bool has_flops(const StageFlops& stage) {
  return stage.forward > 0 || stage.backward > 0 || stage.again > 0;
}

RunFlops flops_of(const Plan& plan, const Layout& layout) {
  const std::vector<StageFlops> stages = flops_of_stages(layout);
  if (std::ranges::none_of(stages, has_flops)) return {};
  std::vector<double> tasks(plan.classes.size());
  for (const std::uint32_t work : plan.work) tasks[work] += 1;
  RunFlops flops;
  for (std::size_t c = 0; c < plan.classes.size(); ++c) {
    const WorkClass& work = plan.classes[c];
    if (is_transfer(work.pass)) continue;
    const std::uint32_t number = plan.model_stage[index(work.stage)];
    const StageFlops& stage = stages[number];
    const double each = tasks[c] * relative_devices(layout, number);
    if (work.pass == Pass::forward) flops.model += each * stage.forward;
    // A split backward counts fully at its W.
    if (ends_activation(work.pass)) flops.model += each * stage.backward;
    if (work.recomputes || work.pass == Pass::recompute) flops.again += each * stage.again;
  }
  return flops;
}

}  // namespace

Throughput throughput_of(const Layout& layout, const Plan& plan, Time makespan,
                         std::optional<double> peak_flops) {
  Throughput throughput;
  if (makespan == Time{}) return throughput;
  const double seconds = to_us(makespan) * 1e-6;
  throughput.samples_per_s = global_batch_of(layout) / seconds;
  if (layout.batch.sequence) {
    throughput.tokens_per_s = throughput.samples_per_s * *layout.batch.sequence;
    throughput.tokens_per_s_per_device =
        *throughput.tokens_per_s / static_cast<double>(devices_of(layout));
  }
  const RunFlops flops = flops_of(plan, layout);
  if (flops.model == 0) return throughput;
  // Each FLOP of a stage is that of one device of its rank.
  const double ranks = static_cast<double>(devices_of(layout)) /
                       static_cast<double>(devices_per_rank(layout.degrees));
  throughput.model_tflops_per_device = flops.model / (seconds * ranks) * 1e-12;
  if (!peak_flops) return throughput;
  const double possible = seconds * *peak_flops * ranks;
  throughput.model_flops_utilization = flops.model / possible;
  throughput.hardware_flops_utilization = (flops.model + flops.again) / possible;
  return throughput;
}

StepInterval step_interval(double spread) {
  const double factor = portable_exp(interval_deviations * spread);
  return {1 / factor, factor};
}

StepInterval step_interval(const RunSpread& spread) {
  const StepInterval known = step_interval(spread.value);
  return {known.least, std::max(known.most, spread.longer)};
}

}  // namespace penstock
