#pragma once

#include <cstdint>
#include <memory>

#include "sim/costs/priced_plan.hpp"
#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// The case of all benchmarks.
struct Case {
  Placement placement;
  Schedule schedule;
  ModelGraph model;
  Partition partition;
  std::unique_ptr<HardwareModel> hardware;
};

/// The shared 1F1B case: F 1 ms, B 2 ms, 8 MiB activations and gradients, one link each way between
/// neighbours with 25e9 bytes/s and 2 us.
Case shared_case(std::uint32_t ranks, std::uint32_t microbatches);

Plan lowered(const Case& of);
Costs priced(const Case& of, const Plan& plan);
/// Lowered and priced.
PricedPlan priced(const Case& of);

}  // namespace penstock
