#include <fmt/format.h>

#include <memory>
#include <string>

#include "tests/support/ptx/thread.hpp"

// Several blocks of a grid run at a time. Which thread goes on, and for how long, is drawn.

namespace penstock::testing::ptx {
namespace {

constexpr std::uint32_t most_resident = 3;  // blocks at a time
constexpr std::uint32_t most_steps = 128;   // of a thread before another goes on
constexpr std::uint32_t lanes = 32;         // of a warp

/// The lane whose value each lane of `shfl.bfly` gets: in its own segment, or itself.
std::uint32_t partner(std::uint32_t lane, std::uint32_t flip, std::uint32_t bounds) {
  const std::uint32_t segment = bounds >> 8U & 31U;
  const std::uint32_t last = (lane & segment) | (bounds & 31U & ~segment);
  return (lane ^ flip) <= last ? lane ^ flip : lane;
}

class Block {
 public:
  Block(Grid& grid, std::uint32_t index) : grid_(grid), index_(index) {
    const Kernel& kernel = grid.kernel;
    const Launch& launch = grid.launch;
    shared_.resize(kernel.shared_bytes / sizeof(std::max_align_t) + 1);
    threads_.resize(launch.threads);
    registers_.reserve(launch.threads * kernel.registers.size());
    for (std::uint32_t at = 0; at < launch.threads; ++at) {
      registers_.insert(registers_.end(), kernel.registers.begin(), kernel.registers.end());
      begin(threads_[at], at);
      running_.push_back(at);
    }
  }

  bool is_over() const { return ended_ == threads_.size(); }
  std::uint64_t end_ns() const { return end_ns_; }

  /// Runs some thread for a while.
  void step() {
    if (running_.empty()) stands_still();
    const std::size_t place = drawn_place();
    Thread& thread = threads_[running_[place]];
    try {
      advance(thread);
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(error.what() + where(thread));
    }
    if (thread.state == ThreadState::runs) return;
    running_[place] = running_.back();
    running_.pop_back();
    stopped(thread);
  }

 private:
  void begin(Thread& thread, std::uint32_t index) {
    const Launch& launch = grid_.launch;
    thread.grid = &grid_;
    thread.shared = reinterpret_cast<std::byte*>(shared_.data());
    thread.registers = registers_.data() + index * grid_.kernel.registers.size();
    thread.next = grid_.kernel.code.data();
    thread.base_ns = launch.begin_ns;
    thread.registers[thread_index] = index;
    thread.registers[threads_of_block] = launch.threads;
    thread.registers[block_index] = index_;
    thread.registers[blocks_of_grid] = launch.blocks;
    thread.registers[sm_index] = launch.first_sm + index_ % launch.sms;
  }

  /// Some warp gets ahead of the others, and after a while another one.
  std::size_t drawn_place() {
    constexpr std::uint32_t turn = 512;
    if (grid_.random.below(turn) == 0) ahead_ = grid_.random.below(threads_.size()) / lanes;
    std::size_t place = grid_.random.below(running_.size());
    for (int tries = 0; tries < 6 && running_[place] / lanes != ahead_; ++tries) {
      place = grid_.random.below(running_.size());
    }
    return place;
  }

  void advance(Thread& thread) {
    std::size_t steps = grid_.random.below(grid_.random.below(most_steps) + 1) + 1;  // often few
    for (; steps > 0 && thread.state == ThreadState::runs; --steps) {
      const Instruction& now = *thread.next++;
      if ((thread.registers[now.guard] != 0) == now.wanted) now.run(thread, now);
    }
    thread.settle_any();
    if (thread.state == ThreadState::yields) thread.state = ThreadState::runs;
  }

  void stopped(Thread& thread) {
    if (thread.state == ThreadState::at_shuffle) return shuffle(thread);
    if (thread.state == ThreadState::at_warp) return together(thread);
    thread.settle_all();
    if (thread.state == ThreadState::ended) {
      ++ended_;
      end_ns_ = std::max(end_ns_, thread.now_ns());
    } else {
      ++arrived_;
    }
    if (arrived_ > 0 && arrived_ + ended_ == threads_.size()) release_barrier();
  }

  /// What has ended is not waited for.
  void release_barrier() {
    std::uint64_t now = 0;
    for (const Thread& thread : threads_) {
      if (thread.state == ThreadState::at_barrier) now = std::max(now, thread.now_ns());
    }
    for (Thread& thread : threads_) {
      if (thread.state != ThreadState::at_barrier) continue;
      thread.base_ns += now - thread.now_ns();
      go_on(thread);
    }
    arrived_ = 0;
  }

  void go_on(Thread& thread) {
    thread.state = ThreadState::runs;
    running_.push_back(static_cast<std::uint32_t>(&thread - threads_.data()));
  }

