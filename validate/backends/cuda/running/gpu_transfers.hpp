#pragma once

#include "validate/backends/cuda/programs/gpu_slots.hpp"
#include "validate/backends/cuda/running/gpu_task_table.hpp"

namespace penstock {

/// What carries tensors between ranks.
enum class GpuLinkKind : std::uint8_t {
  paced,  // a kernel that copies on the SMs of links, as fast as the link that it emulates
  host,   // copy engines: out to pinned host memory and back in, as fast as they are
};

/// The tensors that a program copies: a ring of buffers at both ends of each link.
class GpuTransfers {
 public:
  /// With `checked` contents, buffers begin with content that no tensor has. Throws GpuError.
  GpuTransfers(const GpuDevice& device, const GpuProgram& program, GpuLinkKind kind, bool checked);

  /// Launches a transfer on its lane.
  void launch(std::uint32_t transfer, const GpuKernelTask& task) const;
  /// Writes the content of a transfer before it is sent, or checks what arrived, on any stream.
  void write_content(std::uint32_t transfer, GpuStream stream) const;
  void check_content(std::uint32_t transfer, GpuStream stream) const;
  /// By task: 16-byte words that arrived with other content, in all checks so far.
  std::vector<std::uint32_t> wrong_words() const;

 private:
  struct Ring {
    std::uint64_t bytes;  // of each buffer
    GpuOwner<void> from;
    GpuOwner<void> to;
    GpuOwner<void> pinned;  // one buffer
  };

  void make_rings();
  void poison();
  void* from(std::uint32_t transfer) const;
  void* to(std::uint32_t transfer) const;
  const Ring& ring(std::uint32_t transfer) const;
  std::uint64_t words(std::uint32_t transfer) const;
  void bounce(std::uint32_t transfer, const GpuKernelTask& task) const;

  const GpuDevice& device_;
  const GpuCalls& calls_;
  const GpuProgram& program_;
  GpuLinkKind kind_;
  TransferSlots slots_;
  std::vector<Ring> rings_;  // by link
  GpuOwner<void> wrong_;     // by task; only with checked contents
};

}  // namespace penstock
