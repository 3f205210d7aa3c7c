#pragma once

#include <cstdint>
#include <vector>

#include "sim/plan/plan.hpp"

namespace penstock {

/// Puts transfers that are ready at one moment in the order in which they get in line.
class ArrivalOrder {
 public:
  explicit ArrivalOrder(const Plan& plan) : plan_(plan) {}

  /// By the parts of a cell as listed, those of the tail behind others, then the lower stage first,
  /// then the lower ranks. What a rank makes in several cells, which take no time then, keeps its
  /// order.
  void sort(std::vector<TaskId>& ready);

 private:
  struct Arrival {
    std::uint32_t made_on;  // a rank; of a transfer that waits for several tasks, its own link
    TaskId maker;           // the action that made it; of such a transfer, itself
    TaskId cell;
    TaskId transfer;
    std::uint64_t place;  // among all: by cells before, part of the cell, and class
  };

  void order_classes();
  Arrival arrival_of(TaskId transfer) const;
  Arrival early_reduction(TaskId transfer, std::uint64_t place) const;
  void count_cells();

  const Plan& plan_;
  std::vector<std::uint32_t> place_of_class_;  // filled in when first needed
  std::vector<Arrival> arrivals_;              // of one moment; kept for its memory
};

}  // namespace penstock
