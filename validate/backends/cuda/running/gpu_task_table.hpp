#pragma once

#include <optional>
#include <vector>

#include "validate/backends/cuda/gpu_device.hpp"
#include "validate/backends/cuda/programs/gpu_program.hpp"

namespace penstock {

/// A tensor of NCCL that arrived with another name than it was sent by.
struct GpuWrongTensor {
  std::uint32_t name;
  std::optional<std::uint32_t> brought;  // the name that it has; none: of no tensor of this run
};

/// Begin and end of each task by the GPU clock.
struct GpuRun {
  std::vector<std::uint64_t> begin_ns;
  std::vector<std::uint64_t> end_ns;  // of a transfer: its arrival
  std::uint64_t issue_ns = 0;         // host time to start all tasks
  double elapsed_ns = 0;              // of all tasks, by events around them; also without stamps
  std::optional<GpuWrongTensor> wrong = {};
};

/// The tasks of a program in GPU memory: what kernels read, and what they stamp. Calls of NCCL have
/// the stamps of two kernels, one before and one after: a group begins when the first ends.
class GpuTaskTable {
 public:
  /// `queues`: the tasks of each graph that several launch, in order. Throws GpuError, and
  /// std::logic_error when a task precedes one of its inputs.
  GpuTaskTable(const GpuDevice& device, const GpuProgram& program,
               const std::vector<std::vector<std::uint32_t>>& queues, bool stamped);

  /// For a kernel of one task; of calls: that before them.
  GpuKernelTask of_task(std::uint32_t task) const { return of_slot(task); }
  /// For the kernel after the calls of a task.
  GpuKernelTask after(std::uint32_t task) const { return of_slot(after_[task]); }
  /// For a kernel that keeps the GPU waiting while the host gets ahead; of programs with calls.
  GpuKernelTask of_lead() const { return of_slot(slots_ - 1); }
  /// For the kernel of a graph, which finds its task itself.
  GpuKernelTask of_queue(std::uint32_t queue) const;
  /// Before each run.
  void clear(GpuStream stream) const;
  void read(GpuRun& run) const;

 private:
  GpuKernelTask of_slot(std::uint32_t slot) const;
  void write_records(const GpuProgram& program);
  void write_queues(const std::vector<std::vector<std::uint32_t>>& queues);

  const GpuCalls& calls_;
  std::size_t tasks_;
  std::vector<std::uint32_t> after_;  // by task: the slot after its calls; none: 0
  std::uint32_t slots_;
  bool stamped_;
  GpuOwner<void> records_;
  GpuOwner<void> inputs_;
  GpuOwner<void> begin_ns_;
  GpuOwner<void> end_ns_;
  GpuOwner<void> queued_;                  // tasks of all queues
  std::vector<std::uint32_t> first_task_;  // by queue: index into `queued_`
  GpuOwner<void> progress_;                // two numbers per queue
};

}  // namespace penstock