  /// Once all lanes of the mask have come to the same shuffle.
  void shuffle(Thread& last) {
    const Instruction& now = last.next[-1];
    const Register to = now.at[0], has_source = now.at[1], from = now.at[2];
    const Register flip = now.at[3], bounds = now.at[4], members = now.at[5];
    const auto mask = get<std::uint32_t>(last, members);
    const auto own = static_cast<std::uint32_t>(&last - threads_.data());
    const std::span<Thread> warp = warp_of(own);
    if ((mask >> own % lanes & 1U) == 0) fail(last, "a lane is not in the mask of its shuffle");
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
      if ((mask >> lane & 1U) == 0) continue;
      if (lane >= warp.size() || warp[lane].state == ThreadState::ended) {
        fail(last, "a shuffle waits for a lane that has ended");
      }
      const Thread& other = warp[lane];
      if (other.state != ThreadState::at_shuffle || other.next != last.next) return;
      if (get<std::uint32_t>(other, members) != mask)
        fail(last, "lanes of a shuffle differ in masks");
    }
    std::array<std::uint32_t, lanes> values{};
    for (std::uint32_t lane = 0; lane < warp.size(); ++lane) {
      if ((mask >> lane & 1U) != 0) values[lane] = get<std::uint32_t>(warp[lane], from);
    }
    for (std::uint32_t lane = 0; lane < warp.size(); ++lane) {
      if ((mask >> lane & 1U) == 0) continue;
      Thread& thread = warp[lane];
      const std::uint32_t source =
          partner(lane, get<std::uint32_t>(thread, flip), get<std::uint32_t>(thread, bounds));
      if ((mask >> source & 1U) == 0) fail(thread, "a shuffle reads a lane outside of its mask");
      put<bool>(thread, has_source, source != lane || get<std::uint32_t>(thread, flip) == 0);
      put<std::uint32_t>(thread, to, values[source]);
      go_on(thread);
    }
  }

  /// Says why: a lane may have ended after others began to wait for it.
  [[noreturn]] void stands_still() {
    for (Thread& thread : threads_) {
      if (thread.state == ThreadState::at_shuffle) shuffle(thread);
      if (thread.state == ThreadState::at_warp) together(thread);
    }
    fail(threads_.front(), "standstill");
  }

  std::span<Thread> warp_of(std::uint32_t thread) {
    const std::size_t first = thread / lanes * lanes;
    return std::span(threads_).subspan(first,
                                       std::min<std::size_t>(lanes, threads_.size() - first));
  }

  /// Once all lanes of the warp have come to the same instruction.
  void together(Thread& last) {
    const std::span<Thread> warp = warp_of(static_cast<std::uint32_t>(&last - threads_.data()));
    if (warp.size() < lanes) fail(last, "a warp is not whole");
    for (const Thread& other : warp) {
      if (other.state == ThreadState::ended) fail(last, "a warp waits for a lane that has ended");
      if (other.state != ThreadState::at_warp || other.next != last.next) return;
    }
    try {
      const Instruction& now = last.next[-1];
      now.run_together(warp, now);
    } catch (const std::runtime_error& error) {
      fail(last, error.what());
    }
    for (Thread& thread : warp) go_on(thread);
  }

  [[noreturn]] void fail(const Thread& thread, const std::string& what) const {
    throw std::runtime_error(what + where(thread));
  }

  std::string where(const Thread& thread) const {
    return fmt::format(", line {} of {}, thread {} of block {}", thread.next[-1].line,
                       grid_.kernel.name, &thread - threads_.data(), index_);
  }

  Grid& grid_;
  std::uint32_t index_;
  std::vector<std::max_align_t> shared_;
  std::vector<std::uint64_t> registers_;
  std::vector<Thread> threads_;
  std::vector<std::uint32_t> running_;
  std::size_t ahead_ = 0;    // a warp
  std::size_t arrived_ = 0;  // at the barrier
  std::size_t ended_ = 0;
  std::uint64_t end_ns_ = 0;
};

std::vector<std::byte> packed(const Kernel& kernel,
                              std::span<const std::span<const std::byte>> parameters) {
  bool fits = parameters.size() == kernel.parameters.size();
  std::vector<std::byte> made;
  for (std::size_t at = 0; fits && at < parameters.size(); ++at) {
    const Parameter& place = kernel.parameters[at];
    fits = parameters[at].size() == place.bytes;
    made.resize(place.offset);
    made.insert(made.end(), parameters[at].begin(), parameters[at].end());
  }
  if (!fits) throw std::runtime_error(kernel.name + " has other parameters");
  return made;
}

}  // namespace

std::uint64_t run(const Kernel& kernel, const Launch& launch,
                  std::span<const std::span<const std::byte>> parameters) {
  if (launch.threads == 0 || launch.threads > kernel.most_threads || launch.blocks == 0) {
    throw std::runtime_error(kernel.name + " cannot run in such blocks");
  }
  Grid grid{kernel, launch, packed(kernel, parameters), Draws(launch.seed)};
  std::vector<std::unique_ptr<Block>> resident;
  std::uint64_t end_ns = launch.begin_ns;
  for (std::uint32_t begun = 0; begun < launch.blocks || !resident.empty();) {
    if (begun < launch.blocks && resident.size() < most_resident) {
      resident.push_back(std::make_unique<Block>(grid, begun++));
    }
    std::unique_ptr<Block>& block = resident[grid.random.below(resident.size())];
    block->step();
    if (!block->is_over()) continue;
    end_ns = std::max(end_ns, block->end_ns());
    block = std::move(resident.back());
    resident.pop_back();
  }
  return end_ns;
}

}  // namespace penstock::testing::ptx
