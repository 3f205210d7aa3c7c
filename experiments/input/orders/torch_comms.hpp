#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/input/orders/torch_version.hpp"
#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// How an order is lowered.
struct Lowering {
  TorchVersion version = newest_torch;
  bool fsdp = false;  // with UNSHARD and RESHARD, as PyTorch always lowers
};

/// An order in PyTorch's notation with communication, lowered as the runtime of that version lowers
/// it: REDUCE_GRAD, sends and receives, and waits, where the version has them. Without REDUCE_GRAD
/// its runtime would not divide gradients by the number of microbatches. Each SEND follows the cell
/// that computes its tensor; each RECV is where the sweep over ranks put it. Throws RuleError for
/// an order that deadlocks, and for actions that the notation cannot express (use `torch_order`
/// first).
std::string write_torch_comms(const Schedule& schedule, const Placement& placement,
                              const Lowering& lowering);

/// A set of small numbers that lists them as CPython's `set` does: by place in its hash table. The
/// lowerings of PyTorch before 2.15 go through such a set, so their cells follow that order.
class PythonSet {
 public:
  void insert(std::uint32_t value);
  void erase(std::uint32_t value);
  bool contains(std::uint32_t value) const;
  std::vector<std::uint32_t> values() const;

 private:
  enum class Use : std::uint8_t { unused, erased, used };
  struct Slot {
    Use use = Use::unused;
    std::uint32_t value = 0;
  };

  struct Places {
    std::size_t at;                     // holds the value, or is the first unused one on its way
    std::optional<std::size_t> erased;  // the last erased one on its way: taken first
  };
  Places places_of(std::uint32_t value) const;
  void grow();

  std::vector<Slot> slots_ = std::vector<Slot>(8);
  std::size_t filled_ = 0;  // slots used or erased
};

}  // namespace penstock
