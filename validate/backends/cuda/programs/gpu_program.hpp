#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "validate/backends/cuda/gpu_calls.hpp"
#include "validate/backends/cuda/nccl_calls.hpp"

namespace penstock {

/// A tensor among the buffers of its link, on a rank of several GPUs.
struct GpuTensor {
  std::uint32_t link;
  std::uint32_t slot;
  std::uint64_t bytes;
};

/// A call of NCCL, on a rank of several GPUs.
struct GpuCall {
  CommKind kind;
  std::uint32_t peer = 0;   // of a send or receive: its place in the communicator
  std::uint32_t ranks = 2;  // of the communicator
  std::uint64_t bytes = 0;
  std::uint32_t slot = 0;  // of the buffers of its link
  std::uint32_t name = 0;  // of the tensor: equal on all ranks
};

/// A pass by its body and the buffers of its microbatch.
struct GpuPassAt {
  std::uint32_t body = 0;
  std::uint32_t slot = 0;
};

/// A pass of an action on a rank of several GPUs, with the tensors between it and other stages.
/// Between stages of one rank, F copies at its begin, B and I at their end: then both microbatches
/// have their buffers.
struct GpuPart {
  GpuPassAt pass = {};
  std::optional<GpuPassAt> reads_from = {};   // of F: that of the stage before it
  std::optional<GpuPassAt> writes_into = {};  // of B or I: that of the stage before it
  std::optional<GpuTensor> reads = {};
  std::vector<GpuTensor> makes = {};
};

/// An action of a rank, or a transfer over a link: a copy on this GPU, or calls of NCCL.
struct GpuTask {
  std::uint32_t lane = 0;                  // a rank, or ranks + a link
  std::uint64_t duration_ns = 0;           // how long it occupies its lane
  std::uint64_t latency_ns = 0;            // of a transfer: from its end to its arrival
  std::uint64_t bytes = 0;                 // of a transfer
  std::vector<std::uint32_t> inputs = {};  // tasks to wait for besides the previous one on its lane
  std::uint32_t body = 0;                  // of an action
  std::uint32_t slot = 0;           // of an action: the buffers of its microbatch on its rank
  std::vector<GpuPart> parts = {};  // of an action: what it runs in turn; none: its body alone
  std::vector<GpuCall> calls = {};  // of a transfer by NCCL: a group
};

/// The pass of an action, for bodies of layers.
enum class GpuPass : std::uint8_t {
  none,  // waits
  forward,
  backward,  // the input gradient, then the weight gradient
  input_gradient,
  weight_gradient,
};

/// What actions of a kind do: the same kernels for each.
struct GpuBody {
  GpuWork work = GpuWork::spin;
  std::uint64_t amount = 0;  // of flops and bytes: of each; of layers: their number
  GpuPass pass = GpuPass::none;
  std::uint32_t stage = 0;  // whose weights it has, of the stages of its rank
  bool recomputes = false;  // begins with its forward
};

/// The tasks of a GPU: of all ranks that it runs, or of one rank of several GPUs, whose links are
/// communicators of NCCL. Tasks follow all their inputs, and those of a lane
/// are in running order. Issued in this order no task waits for one not yet issued, so hardware
/// queues cannot lock up however streams share them.
struct GpuProgram {
  std::uint32_t ranks = 0;
  std::uint32_t links = 0;
  std::vector<GpuTask> tasks;
  std::vector<GpuBody> bodies = {};  // none: all wait
  GpuLayerSizes sizes = {};          // of bodies of layers

  std::uint32_t lanes() const { return ranks + links; }
  bool is_transfer(const GpuTask& task) const { return task.lane >= ranks; }
  bool is_copy(const GpuTask& task) const { return is_transfer(task) && task.calls.empty(); }
  GpuBody body(std::uint32_t number) const {
    return number < bodies.size() ? bodies[number] : GpuBody{};
  }
  GpuBody body_of(const GpuTask& task) const { return body(task.body); }

  /// Calls `visit(part)` for what an action runs, in turn.
  template <class Visitor>
  void for_each_part(const GpuTask& task, const Visitor& visit) const {
    if (task.parts.empty()) return visit(GpuPart{{task.body, task.slot}});
    for (const GpuPart& part : task.parts) visit(part);
  }
};

/// The work of each rank: the total time of its actions.
std::vector<double> work_of_ranks(const GpuProgram& program);

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

/// The same program with copies as fast as they can be.
GpuProgram unpaced(GpuProgram program);

/// A program as a text file, so that a machine with a GPU runs the orders of any schedule without
/// the rest of Penstock. Bodies, by number, are needed for actions that run layers:
///
///   penstock gpu program 1
///   name NAME
///   ranks N
///   links N
///   body STAGE PASS [recomputes]
///   task LANE DURATION_NS LATENCY_NS BYTES BODY SLOT INPUT…
struct NamedProgram {
  std::string name;
  GpuProgram program;
};
std::string program_text(const NamedProgram& named);

/// Throws std::runtime_error with the line of a fault.
NamedProgram read_program(std::string_view text);

}  // namespace penstock
