#pragma once

#include <vector>

#include "validate/backends/cuda/gpu_device.hpp"
#include "validate/backends/cuda/programs/gpu_program.hpp"
#include "validate/backends/cuda/running/gpu_actions.hpp"
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

/// Who starts tasks.
enum class GpuOrdering : std::uint8_t {
  host_issued,  // the host: one after the other, ahead of the GPU
  host_graphs,  // the host; each action is a graph of its own, one per body and buffer slot
  graph,        // the GPU: one graph of an iteration, launched once
  one_by_one,   // the host; each task begins when the one before it, on any lane, has ended
};

/// How to run a program.
struct GpuRunSetup {
  GpuOrdering ordering = GpuOrdering::graph;
  GpuLinkKind links = GpuLinkKind::paced;
  bool stamped = true;   // else only `elapsed_ns` is known
  bool checked = false;  // actions write and check the contents of copies, which takes time
  const GpuComms* comms = nullptr;  // of calls; must outlive the executor
};

/// Runs a program on a GPU, any number of times: that of all its ranks, or of one rank of several
/// GPUs, which begins together with the others. All orderings use the same code, issued directly
/// or captured. Nothing on the GPU waits for work that has not been issued: tasks wait by events,
/// and read only what tasks before them wrote. The device must outlive it and be used by one
/// thread.
class GpuExecutor {
 public:
  /// Throws GpuError, and std::logic_error when a task precedes one of its inputs.
  GpuExecutor(const GpuDevice& device, GpuProgram program, const GpuRunSetup& setup);
  GpuExecutor(const GpuExecutor&) = delete;
  GpuExecutor& operator=(const GpuExecutor&) = delete;

  /// Runs the program to its end. Throws GpuError and NcclError.
  GpuRun run();
  /// After a run that failed: the first task that did not end.
  std::optional<std::uint32_t> unfinished() const;
  const GpuActions& actions() const { return actions_; }
  /// By task: words of a copy that arrived with other content; only of checked runs.
  std::vector<std::uint32_t> wrong_words() const { return transfers_.wrong_words(); }
  const GpuProgram& program() const { return program_; }

 private:
  void make_events();
  std::vector<std::uint32_t> waits_of(std::uint32_t task) const;
  void make_action_graphs();
  void make_graph();

  void issue();
  void fork();
  void join();
  void issue_task(std::uint32_t task);
  void launch(std::uint32_t task);
  void launch_on_lane(std::uint32_t task);
  void check_inputs(std::uint32_t task);
  void write_outputs(std::uint32_t task);

  const GpuDevice& device_;
  const GpuCalls& calls_;
  GpuProgram program_;
  GpuRunSetup setup_;
  std::vector<char> in_use_;                         // by lane
  std::vector<GpuActionGraph> graphs_;               // of actions, if they have their own
  std::vector<std::uint32_t> graph_of_;              // by task
  std::vector<std::vector<std::uint32_t>> outputs_;  // by task: copies of what it makes
  GpuTaskTable table_;
  GpuTransfers transfers_;
  GpuMessages messages_;
  GpuActions actions_;
  std::vector<GpuOwner<GpuExecutableTag>> executables_;  // by graph of an action
  std::vector<GpuOwner<GpuEventTag>> done_;              // by task, if other lanes wait for it
  std::vector<GpuOwner<GpuEventTag>> lane_end_;          // by lane
  GpuOwner<GpuEventTag> start_;
  GpuOwner<GpuEventTag> begin_;  // with times
  GpuOwner<GpuEventTag> end_;
  GpuOwner<GpuExecutableTag> executable_;  // of an iteration, if it is one graph
};

}  // namespace penstock
