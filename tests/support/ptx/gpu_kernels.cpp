#include "tests/support/ptx/gpu_kernels.hpp"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <typeinfo>

#include "validate/backends/cuda/cuda_kernels.hpp"
#include "validate/backends/cuda/gpu_steps.hpp"

namespace penstock::testing::ptx {
namespace {

const Kernel& named(const Kernels& all, const std::string& name) {
  const auto found = all.find(name);
  if (found == all.end()) throw std::runtime_error("no kernel " + name);
  return found->second;
}

Launch in_blocks(Launch at, std::uint32_t blocks, std::uint32_t threads) {
  at.blocks = blocks;
  at.threads = threads;
  return at;
}

const char* action_name(GpuWork work) {
  switch (work) {
    case GpuWork::spin:
      return "wait_action";
    case GpuWork::flops:
      return "flops_action";
    case GpuWork::bytes:
      return "bytes_action";
    default:
      throw std::runtime_error("not one kernel");
  }
}

template <class Step>
std::string step_name() {
  const std::unique_ptr<char, void (*)(void*)> type(
      abi::__cxa_demangle(typeid(Step).name(), nullptr, nullptr, nullptr), std::free);
  const std::string name = type.get();
  return fmt::format("run<{}{}", name, name.ends_with('>') ? " >" : ">");
}

template <unsigned head>
std::string name_in_tiles(const CausalAttention<Bf16, head>&) {
  return fmt::format("attention<{}u>", head);
}
template <unsigned head>
std::string name_in_tiles(const QueryGradient<Bf16, head>&) {
  return fmt::format("query_gradient<{}u>", head);
}
template <unsigned head>
std::string name_in_tiles(const KeyGradient<Bf16, head>&) {
  return fmt::format("key_gradient<{}u>", head);
}

std::string read_text() {
  std::string all;
#ifdef PENSTOCK_PTX
  for (const char* const path : {PENSTOCK_PTX}) {
    std::ifstream file(path);
    all.append(std::istreambuf_iterator<char>(file), {});
  }
#endif
  return all;
}

}  // namespace

const std::string& compiled_text() {
  static const std::string text = read_text();
  return text;
}

const Kernels* compiled_kernels() {
  static const Kernels all = read_ptx(compiled_text());
  return all.empty() ? nullptr : &all;
}

std::uint64_t run_action(const Kernels& all, Launch at, GpuActionKernel kernel,
                         const ActionLimit& limit) {
  if (kernel.work != GpuWork::spin) {
    const std::uint64_t threads = std::uint64_t{kernel.blocks} * kernel.threads;
    const bool by_thread = kernel.work == GpuWork::flops;
    const std::uint64_t most = limit.most_work / (by_thread ? threads : 1);
    kernel.amount = std::min(kernel.amount, std::max(most, gpu_flop_chains));
    const std::uint64_t count = by_thread ? kernel.amount : kernel.amount / threads;
    at.work = {std::max<std::uint64_t>(count, 1), limit.ns};
  }
  return run(named(all, action_name(kernel.work)), in_blocks(at, kernel.blocks, kernel.threads),
             kernel);
}

std::uint64_t run_copy(const Kernels& all, Launch at, const GpuCopyKernel& kernel) {
  return run(named(all, "copy"), in_blocks(at, kernel.blocks, kernel.threads), kernel);
}

std::uint64_t run_begin(const Kernels& all, Launch at, const GpuKernelTask& task) {
  return run(named(all, "begin_stamp"), in_blocks(at, 1, 1), task);
}

std::uint64_t run_end(const Kernels& all, Launch at, const GpuKernelTask& task, bool arrives) {
  return run(named(all, "end_stamp"), in_blocks(at, 1, 1), task, arrives);
}

std::uint64_t run_content(const Kernels& all, Launch at, const GpuContentKernel& kernel) {
  return run(named(all, "content"), in_blocks(at, content_blocks, content_threads), kernel);
}

std::uint64_t run_codec(const Kernels& all, Launch at, const GpuCodecKernel& kernel) {
  return run(named(all, fmt::format("{}<{}u>", kernel.decodes ? "decode" : "encode", kernel.bits)),
             in_blocks(at, kernel.grid, codec_threads), kernel);
}

std::uint64_t run_step(const Kernels& all, Launch at, const GpuStep& step) {
  constexpr unsigned blocks_of_sm = 2048 / step_threads;
  const std::uint32_t blocks = blocks_of_step(threads_of(step), at.sms, blocks_of_sm);
  if (blocks == 0) return at.begin_ns;
  return std::visit(
      [&](const auto& kernel) {
        if constexpr (goes_in_tiles<std::decay_t<decltype(kernel)>>) {
          return run(named(all, name_in_tiles(kernel)),
                     in_blocks(at, attention_blocks(kernel.sizes), attention_threads), kernel);
        } else {
          return run(named(all, step_name<std::decay_t<decltype(kernel)>>()),
                     in_blocks(at, blocks, step_threads), kernel);
        }
      },
      step.kernel);
}

std::uint64_t run_clock_reader(const Kernels& all, Launch at, std::uint64_t* readings,
                               std::uint32_t count) {
  return run(named(all, "read_clock"), in_blocks(at, 1, 1), readings, count);
}

std::uint64_t run_cycle_counter(const Kernels& all, Launch at, std::uint64_t* numbers,
                                std::uint32_t rounds) {
  return run(named(all, "count_cycles"), in_blocks(at, 1, 1), numbers, rounds);
}

}  // namespace penstock::testing::ptx
