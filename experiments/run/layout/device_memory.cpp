#include "experiments/run/layout/device_memory.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// What the allocator of PyTorch holds above the largest allocation, over what a step allocates and
/// frees. Public logs of Megatron-LM ("max reserved" less "max allocated", over "max allocated"
/// less "allocated"): 2.1, 2.3, 2.3, 7.1 and 7.7 % in five; 20 to 41 % in five others, which had
/// memory left. Where memory runs short, the allocator first gives back what it caches (PyTorch's
/// notes on CUDA memory management), so the most of the first five counts.
constexpr double usual_fragmentation = 0.08;

/// Workspaces of matrix products: 32 MiB each on Hopper and later (cuBLAS, cublasSetWorkspace; for
/// cuBLASLt github.com/pytorch/pytorch/pull/120925). Those of cuBLAS, of cuBLASLt, of the attention
/// and of four streams that multiply for experts, as Transformer Engine has them; a guess.
constexpr double workspaces_bytes = 7 * 32 * 1024.0 * 1024.0;

/// Buffers of an NCCL communicator: 544 MB in a group of two A100, 688 MB in a larger one
/// (github.com/NVIDIA/nccl/issues/964); about 0.65 GiB with RCCL on MI250X
/// (github.com/Lumi-supercomputer/LUMI-AI-Guide/issues/111). They grow with the number of channels,
/// not with that of devices, and may be shared (github.com/NVIDIA/nccl/issues/986).
constexpr double communicator_bytes = 688e6;

BytesPerParameter kept_of(const MemorySection& section) {
  if (section.bytes_per_parameter) return *section.bytes_per_parameter;
  BytesPerParameter kept = bytes_per_parameter(section.precision, section.optimizer);
  if (section.gradients && kept.gradient > 0) {
    kept.gradient = *section.gradients == Precision::fp32 ? 4 : 2;
  }
  return kept;
}

/// Values of the machine; a stated overhead is certain.
void take_machine(const MemorySection& section, const Machine& machine, DeviceMemory& memory) {
  const Device& device = machine.device;
  const auto capacity = static_cast<std::uint64_t>(std::floor(device.memory_bytes));
  memory.capacity_bytes = section.capacity_bytes.value_or(capacity);
  if (!section.context_bytes) {
    memory.context_bytes = device.context_bytes + machine.communication_bytes;
    memory.unsure_bytes = machine.communication_bytes;
    memory.counts_libraries = true;
  }
  if (!section.reserve) {
    memory.reserve = device.reserve;
    memory.fragmentation = usual_fragmentation;
  }
}

/// Communicators of a device: one for each kind of parallelism, and one across groups of replicas.
double communicators(const Degrees& degrees, std::uint32_t pipeline, std::uint32_t shard_groups) {
  const std::array<bool, 6> there{
      degrees.tensor > 1,  pipeline > 1,       degrees.data > 1 || degrees.context > 1,
      degrees.context > 1, degrees.expert > 1, shard_groups > 1};
  return static_cast<double>(std::ranges::count(there, true));
}

/// What is allocated and freed during a step.
double passing_bytes(const MemoryPeak& peak) {
  std::uint64_t bytes = 0;
  for (std::uint8_t kind = 0; kind < buffer_kinds; ++kind) {
    if (!for_whole_run(BufferKind{kind})) bytes += peak.by_kind[kind];
  }
  return static_cast<double>(bytes);
}

}  // namespace

std::uint64_t DeviceMemory::reserved_bytes() const {
  return static_cast<std::uint64_t>(
      std::llround(reserve * static_cast<double>(capacity_bytes.value_or(0))));
}

std::optional<std::uint64_t> DeviceMemory::usable_bytes() const {
  if (!capacity_bytes) return std::nullopt;
  return *capacity_bytes - std::min(reserved_bytes(), *capacity_bytes);
}

std::optional<std::uint64_t> DeviceMemory::largest_peak_bytes() const {
  const auto usable = usable_bytes();
  if (!usable) return std::nullopt;
  return *usable + static_cast<std::uint64_t>(std::floor(unsure_bytes));
}

DeviceMemory settle_memory(const MemorySection& section, const std::optional<Machine>& machine) {
  DeviceMemory memory{.capacity_bytes = section.capacity_bytes,
                      .policy = section.policy,
                      .kept = kept_of(section),
                      .zero = section.zero,
                      .shard_groups = section.shard_groups.value_or(1),
                      .gathered_bytes = section.gathered_bytes,
                      .prefetch_layers = section.prefetch_layers,
                      .whole_gradients = section.whole_gradients,
                      .context_bytes = section.context_bytes.value_or(0),
                      .reserve = section.reserve.value_or(0)};
  if (machine) take_machine(section, *machine, memory);
  if (memory.reserve != 0 && !memory.capacity_bytes) {
    throw InputError("/memory/reserve",
                     "it is a fraction of a capacity; give \"capacity_bytes\" too");
  }
  return memory;
}

bool keeps_whole_gradients(const DeviceMemory& memory, std::uint32_t zero, std::uint32_t pipeline,
                           std::uint32_t microbatches) {
  return zero >= 2 && microbatches > 1 && memory.whole_gradients.value_or(pipeline > 1);
}

std::string_view text(MemoryWord word) {
  constexpr std::array<std::string_view, 3> texts{"fits", "may fit", "does not fit"};
  return texts[static_cast<std::size_t>(word)];
}

MemoryJudge::MemoryJudge(const DeviceMemory& memory, const Degrees& degrees, std::uint32_t pipeline)
    : usable_(memory.usable_bytes()),
      unsure_bytes_(std::floor(memory.unsure_bytes)),
      fragmentation_(memory.fragmentation) {
  if (!memory.counts_libraries) return;
  const double buffers = communicators(degrees, pipeline, memory.shard_groups) * communicator_bytes;
  more_bytes_ = workspaces_bytes + std::max(0.0, buffers - memory.unsure_bytes);
}

PeakInterval MemoryJudge::interval(const MemoryPeak& peak) const {
  const auto unsure = static_cast<std::uint64_t>(unsure_bytes_);
  const double more = more_bytes_ + fragmentation_ * passing_bytes(peak);
  return {peak.bytes - std::min(unsure, peak.bytes),
          peak.bytes + static_cast<std::uint64_t>(std::llround(more))};
}

std::optional<MemoryWord> MemoryJudge::word(const PeakInterval& interval) const {
  if (!usable_) return std::nullopt;
  if (interval.least > *usable_) return MemoryWord::does_not_fit;
  return interval.most > *usable_ ? MemoryWord::may_fit : MemoryWord::fits;
}

PeakInterval MemoryJudge::interval(const std::vector<MemoryPeak>& peaks) const {
  PeakInterval all;
  for (const MemoryPeak& peak : peaks) {
    const PeakInterval own = interval(peak);
    all = {std::max(all.least, own.least), std::max(all.most, own.most)};
  }
  return all;
}

}  // namespace penstock
