#pragma once

#include <vector>

#include "validate/backends/cuda/gpu_device.hpp"
#include "validate/backends/cuda/gpu_program.hpp"

namespace penstock {

/// Who starts tasks while a program runs.
enum class GpuOrdering : std::uint8_t {
  host_issued,  // the host, one after the other, ahead of the GPU
  graph,        // the GPU: all of them are one graph, launched once
};

/// When the tasks of a program ran, by the clock of the GPU.
struct GpuRun {
  std::vector<std::uint64_t> begin_ns;
  std::vector<std::uint64_t> end_ns;  // of a transfer: when it had arrived
  std::uint64_t issue_ns = 0;         // what the host needed to start it all
};

/// Runs a program on a GPU, any number of times. Both orderings are issued by the same code, once
/// for real and once under capture. The device must outlive it and be used by one thread.
class GpuExecutor {
 public:
  /// Throws GpuError, and std::logic_error where a task stands before one that it waits for.
  GpuExecutor(const GpuDevice& device, GpuProgram program, GpuOrdering ordering);

  /// Runs it to its end. Throws GpuError.
  GpuRun run();
  /// By rank: the ids of the SMs that its actions ran on so far.
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
  std::vector<std::uint32_t> first_input_;  // by task: its place in `inputs_`
  GpuOwner<void> inputs_;
  GpuOwner<void> begin_ns_;
  GpuOwner<void> end_ns_;
  GpuOwner<void> sms_seen_;
  std::vector<LinkBuffers> buffers_;             // by link
  std::vector<GpuOwner<GpuEventTag>> done_;      // by task, of those that other lanes wait for
  std::vector<GpuOwner<GpuEventTag>> lane_end_;  // by lane
  GpuOwner<GpuEventTag> start_;
  GpuOwner<GpuExecutableTag> executable_;  // of the graph, if there is one
};

}  // namespace penstock
