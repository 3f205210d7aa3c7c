#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "validate/backends/cuda/layers/gpu_work.hpp"
#include "validate/backends/cuda/layers/matrix_product.hpp"

namespace penstock {

// Handles of a GPU.
using GpuStream = struct GpuStreamTag*;
using GpuEvent = struct GpuEventTag*;
using GpuGraph = struct GpuGraphTag*;
using GpuExecutable = struct GpuExecutableTag*;  // a graph ready to launch
using GpuContext = struct GpuContextTag*;        // a green context: owns some of the SMs
using GpuProduct = struct GpuProductTag*;        // a matrix product of a library, ready to launch

/// Releases a handle once.
template <class Tag>
using GpuOwner = std::unique_ptr<Tag, int (*)(Tag*)>;

/// A group of streaming multiprocessors.
struct SmGroup {
  std::uint32_t sms = 0;
  std::uint32_t least = 0;                               // the smallest part of it
  std::uint32_t alignment = 0;                           // parts are multiples of this
  alignas(8) std::array<std::byte, 256> of_driver = {};  // the driver's representation
};

struct GpuFacts {
  std::array<char, 256> name = {};
  int compute_major = 0;
  int compute_minor = 0;
  std::uint32_t sms = 0;
  std::uint32_t threads_per_sm = 0;
  std::uint32_t queues = 0;  // hardware queues; streams beyond these wait for each other
  int driver = 0;            // as `cuda_versions` has them
  int runtime = 0;
  std::uint64_t free_bytes = 0;  // of its memory, when asked
};

/// A task, in GPU memory.
struct GpuTaskRecord {
  std::uint64_t duration_ns;
  std::uint64_t latency_ns;   // of a transfer
  std::uint32_t first_input;  // index into the inputs of all tasks
  std::uint32_t input_count;
};

/// What each kernel needs to know about its task. All pointers are to GPU memory.
struct GpuKernelTask {
  std::uint64_t* begin_ns;       // by task: begin stamp; all bits set before
  std::uint64_t* end_ns;         // by task: end or arrival stamp; 0 before
  const GpuTaskRecord* records;  // by task
  const std::uint32_t* inputs;   // tasks that have ended, but may arrive later
  std::uint32_t task;
  bool stamped;  // without stamps, only arrivals are written
  // A graph that several tasks launch in turn; null for a kernel of one task.
  const std::uint32_t* queue;  // its tasks in launch order
  std::uint32_t* progress;     // launches that have ended, and blocks of the current one
};

/// All SM ids are below this.
constexpr std::uint32_t most_sm_ids = 1024;

/// C = A B in bf16 with sums in single precision. Matrices are stored by column.
struct GpuProductShape {
  std::uint32_t rows;
  std::uint32_t columns;
  std::uint32_t inner;
  std::uint32_t sms;  // for which the library chooses its algorithm
  ProductForm form = {};
};
struct GpuProductMemory {
  const void* a;    // rows * inner
  const void* b;    // inner * columns
  void* c;          // in single precision if its form asks for sums
  void* workspace;  // `product_workspace` bytes, of one stream alone
};
constexpr std::size_t product_workspace = std::size_t{32} << 20;

/// Multiply-adds that a thread has in flight.
constexpr std::uint64_t gpu_flop_chains = 8;

/// An action on the SMs of its rank.
struct GpuActionKernel {
  GpuKernelTask task;
  GpuWork work;
  std::uint32_t blocks;
  std::uint32_t threads;  // per block
  std::uint64_t amount;  // of flops: multiply-adds per thread; of bytes: 16-byte words, all threads
  void* memory;          // of bytes
  std::uint64_t words;   // of memory, of 16 bytes: a power of two; reused cyclically
  unsigned char* sms_seen;  // by SM id: 1 if a block ran there
};

/// Copies bytes at most as fast as the time of its task; they arrive its latency later.
struct GpuCopyKernel {
  GpuKernelTask task;
  std::uint32_t blocks;
  std::uint32_t threads;  // per block
  const void* from;
  void* to;
  std::uint64_t bytes;
  std::uint64_t buffer_bytes;  // of `from` and of `to`, a power of two; reused cyclically
};

/// Writes or checks the content of a tensor, which depends on the transfer and the position.
struct GpuContentKernel {
  void* memory;
  std::uint64_t words;  // of 16 bytes
  std::uint32_t transfer;
  std::uint32_t* wrong;  // number of words with other content; null: writes
};

/// Encodes bf16 values in blocks that share an exponent, or decodes them.
struct GpuCodecKernel {
  std::uint16_t* values;
  std::uint8_t* packed;
  std::uint64_t blocks;  // of 16 values
  std::uint32_t bits;    // per value: sign and mantissa
  bool decodes;
  std::uint32_t grid;  // blocks of threads
};

struct GpuStep;  // a kernel of a layer, in gpu_steps.hpp

/// The calls to a GPU, replaceable in tests. Each returns 0 or a CUDA error number. The last six
/// are null when the driver has no green contexts. None waits on the GPU for a kernel that may not
/// have started: kernels read only clocks, and what earlier kernels of their inputs wrote.
struct GpuCalls {
  const char* (*error_name)(int error);
  int (*count_devices)(int* count);
  /// The newest CUDA that the driver supports, 0 without a driver, and that of this build; 13000 is
  /// 13.0.
  int (*cuda_versions)(int* driver, int* runtime);
  int (*start)();  // makes the first device ready
  int (*facts)(GpuFacts* facts);

