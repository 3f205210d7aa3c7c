#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "tests/support/ptx/kernel.hpp"

namespace penstock::testing::ptx {

/// Numbers that are quick to draw (xorshift).
class Draws {
 public:
  explicit Draws(std::uint32_t seed) : state_(seed * 2654435769U | 1U) {}
  std::uint32_t next() {
    state_ ^= state_ << 13U;
    state_ ^= state_ >> 17U;
    state_ ^= state_ << 5U;
    return state_;
  }
  std::size_t below(std::size_t end) { return std::uint64_t{next()} * end >> 32U; }

 private:
  std::uint32_t state_;
};

/// What the threads of a grid share.
struct Grid {
  const Kernel& kernel;
  const Launch& launch;
  std::vector<std::byte> parameters;
  Draws random;
};

/// A store that other threads do not see yet.
struct PendingStore {
  std::byte* to = nullptr;
  std::uint32_t bytes = 0;
  std::array<std::byte, 16> value = {};
};

/// A copy to shared memory that has only been asked for.
struct LaterCopy {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::uint32_t bytes = 0;
  std::uint32_t group = 0;
};

enum class ThreadState : std::uint8_t { runs, yields, at_barrier, at_shuffle, at_warp, ended };

struct Thread {
  Grid* grid = nullptr;
  std::byte* shared = nullptr;  // memory of the block
  std::uint64_t* registers = nullptr;
  const Instruction* next = nullptr;
  ThreadState state = ThreadState::runs;

  // Its time. It passes in sleeps and in work that takes any.
  std::uint64_t base_ns = 0;
  std::uint64_t worked = 0;              // instructions that count as work
  std::uint64_t last_read = UINT64_MAX;  // of the clock
  std::uint32_t same_reads = 0;          // that gave this
  std::uint64_t awaited_ns = 0;          // what the clock was last compared with

  std::array<PendingStore, 4> pending = {};
  std::uint32_t pending_count = 0;
  std::vector<LaterCopy> copies;
  std::uint32_t copy_groups = 0;  // that are closed

  std::uint64_t now_ns() const {
    const Work& work = grid->launch.work;
    return base_ns + (work.count == 0 ? 0 : work.ns * std::min(worked, work.count) / work.count);
  }

  void settle(std::size_t at) {
    std::memcpy(pending[at].to, pending[at].value.data(), pending[at].bytes);
    std::copy(pending.begin() + at + 1, pending.begin() + pending_count, pending.begin() + at);
    --pending_count;
  }
  /// Other threads see all stores so far.
  void settle_all() {
    while (pending_count > 0) settle(0);
  }
  /// Stores to one place are seen in their order, and by their thread at once.
  void settle_at(const std::byte* begin, std::uint32_t bytes) {
    for (std::uint32_t at = 0; at < pending_count;) {
      const bool apart =
          pending[at].to + pending[at].bytes <= begin || begin + bytes <= pending[at].to;
      if (apart) {
        ++at;
      } else {
        settle(at);
      }
    }
  }
  /// Any of them may be the next that others see.
  void settle_any() {
    if (pending_count > 0) settle(grid->random.below(pending_count));
  }
};

template <class T>
T get(const Thread& thread, Register from) {
  if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(thread.registers[from]));
  } else {
    return static_cast<T>(thread.registers[from]);
  }
}

template <class T>
void put(Thread& thread, Register to, T value) {
  if constexpr (std::is_same_v<T, float>) {
    thread.registers[to] = std::bit_cast<std::uint32_t>(value);
  } else {
    thread.registers[to] = static_cast<std::uint64_t>(value);
  }
}

struct Min {
  template <class T>
  T operator()(T a, T b) const {
    return std::min(a, b);
  }
};
struct Max {
  template <class T>
  T operator()(T a, T b) const {
    return std::max(a, b);
  }
};

/// Runs the instructions that name it, whatever their order among each other.
using Operations = std::map<std::string, Operation, std::less<>>;
void add_integers(Operations& all);
void add_floats(Operations& all);
void add_memory(Operations& all);
void add_control(Operations& all);
void add_warps(Operations& all);

}  // namespace penstock::testing::ptx
