#pragma once

#include <vector>

#include "validate/backends/cuda/running/gpu_task_table.hpp"
#include "validate/backends/cuda/stages/gpu_stages.hpp"

namespace penstock {

/// The communicators of a rank of several GPUs.
struct GpuComms {
  const NcclCalls* nccl = nullptr;
  NcclComm world = nullptr;       // of all ranks
  std::vector<NcclComm> of_link;  // null if the rank is no member
};

/// Buffers of a link for one way, each with room for any of its tensors.
struct GpuRing {
  std::uint64_t step = 0;  // bytes from one to the next; 0: there are none
  std::uint32_t slots = 1;
};

/// By link: where what is sent lies, and what is received.
struct GpuRings {
  std::vector<GpuRing> sent;
  std::vector<GpuRing> received;

  std::uint64_t bytes() const;
};
/// The buffers that the calls of a program need.
GpuRings rings_of(const GpuProgram& program);

/// The tensors of a program that NCCL carries: buffers by link and slot, all of a link with room
/// for any of its tensors. Each begins with 16 bytes that name it, and the reader checks them in
/// every run; behind them is what layers make and read.
class GpuMessages {
 public:
  /// Throws GpuError, and std::logic_error for a program with calls without communicators.
  GpuMessages(const GpuDevice& device, const GpuProgram& program, const GpuComms* comms);

  /// Before each run: other names for all tensors.
  void clear();
  /// Keeps a stream waiting until the host is ahead and all ranks have come here.
  void meet(GpuStream stream, const GpuTaskTable& table) const;
  /// Launches the calls of a task on its lane, as a group.
  void launch(std::uint32_t task, const GpuTaskTable& table) const;
  /// The first tensor that did not arrive in the last run.
  std::optional<GpuWrongTensor> wrong() const;

  /// Copy what layers read or made, as much as has room behind the name.
  void take(const GpuTensor& tensor, const GpuStageEnds& ends, GpuStream stream) const;
  void give(const GpuTensor& tensor, const GpuStageEnds& ends, GpuStream stream) const;

 private:
  /// Names a tensor at its beginning.
  struct Name {
    std::uint64_t run = 0;
    std::uint64_t tensor = 0;
  };
  struct Ring {
    std::uint64_t step;
    GpuOwner<void> memory;
    std::byte* at(std::uint32_t slot) const;
  };

  std::vector<Ring> made(const std::vector<GpuRing>& rings) const;
  void call(std::uint32_t link, const GpuCall& call, GpuStream stream) const;
  void stamp(GpuStream stream, const GpuKernelTask& task) const;
  void move_name(GpuStream stream, const GpuKernelTask& task, const void* from, void* to) const;
  void* name_at(const GpuOwner<void>& names, std::uint32_t task) const;

  const GpuDevice& device_;
  const GpuCalls& calls_;
  const GpuProgram& program_;
  GpuComms comms_;
  bool used_;  // whether the program has any calls
  std::uint64_t runs_ = 0;
  std::vector<Ring> sent_;      // by link
  std::vector<Ring> received_;  // by link
  GpuOwner<void> names_;        // by task: of what it sends
  GpuOwner<void> found_;        // by task: of what it received
  GpuOwner<void> meeting_;      // memory of the call with which all begin
  GpuOwner<void> sms_seen_;     // by stamps
};

}  // namespace penstock