  int (*make_stream)(GpuStream* stream);  // on all SMs
  int (*free_stream)(GpuStream stream);
  int (*synchronize)(GpuStream stream);
  int (*make_event)(GpuEvent* event);  // for streams on all SMs
  int (*free_event)(GpuEvent event);
  int (*record)(GpuEvent event, GpuStream stream);
  int (*wait)(GpuStream stream, GpuEvent event);
  int (*make_timer)(GpuEvent* event);  // an event with a time, for streams on all SMs
  int (*elapsed)(float* ms, GpuEvent begin, GpuEvent end);

  int (*begin_capture)(GpuStream stream);
  int (*end_capture)(GpuStream stream, GpuGraph* graph);
  int (*free_graph)(GpuGraph graph);
  int (*instantiate)(GpuExecutable* executable, GpuGraph graph);
  int (*free_executable)(GpuExecutable executable);
  int (*upload)(GpuExecutable executable, GpuStream stream);
  int (*launch_graph)(GpuExecutable executable, GpuStream stream);

  int (*allocate)(void** memory, std::size_t bytes);
  int (*free_memory)(void* memory);
  int (*fill)(void* memory, int byte, std::size_t bytes, GpuStream stream);
  int (*write)(void* to, const void* from, std::size_t bytes);  // from host memory
  int (*read)(void* to, const void* from, std::size_t bytes);   // to host memory
  int (*allocate_pinned)(void** memory, std::size_t bytes);     // host memory that copies reach
  int (*free_pinned)(void* memory);
  int (*copy_out)(void* pinned, const void* from, std::size_t bytes, GpuStream stream);
  int (*copy_in)(void* to, const void* pinned, std::size_t bytes, GpuStream stream);
  int (*copy_within)(void* to, const void* from, std::size_t bytes, GpuStream stream);

  int (*launch_action)(GpuStream stream, const GpuActionKernel& kernel);
  int (*launch_copy)(GpuStream stream, const GpuCopyKernel& kernel);
  // Stamps around what is not one kernel; `arrives`: of a transfer, also without stamps.
  int (*launch_begin)(GpuStream stream, const GpuKernelTask& task);
  int (*launch_end)(GpuStream stream, const GpuKernelTask& task, bool arrives);
  int (*launch_content)(GpuStream stream, const GpuContentKernel& kernel);
  int (*launch_codec)(GpuStream stream, const GpuCodecKernel& kernel);
  int (*launch_step)(GpuStream stream, const GpuStep& step, std::uint32_t sms);
  int (*launch_nothing)(GpuStream stream);
  int (*launch_clock_reader)(GpuStream stream, std::uint64_t* readings, std::uint32_t count);
  /// SM clock cycles and nanoseconds of a loop: two numbers.
  int (*launch_cycle_counter)(GpuStream stream, std::uint64_t* numbers, std::uint32_t rounds);

  /// Why there are no matrix products: cuBLASLt is looked for when first asked; "" with it. The
  /// next calls only with it.
  const char* (*why_no_products)();
  /// Chooses the algorithm once.
  int (*make_product)(GpuProduct* product, const GpuProductShape& shape);
  int (*free_product)(GpuProduct product);
  int (*launch_product)(GpuStream stream, GpuProduct product, const GpuProductMemory& memory);
  /// The version and the file of the library, and a hash of the algorithm.
  std::uint32_t (*product_library)();
  const char* (*product_library_file)();
  std::uint64_t (*product_algorithm)(GpuProduct product);

  int (*all_sms)(SmGroup* all);
  /// Splits into `*count` groups of `sms` each plus a remainder; sets `*count` to the groups made.
  int (*split_sms)(SmGroup* groups, std::uint32_t* count, const SmGroup& all, SmGroup* left,
                   std::uint32_t sms);
  /// Several groups must be of one split.
  int (*make_context)(GpuContext* context, const SmGroup* groups, std::uint32_t count);
  int (*free_context)(GpuContext context);
  int (*make_stream_on)(GpuStream* stream, GpuContext context);
  /// An event is recorded only on streams of its own context; any stream may wait for it.
  int (*make_event_on)(GpuEvent* event, GpuContext context);
};

/// The CUDA calls; null in a build without CUDA.
const GpuCalls* cuda_calls();

/// Why a build has no CUDA; "" when it has.
const char* why_no_cuda();

}  // namespace penstock
