#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::testing::ptx {

struct Thread;
struct Instruction;
using Operation = void (*)(Thread&, const Instruction&);
/// What the threads of a warp do together.
using WarpOperation = void (*)(std::span<Thread> warp, const Instruction&);

/// A register of a thread. Constants of a kernel lie in registers too.
using Register = std::uint16_t;

// Registers of every kernel.
constexpr Register always = 0;  // 1: the guard of what has none
constexpr Register nowhere = 1;
constexpr Register thread_index = 2;
constexpr Register threads_of_block = 3;
constexpr Register block_index = 4;
constexpr Register blocks_of_grid = 5;
constexpr Register sm_index = 6;
constexpr Register first_own = 7;

struct Instruction {
  Operation run = nullptr;
  WarpOperation run_together = nullptr;  // once all lanes have come to it
  std::array<Register, 14> at = {};      // operands in the order of the text
  Register guard = always;
  bool wanted = true;                       // runs where the guard is this
  std::array<std::int64_t, 2> offset = {};  // of its addresses
  std::uint32_t target = 0;                 // of a branch
  std::uint32_t line = 0;                   // of the text
};

struct Parameter {
  std::uint32_t offset = 0;
  std::uint32_t bytes = 0;
};

struct Kernel {
  std::string name;
  std::vector<Instruction> code;
  std::vector<std::uint64_t> registers;  // of a thread at its begin
  std::vector<Parameter> parameters;
  std::uint32_t shared_bytes = 0;
  std::uint32_t most_threads = 1024;  // of a block
};

/// By name, without the namespace and the type of what they return: `encode<4u>`.
using Kernels = std::map<std::string, Kernel, std::less<>>;

/// The time of what a thread computes: its first `count` multiply-adds or stores of 16 bytes take
/// this long together. All else takes none.
struct Work {
  std::uint64_t count = 0;
  std::uint64_t ns = 0;
};

struct Launch {
  std::uint32_t blocks = 1;
  std::uint32_t threads = 1;   // of a block
  std::uint64_t begin_ns = 0;  // by the clock of the GPU
  std::uint32_t first_sm = 0;
  std::uint32_t sms = 1;
  Work work = {};
  std::uint32_t seed = 0;  // of the interleaving
};

/// The kernels of a text as nvcc writes it. Throws std::runtime_error with the line on everything
/// it does not know.
Kernels read_ptx(std::string_view text);

/// Runs a kernel with the bytes of its parameters, and returns when its last thread ends. Throws
/// std::runtime_error, with the line, the block and the thread, on what a GPU leaves undefined.
std::uint64_t run(const Kernel& kernel, const Launch& launch,
                  std::span<const std::span<const std::byte>> parameters);

template <class... Parameters>
std::uint64_t run(const Kernel& kernel, const Launch& launch, const Parameters&... parameters) {
  const std::vector<std::span<const std::byte>> all = {
      std::as_bytes(std::span<const Parameters, 1>(&parameters, 1))...};
  return run(kernel, launch, std::span(all));
}

/// What an instruction does, by its name and, where one name has several forms, the form; null: not
/// known.
Operation operation(std::string_view name);
/// What a warp does at it; null: nothing.
WarpOperation warp_operation(std::string_view name);

}  // namespace penstock::testing::ptx
