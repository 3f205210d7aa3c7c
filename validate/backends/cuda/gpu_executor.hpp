#pragma once

#include <vector>

#include "validate/backends/cuda/gpu_device.hpp"
#include "validate/backends/cuda/gpu_program.hpp"

namespace penstock {

/// Who starts tasks.
enum class GpuOrdering : std::uint8_t {
  host_issued,  // one after the other, ahead of the GPU
  graph,        // the GPU: one graph, launched once
};

/// Begin and end of each task by the GPU clock.
struct GpuRun {
  std::vector<std::uint64_t> begin_ns;
  std::vector<std::uint64_t> end_ns;  // of a transfer: its arrival
  std::uint64_t issue_ns = 0;         // host time to start all tasks
};

/// Runs a program on a GPU, any number of times. Both orderings use the same code, issued directly
/// or captured. The device must outlive it and be used by one thread.
class GpuExecutor {
 public:
  /// Throws GpuError, and std::logic_error when a task precedes one of its inputs.
  GpuExecutor(const GpuDevice& device, GpuProgram program, GpuOrdering ordering);

  /// Runs the program to its end. Throws GpuError.
  GpuRun run();
  /// By rank: the ids of the SMs that its actions have used so far.
  std::vector<std::vector<std::uint32_t>> sms_seen() const;
  const GpuProgram& program() const { return program_; }

 private:
  struct LinkBuffers {
    GpuOwner<void> from;
    GpuOwner<void> to;
    std::uint64_t bytes;  // of each
  };

  void make_events();
  void write_inputs();
  void make_link_buffers();
  void make_graph();

  void issue();
  void clear_stamps();
  void fork();
  void join();
  void issue_task(std::uint32_t task);
  int launch(std::uint32_t task);
  GpuKernelTask kernel_task(std::uint32_t task) const;

  const GpuDevice& device_;
  const GpuCalls& calls_;
  GpuProgram program_;
  std::vector<char> in_use_;                // by lane
  std::vector<std::uint32_t> first_input_;  // by task: index into `inputs_`
  GpuOwner<void> inputs_;
  GpuOwner<void> begin_ns_;
  GpuOwner<void> end_ns_;
  GpuOwner<void> sms_seen_;
  std::vector<LinkBuffers> buffers_;             // by link
  std::vector<GpuOwner<GpuEventTag>> done_;      // by task, if other lanes wait for it
  std::vector<GpuOwner<GpuEventTag>> lane_end_;  // by lane
  GpuOwner<GpuEventTag> start_;
  GpuOwner<GpuExecutableTag> executable_;  // of the graph, if any
};

}  // namespace penstock
