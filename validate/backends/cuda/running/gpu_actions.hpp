#pragma once

#include <memory>
#include <optional>
#include <string>

#include "validate/backends/cuda/running/gpu_messages.hpp"
#include "validate/backends/cuda/stages/gpu_products.hpp"
#include "validate/backends/cuda/stages/gpu_stages.hpp"

namespace penstock {

/// Tasks that one graph runs in turn: the same body, with the same buffers. None of actions with
/// tensors of other GPUs.
struct GpuActionGraph {
  std::uint32_t lane = 0;
  std::uint32_t body = 0;
  std::uint32_t slot = 0;
  std::vector<std::uint32_t> tasks;  // in running order
};
std::vector<GpuActionGraph> action_graphs(const GpuProgram& program);

/// The name of a kind of work: "spin".
std::string name(GpuWork work);

/// "task 3, forward of stage 1 on rank 2 in slot 0, transformer", or "task 4, on link 1".
std::string task_text(const GpuProgram& program, std::uint32_t task);

/// Threads that an action has on its rank's SMs.
struct GpuGrid {
  std::uint32_t blocks = 1;
  std::uint32_t threads = 32;  // per block
};
GpuGrid grid_of(GpuWork work, std::uint32_t sms);

/// The actions of a program: their buffers, and the SMs that they ran on.
class GpuActions {
 public:
  /// `messages`: the tensors between stages of several GPUs. Throws GpuError.
  GpuActions(const GpuDevice& device, const GpuProgram& program, const GpuMessages& messages);

  /// Launches the kernels of an action on a stream, for one task or for the queue of a graph.
  void launch(std::uint32_t task, const GpuKernelTask& kernel_task) const;
  /// What comes into a pass of layers and what it makes, if other stages have to do with it.
  std::optional<GpuStageEnds> ends(std::uint32_t rank, const GpuPassAt& pass) const;
  /// A hash of the algorithms of all matrix products; 0 without any.
  std::uint64_t algorithms() const;
  /// By rank: the ids of the SMs that actions have used so far.
  std::vector<std::vector<std::uint32_t>> sms_seen() const;

 private:
  void make_products();
  bool is_of_library(const GpuTask& task) const;
  void launch_library(std::uint32_t task, const GpuKernelTask& kernel_task) const;
  void launch_part(std::uint32_t rank, const GpuPart& part) const;
  void hand_on(std::uint32_t rank, const GpuPassAt& from, const GpuPassAt& to) const;

  const GpuDevice& device_;
  const GpuCalls& calls_;
  const GpuProgram& program_;
  const GpuMessages& messages_;
  std::vector<std::unique_ptr<GpuMatrixProduct>> products_;  // by rank, if its actions have any
  GpuOwner<void> sms_seen_;
  std::uint64_t slot_bytes_ = 0;
  std::vector<GpuOwner<void>> memory_;  // by rank: a buffer per slot, if any action moves bytes
  std::vector<std::unique_ptr<GpuStages>> stages_;  // by rank, if its actions run layers
};

}  // namespace penstock
