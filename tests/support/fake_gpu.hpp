#pragma once

#include <functional>
#include <map>
#include <set>
#include <vector>

#include "tests/support/ptx/gpu_kernels.hpp"
#include "validate/backends/cuda/gpu_calls.hpp"

namespace penstock::testing {

/// Layers that a host computes at once.
constexpr GpuLayerSizes tiny_layers{.examples = 1,
                                    .tokens = 8,
                                    .heads = 1,
                                    .inner = 64,
                                    .gated_inner = 32,
                                    .images = 1,
                                    .channels = 8,
                                    .side = 4};

/// A fake GPU: streams, events, captures and kernels in simulated time. Only kernels take time, as
/// much as requested. A kernel sees the output of another only after that one has ended, so a
/// missing wait shows in its start time; a kernel that reads or overwrites what another one still
/// uses counts as a hazard. It refuses what CUDA refuses: memory that is not there, launches of no
/// or too many threads, calls that a capture does not allow, events of a capture outside it. A
/// kernel that fails is known when somebody waits for it, and all later calls fail. Streams beyond
/// the hardware queues share them. Only one instance at a time.
class FakeGpu {
 public:
  FakeGpu();
  ~FakeGpu();
  FakeGpu(const FakeGpu&) = delete;
  FakeGpu& operator=(const FakeGpu&) = delete;

  // Its properties. Numbers of SMs are those of an H200.
  int devices = 1;
  int devices_error = 0;
  int driver = 13000;  // 0: none
  int runtime = 12060;
  bool has_green_contexts = true;
  std::uint32_t sms = 132;
  std::uint32_t least_sms = 8;
  std::uint32_t most_groups = 64;
  std::uint32_t queues = 32;
  bool default_streams_have_queues = false;  // that of the device, and those of contexts
  int split_error = 0;
  int context_error = 0;
  int record_error = 0;  // of streams of green contexts, like the next two
  int wait_error = 0;
  int capture_error = 0;
  bool refuses_remainder = false;   // a green context on less than the smallest group
  bool numbers_by_context = false;  // SM ids are virtual: each context has them from 0 on
  bool keeps_partition = true;      // else every action runs on the SMs of the first rank
  std::uint64_t copy_ns_least = 0;  // minimum duration of a copy
  std::uint64_t stamp_ns = 0;       // what stamps add to a kernel
  std::uint64_t issue_ns = 0;       // of the host, for each kernel, copy, event and wait
  std::uint64_t engine_ns = 0;      // of a copy to or from pinned memory
  int lost_copy = -1;               // this copy moves nothing, counted from 0
  int failing_launch = -1;          // this launch fails, counted from 0
  int failing_kernel = -1;          // that of this launch fails when it runs
  int hung_kernel = -1;             // that of this launch never ends
  std::size_t memory_bytes = std::size_t{1} << 36;  // pages that nobody touches take nothing
  std::uint32_t most_product_rows = UINT32_MAX;     // the library has no algorithm for more
  std::uint64_t most_work = 1 << 20;  // launches of layers and products beyond it compute nothing
  /// The kernels that it runs, interpreted, as of `ptx::compiled_kernels`. Null: its own, which are
  /// quick and know the time of all work.
  const ptx::Kernels* kernels = nullptr;

  /// The table of its calls, which stays where it is for devices. What its properties are when it
  /// is asked for decides what the table has.
  const GpuCalls& calls() const;

  // Recorded calls.
  std::uint64_t launches = 0;  // of kernels, without graphs
  std::uint64_t graph_launches = 0;
  std::uint64_t copies = 0;
  std::uint64_t early_reads = 0;     // of stamps that no ended kernel has written
  std::uint64_t hazards = 0;         // of tensors
  std::set<const void*> handed_out;  // and not given back

  // State, for its calls.
  struct Range {
    std::uint64_t first_sm = 0;
    std::uint64_t sms = 0;
  };
  std::uint64_t host_ns = 0;
  std::uint64_t cleared_ns = 0;                     // when memory was last filled
  std::map<const void*, std::uint64_t> written_ns;  // when each number was written
  std::map<const void*, std::uint64_t> read_ns;     // by tensor: the end of its last reader
  std::map<const void*, std::uint64_t> filled_ns;   // by tensor: the end of its last writer
  std::uint32_t kernels_run = 0;                    // of `kernels`: each in another interleaving
  std::map<const void*, std::size_t> allocated;     // bytes, by address
  std::size_t used_bytes = 0;
  std::vector<std::uint32_t> queue_users;  // by hardware queue
  std::vector<std::uint64_t> queue_ns;     // when its last work ends
  int fault = 0;                           // of the kernel that failed
  bool hangs = false;
  std::uint64_t shared_sms_ns = 0;  // when actions of FLOPs end, where all run on the same SMs
  GpuStream origin = nullptr;       // of the current capture
  bool is_spoiled = false;          // a call that captures do not allow ended it
  std::vector<std::function<void()>> captured;
  std::set<GpuStream> joined;
  mutable GpuCalls table{};  // that `calls` gives
};

}  // namespace penstock::testing
