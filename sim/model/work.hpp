#pragma once

#include <cstdint>

#include "sim/order/schedule.hpp"

namespace penstock {

/// What of a device a kernel keeps busy: its matrix units, or only its memory and vector units.
enum class KernelKind : std::uint8_t { matrix, vector };

/// Work that one device does at once, and how often one after the other. Passes are F, I and W; B
/// is I and W, and recomputation is F again.
struct Kernel {
  Pass pass = Pass::forward;
  KernelKind kind = KernelKind::vector;
  double flops = 0;  // of one
  double bytes = 0;  // that one reads and writes
  // Of a matrix product: `batch` products of rows x inner by inner x columns.
  double rows = 0;
  double columns = 0;
  double inner = 0;
  double batch = 1;
  double count = 1;
  bool selective = false;  // selective recomputation runs it again
};

/// What the devices of a group do together.
enum class CollectiveKind : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  broadcast,
  ring_exchange,  // each device passes what it has to the next, until everyone has seen everything
};

/// Over which of the degrees of parallelism devices form the group.
enum class Group : std::uint8_t { tensor, context, expert };

/// A collective inside a layer, and how often one after the other.
struct Collective {
  Pass pass = Pass::forward;
  CollectiveKind kind = CollectiveKind::all_reduce;
  Group group = Group::tensor;
  double bytes = 0;  // of the whole tensor; of ring_exchange and all_to_all: that one device holds
  double count = 1;
  bool selective = false;  // selective recomputation runs it again
};

}  // namespace penstock
