#pragma once

#include "validate/backends/cuda/programs/gpu_program.hpp"

namespace penstock {

/// The buffer slot of each use: a key takes the lowest free slot at its first use and frees it
/// after its last one. There are as many slots as keys in use at once.
std::vector<std::uint32_t> slots_of(const std::vector<std::uint64_t>& keys);

/// The buffers of copies; none for a program without them. A buffer is used again only when all who
/// read its last content end before the next writer begins, by the waits of the program alone,
/// however long tasks take.
struct TransferSlots {
  std::vector<std::uint32_t> from;        // by task: where a transfer is sent from
  std::vector<std::uint32_t> to;          // by task: where it arrives
  std::vector<std::uint32_t> from_count;  // by link
  std::vector<std::uint32_t> to_count;
};
TransferSlots transfer_slots(const GpuProgram& program);

/// The task that makes what a transfer sends: its first input among actions, else itself.
std::uint32_t producer_of(const GpuProgram& program, std::uint32_t transfer);

}  // namespace penstock
