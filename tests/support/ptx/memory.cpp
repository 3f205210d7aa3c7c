// Loads, stores, atomics and fences. A store is seen by other threads only later, and not in order,
// but for what a fence, a barrier or the end of the thread puts before it.
#include <functional>

#include "tests/support/ptx/thread.hpp"

namespace penstock::testing::ptx {
namespace {

enum class Space : std::uint8_t { parameters, shared, global };

template <Space space>
std::byte* place(Thread& thread, Register base, const Instruction& i, std::uint32_t bytes,
                 std::size_t number = 0) {
  const std::uint64_t address =
      thread.registers[base] + static_cast<std::uint64_t>(i.offset[number]);
  if (address % bytes != 0) throw std::runtime_error("misaligned address");
  if constexpr (space == Space::global) {
    if (address == 0) throw std::runtime_error("null address");
    return reinterpret_cast<std::byte*>(address);
  }
  const bool is_shared = space == Space::shared;
  const std::uint64_t size =
      is_shared ? thread.grid->kernel.shared_bytes : thread.grid->parameters.size();
  if (address > size || size - address < bytes) throw std::runtime_error("address out of bounds");
  return (is_shared ? thread.shared : thread.grid->parameters.data()) + address;
}

template <Space space, class T, std::uint32_t count>
void load(Thread& thread, const Instruction& i) {
  const std::byte* const from = place<space>(thread, i.at[count], i, count * sizeof(T));
  if (thread.pending_count > 0) thread.settle_at(from, count * sizeof(T));
  for (std::uint32_t at = 0; at < count; ++at) {
    T value{};
    std::memcpy(&value, from + at * sizeof(T), sizeof(T));
    put<T>(thread, i.at[at], value);
  }
}

/// A vector is `count` stores of which each comes alone.
template <Space space, class T, std::uint32_t count>
void store(Thread& thread, const Instruction& i) {
  std::byte* const to = place<space>(thread, i.at[0], i, count * sizeof(T));
  if (count * sizeof(T) == 16) ++thread.worked;
  thread.settle_at(to, count * sizeof(T));
  if (thread.pending_count == thread.pending.size()) thread.settle_any();
  PendingStore& pending = thread.pending[thread.pending_count++];
  pending.to = to;
  pending.bytes = count * sizeof(T);
  for (std::uint32_t at = 0; at < count; ++at) {
    const T value = get<T>(thread, i.at[1 + at]);
    std::memcpy(pending.value.data() + at * sizeof(T), &value, sizeof(T));
  }
}

/// Relaxed: at once for all, and no fence.
template <class T, class Function>
void atomic(Thread& thread, const Instruction& i) {
  std::byte* const at = place<Space::global>(thread, i.at[1], i, sizeof(T));
  thread.settle_at(at, sizeof(T));
  T before{};
  std::memcpy(&before, at, sizeof(T));
  const T after = Function{}(before, get<T>(thread, i.at[2]));
  std::memcpy(at, &after, sizeof(T));
  put<T>(thread, i.at[0], before);
}

void fence(Thread& thread, const Instruction&) { thread.settle_all(); }

void copy(const LaterCopy& one) {
  std::memset(one.to, 0, 16);
  std::memcpy(one.to, one.from, one.bytes);
}

/// At once, or only when its thread waits for it: that is drawn.
void copy_later(Thread& thread, const Instruction& i) {
  constexpr std::uint32_t bytes = 16;
  if (thread.registers[i.at[2]] != bytes) throw std::runtime_error("a copy of other than 16 bytes");
  LaterCopy made;
  made.to = place<Space::shared>(thread, i.at[0], i, bytes);
  made.from = place<Space::global>(thread, i.at[1], i, bytes, 1);
  made.bytes = get<std::uint32_t>(thread, i.at[3]);  // the rest are zeros
  if (made.bytes > bytes) throw std::runtime_error("a copy reads beyond what it writes");
  made.group = thread.copy_groups;
  if (thread.grid->random.below(2) == 0) return copy(made);
  thread.copies.push_back(made);
}

void close_copies(Thread& thread, const Instruction&) { ++thread.copy_groups; }

/// For all groups but the newest ones.
void wait_for_copies(Thread& thread, const Instruction& i) {
  const std::uint32_t left = get<std::uint32_t>(thread, i.at[0]);
  std::erase_if(thread.copies, [&](const LaterCopy& one) {
    const bool is_due = one.group + left < thread.copy_groups;
    if (is_due) copy(one);
    return is_due;
  });
}

template <Space space, class T>
void add_type_in(Operations& all, const std::string& name, const std::string& type) {
  all["ld." + name + "." + type] = load<space, T, 1>;
  all["ld." + name + ".v2." + type] = load<space, T, 2>;
  all["ld." + name + ".v4." + type] = load<space, T, 4>;
  if constexpr (space != Space::parameters) {
    all["st." + name + "." + type] = store<space, T, 1>;
    if constexpr (sizeof(T) <= 8) all["st." + name + ".v2." + type] = store<space, T, 2>;
    if constexpr (sizeof(T) <= 4) all["st." + name + ".v4." + type] = store<space, T, 4>;
  }
}

template <Space space>
void add_space(Operations& all, const std::string& name) {
  add_type_in<space, std::uint8_t>(all, name, "u8");
  add_type_in<space, std::uint16_t>(all, name, "u16");
  add_type_in<space, std::uint32_t>(all, name, "u32");
  add_type_in<space, std::uint64_t>(all, name, "u64");
  add_type_in<space, std::int8_t>(all, name, "s8");
  add_type_in<space, std::int16_t>(all, name, "s16");
  add_type_in<space, std::int32_t>(all, name, "s32");
  add_type_in<space, std::int64_t>(all, name, "s64");
  add_type_in<space, float>(all, name, "f32");
}

template <class T>
void add_atomics(Operations& all, const std::string& type) {
  all["atom.global.add." + type] = atomic<T, std::plus<>>;
  all["atom.global.min." + type] = atomic<T, Min>;
  all["atom.global.max." + type] = atomic<T, Max>;
}

}  // namespace

void add_memory(Operations& all) {
  add_space<Space::parameters>(all, "param");
  add_space<Space::shared>(all, "shared");
  add_space<Space::global>(all, "global");
  add_atomics<std::uint32_t>(all, "u32");
  add_atomics<std::uint64_t>(all, "u64");
  all["cp.async.cg.shared.global"] = copy_later;
  all["cp.async.commit_group"] = close_copies;
  all["cp.async.wait_group"] = wait_for_copies;
  all["membar.gl"] = fence;
  all["membar.sys"] = fence;
}

}  // namespace penstock::testing::ptx
