#include <cuda_runtime.h>

#include <type_traits>

#include "validate/backends/cuda/cuda_kernels.hpp"
#include "validate/backends/cuda/gpu_steps.hpp"

namespace penstock {
namespace {

constexpr unsigned warp = 32;

/// Lanes of a warp that do a row together. Other rows of the warp may go on or have ended.
template <unsigned count>
struct Lanes {
  static constexpr std::uint32_t lanes = count;

#ifdef __CUDA_ARCH__
  __host__ __device__ std::uint32_t lane() const { return threadIdx.x % count; }
  template <class Sum>
  __host__ __device__ Sum sum(Sum part) const {
    const unsigned all = count == warp ? 0xFFFFFFFFU : (1U << count % warp) - 1;
    const unsigned own = all << (threadIdx.x % warp / count * count);
#pragma unroll
    for (unsigned other = count / 2; other > 0; other /= 2) {
      part += __shfl_xor_sync(own, part, static_cast<int>(other), static_cast<int>(count));
    }
    return part;
  }
#else  // for the pass of the compiler that makes host code, which runs none of this
  __host__ __device__ std::uint32_t lane() const { return 0; }
  template <class Sum>
  __host__ __device__ Sum sum(Sum part) const {
    return part;
  }
#endif
};

/// Whether elements of a step may be taken several at a time.
template <class Step, class = void>
constexpr bool comes_in_packs = false;
template <class Step>
constexpr bool comes_in_packs<Step, std::void_t<decltype(&Step::in_packs)>> = true;

template <class Step>
__global__ void __launch_bounds__(step_threads) run(Step step) {
  const std::uint64_t first = std::uint64_t{blockIdx.x} * step_threads + threadIdx.x;
  const std::uint64_t all = std::uint64_t{gridDim.x} * step_threads;
  if constexpr (comes_in_packs<Step>) {
    if (step.in_packs()) {
      for (std::uint64_t i = first * pack_size; i < step.count; i += all * pack_size) {
        step.template at<pack_size>(i);
      }
      return;
    }
  }
  if constexpr (Step::lanes == 0) {
    for (std::uint64_t i = first; i < step.count; i += all) step.at(i);
  } else {
    const Lanes<Step::lanes> team;
    for (std::uint64_t row = first / Step::lanes; row < step.count; row += all / Step::lanes) {
      step.row(row, team);
    }
  }
}

template <class Step>
int load_step() {
  if constexpr (goes_in_tiles<Step>) return cudaSuccess;
  else return load_all<cudaFuncAttributes>(run<Step>);
}

/// How many blocks of a kernel an SM runs at once; registers limit some to fewer than 8.
template <class Step>
unsigned blocks_of_sm() {
  static const unsigned at_once = []() -> unsigned {
    int blocks = 0;
    const auto error =
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, run<Step>, step_threads, 0);
    if (error == cudaSuccess && blocks > 0) return static_cast<unsigned>(blocks);
    cudaGetLastError();  // or the launch would be taken for what failed
    return 4U;
  }();
  return at_once;
}

template <class... Steps>
int load_steps(const std::variant<Steps...>*) {
  for (const int error : {load_step<Steps>()...}) {
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

}  // namespace

int load_step_kernels() { return load_steps(static_cast<decltype(GpuStep::kernel)*>(nullptr)); }

int launch_step(GpuStream stream, const GpuStep& step, std::uint32_t sms) {
  const std::uint64_t threads = threads_of(step);
  if (threads == 0) return cudaSuccess;
  return std::visit(
      [&](const auto& kernel) {
        using Step = std::decay_t<decltype(kernel)>;
        if constexpr (goes_in_tiles<Step>) {
          return launch_attention(stream, step);
        } else {
          const unsigned blocks = blocks_of_step(threads, sms, blocks_of_sm<Step>());
          run<<<blocks, step_threads, 0, native(stream)>>>(kernel);
          return static_cast<int>(cudaGetLastError());
        }
      },
      step.kernel);
}

}  // namespace penstock
