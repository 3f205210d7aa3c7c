// Branches, clocks, and where threads wait for each other.
#include "tests/support/ptx/thread.hpp"

namespace penstock::testing::ptx {
namespace {

constexpr std::uint64_t tick_ns = 32;  // of the clock
constexpr std::uint32_t reads_of_tick = 64;
constexpr std::uint64_t cycles_of_ns = 2;

void branch(Thread& thread, const Instruction& i) {
  thread.next = thread.grid->kernel.code.data() + i.target;
}

void end(Thread& thread, const Instruction&) { thread.state = ThreadState::ended; }
void barrier(Thread& thread, const Instruction& i) {
  if (thread.registers[i.at[0]] != 0) throw std::runtime_error("a barrier other than 0");
  thread.state = ThreadState::at_barrier;
}
void shuffle(Thread& thread, const Instruction&) { thread.state = ThreadState::at_shuffle; }

/// A thread that only reads the clock sees it go on.
void read_clock(Thread& thread, const Instruction& i) {
  if (thread.now_ns() != thread.last_read) {
    thread.same_reads = 0;
  } else if (++thread.same_reads == reads_of_tick) {
    thread.same_reads = 0;
    thread.base_ns += tick_ns;
  }
  thread.last_read = thread.now_ns();
  put<std::uint64_t>(thread, i.at[0], thread.last_read);
}

void read_cycles(Thread& thread, const Instruction& i) {
  put<std::uint64_t>(thread, i.at[0], cycles_of_ns * thread.now_ns());
}

/// Until what the clock was compared with has come; the steps between would change nothing.
void sleep(Thread& thread, const Instruction& i) {
  const std::uint64_t now = thread.now_ns();
  const std::uint64_t until =
      thread.awaited_ns > now ? thread.awaited_ns : now + get<std::uint32_t>(thread, i.at[0]);
  thread.base_ns += until - now;
  thread.awaited_ns = 0;
  thread.state = ThreadState::yields;
}

}  // namespace

void add_control(Operations& all) {
  all["bra"] = branch;
  all["bra.uni"] = branch;
  all["ret"] = end;
  all["bar.sync"] = barrier;
  all["shfl.sync.bfly.b32"] = shuffle;
  all["mov.u64 %globaltimer"] = read_clock;
  all["mov.u64 %clock64"] = read_cycles;
  all["nanosleep.u32"] = sleep;
}

Operation operation(std::string_view name) {
  static const Operations all = [] {
    Operations made;
    add_integers(made);
    add_floats(made);
    add_memory(made);
    add_control(made);
    add_warps(made);
    return made;
  }();
  const auto found = all.find(name);
  return found == all.end() ? nullptr : found->second;
}

}  // namespace penstock::testing::ptx
