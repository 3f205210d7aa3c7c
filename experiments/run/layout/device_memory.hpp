#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "experiments/input/scenario/sections.hpp"
#include "experiments/run/layout/degrees.hpp"
#include "hardware_models/spec/machine.hpp"
#include "sim/report/memory.hpp"

namespace penstock {

/// Memory of a rank, and what it holds in addition to activations.
struct DeviceMemory {
  std::optional<std::uint64_t> capacity_bytes;  // empty: unknown
  MemoryPolicy policy = MemoryPolicy::finding;
  BytesPerParameter kept;
  std::uint32_t zero = 0;
  std::uint32_t shard_groups = 1;                // of data replicas
  std::optional<double> gathered_bytes;          // of parameters at a time, with ZeRO-3
  std::optional<std::uint32_t> prefetch_layers;  // gathered ahead, with ZeRO-3; where stated
  std::optional<bool> whole_gradients;           // until the last microbatch; where stated
  double context_bytes = 0;
  double reserve = 0;  // share of the capacity that the allocator cannot use

  // How far a peak may be from the simulated one. All 0 without a machine.
  double unsure_bytes = 0;        // of context_bytes: communication libraries may take less
  bool counts_libraries = false;  // workspaces, and buffers of further communicators
  double fragmentation = 0;       // of what a step allocates and frees

  /// Of the capacity, what the allocator cannot use.
  std::uint64_t reserved_bytes() const;
  /// The rest.
  std::optional<std::uint64_t> usable_bytes() const;
  /// The largest simulated peak that may fit.
  std::optional<std::uint64_t> largest_peak_bytes() const;
};

/// Values that the scenario leaves open come from the machine. Throws InputError with a pointer
/// into the scenario.
DeviceMemory settle_memory(const MemorySection& section, const std::optional<Machine>& machine);

/// Whether replicas keep whole gradients at this level of ZeRO until their last microbatch. PyTorch
/// reduces no gradient before that in a pipeline under FSDP: stages call
/// `set_requires_gradient_sync(False)` for all backwards but the last
/// (torch/distributed/pipelining/stage.py, `backward_maybe_with_nosync`), and FSDP2 then sums them
/// unsharded, in the precision of the reduction.
bool keeps_whole_gradients(const DeviceMemory& memory, std::uint32_t zero, std::uint32_t pipeline,
                           std::uint32_t microbatches);

/// Whether a rank has the memory that it needs.
enum class MemoryWord : std::uint8_t { fits, may_fit, does_not_fit };

/// "fits", "may fit", "does not fit".
std::string_view text(MemoryWord word);

/// What a rank needs at its peak, at least and at most.
struct PeakInterval {
  std::uint64_t least = 0;  // well packed, communication libraries without buffers of their own
  std::uint64_t most = 0;   // fragmented, with workspaces and buffers of each communicator
};

/// The memory of a device with the number of its communicators, which judges peaks.
class MemoryJudge {
 public:
  MemoryJudge(const DeviceMemory& memory, const Degrees& degrees, std::uint32_t pipeline);

  PeakInterval interval(const MemoryPeak& peak) const;
  /// Empty: the capacity is unknown.
  std::optional<MemoryWord> word(const PeakInterval& interval) const;
  /// Of the rank that needs most.
  PeakInterval interval(const std::vector<MemoryPeak>& peaks) const;

 private:
  std::optional<std::uint64_t> usable_;
  double unsure_bytes_;
  double more_bytes_ = 0;
  double fragmentation_;
};

}  // namespace penstock
