#include "experiments/run/training_cost.hpp"

#include "hardware_models/spec/machine.hpp"

namespace penstock {

double watts_of(const Layout& layout) {
  const auto& machine = layout.hardware.spec.machine;
  return machine ? watts_at_work(machine->device) : 0;
}

std::optional<TrainingCost> cost_of(const WholeTraining& training, const Throughput& throughput,
                                    std::uint64_t devices, double watts) {
  const double per_s = throughput.tokens_per_s.value_or(throughput.samples_per_s);
  if (!training.tokens || per_s <= 0) return std::nullopt;
  constexpr double hours_of_day = 24;
  TrainingCost cost{.tokens = *training.tokens, .are_examples = !throughput.tokens_per_s};
  const double hours = cost.tokens / per_s / 3600;
  const double device_hours = hours * static_cast<double>(devices);
  cost.days = hours / hours_of_day;
  if (training.price_per_device_hour) cost.cost = device_hours * *training.price_per_device_hour;
  if (watts > 0) cost.energy_mwh = device_hours * watts * 1e-6;
  return cost;
}

TrainingCost scaled(TrainingCost cost, double ratio) {
  cost.days *= ratio;
  if (cost.cost) *cost.cost *= ratio;
  if (cost.energy_mwh) *cost.energy_mwh *= ratio;
  return cost;
}

}  // namespace penstock
