#include "validate/backends/cuda/programs/gpu_slots.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

namespace penstock {
namespace {

/// Which tasks end before others begin, by waits alone.
class Precedence {
 public:
  explicit Precedence(const GpuProgram& program) : program_(program), lanes_(program.lanes()) {
    std::vector<std::uint32_t> last(lanes_, UINT32_MAX);
    std::vector<std::uint32_t> count(lanes_);
    ended_.resize(program.tasks.size() * lanes_);
    for (std::uint32_t task = 0; task < program.tasks.size(); ++task) {
      const std::uint32_t lane = program.tasks[task].lane;
      if (last[lane] != UINT32_MAX) add(task, last[lane]);
      for (const std::uint32_t input : program.tasks[task].inputs) add(task, input);
      last[lane] = task;
      place_.push_back(++count[lane]);
    }
  }

  bool ends_before(std::uint32_t task, std::uint32_t other) const {
    return ended_[other * lanes_ + program_.tasks[task].lane] >= place_[task];
  }

 private:
  void add(std::uint32_t task, std::uint32_t earlier) {
    for (std::size_t lane = 0; lane < lanes_; ++lane) {
      std::uint32_t& own = ended_[task * lanes_ + lane];
      own = std::max(own, ended_[earlier * lanes_ + lane]);
    }
    std::uint32_t& own = ended_[task * lanes_ + program_.tasks[earlier].lane];
    own = std::max(own, place_[earlier]);
  }

  const GpuProgram& program_;
  std::size_t lanes_;
  std::vector<std::uint32_t> ended_;  // by task and lane: tasks of the lane that end before it
  std::vector<std::uint32_t> place_;  // by task: from 1 on its lane
};

/// The first slot whose last user is free; a new one if there is none.
std::uint32_t take_slot(std::vector<std::uint32_t>& users, std::uint32_t transfer,
                        const std::function<bool(std::uint32_t user)>& is_free) {
  const auto found = std::find_if(users.begin(), users.end(), is_free);
  const auto slot = static_cast<std::uint32_t>(found - users.begin());
  if (found == users.end()) users.push_back(transfer);
  users[slot] = transfer;
  return slot;
}

std::vector<std::vector<std::uint32_t>> readers_of(const GpuProgram& program) {
  std::vector<std::vector<std::uint32_t>> readers(program.tasks.size());
  for (std::uint32_t task = 0; task < program.tasks.size(); ++task) {
    for (const std::uint32_t input : program.tasks[task].inputs) readers[input].push_back(task);
  }
  return readers;
}

}  // namespace

std::vector<double> work_of_ranks(const GpuProgram& program) {
  std::vector<double> work(program.ranks);
  for (const GpuTask& task : program.tasks) {
    if (!program.is_transfer(task)) work[task.lane] += static_cast<double>(task.duration_ns);
  }
  return work;
}

std::vector<std::uint32_t> slots_of(const std::vector<std::uint64_t>& keys) {
  std::map<std::uint64_t, std::size_t> last;
  for (std::size_t use = 0; use < keys.size(); ++use) last[keys[use]] = use;
  std::map<std::uint64_t, std::uint32_t> held;
  std::set<std::uint32_t> free;
  std::vector<std::uint32_t> slots;
  for (std::size_t use = 0; use < keys.size(); ++use) {
    if (!held.contains(keys[use])) {
      if (free.empty()) free.insert(static_cast<std::uint32_t>(held.size()));
      held[keys[use]] = free.extract(free.begin()).value();
    }
    slots.push_back(held.at(keys[use]));
    if (last[keys[use]] != use) continue;
    free.insert(slots.back());
    held.erase(keys[use]);
  }
  return slots;
}

std::uint32_t producer_of(const GpuProgram& program, std::uint32_t transfer) {
  for (const std::uint32_t input : program.tasks[transfer].inputs) {
    if (!program.is_transfer(program.tasks[input])) return input;
  }
  return transfer;
}

TransferSlots transfer_slots(const GpuProgram& program) {
  if (std::none_of(program.tasks.begin(), program.tasks.end(),
                   [&](const GpuTask& task) { return program.is_copy(task); })) {
    return {};
  }
  const Precedence precedence(program);
  const auto readers = readers_of(program);
  std::vector<std::vector<std::uint32_t>> senders(program.links);  // the last user of each slot
  std::vector<std::vector<std::uint32_t>> receivers(program.links);
  TransferSlots slots;
  slots.from.resize(program.tasks.size());
  slots.to.resize(program.tasks.size());
  for (std::uint32_t task = 0; task < program.tasks.size(); ++task) {
    if (!program.is_copy(program.tasks[task])) continue;
    const std::uint32_t link = program.tasks[task].lane - program.ranks;
    const std::uint32_t producer = producer_of(program, task);
    slots.from[task] = take_slot(senders[link], task, [&](std::uint32_t user) {
      return precedence.ends_before(user, producer);
    });
    slots.to[task] = take_slot(receivers[link], task, [&](std::uint32_t user) {
      return std::all_of(readers[user].begin(), readers[user].end(), [&](std::uint32_t reader) {
        return precedence.ends_before(reader, task);
      });
    });
  }
  for (std::uint32_t link = 0; link < program.links; ++link) {
    slots.from_count.push_back(static_cast<std::uint32_t>(senders[link].size()));
    slots.to_count.push_back(static_cast<std::uint32_t>(receivers[link].size()));
  }
  return slots;
}

}  // namespace penstock
