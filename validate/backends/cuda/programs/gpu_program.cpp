#include "validate/backends/cuda/programs/gpu_program.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>

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

constexpr const char* first_line = "penstock gpu program 1";
constexpr std::uint32_t most_lanes = 4096;

[[noreturn]] void fail(std::size_t line, const std::string& what) {
  throw std::runtime_error("line " + std::to_string(line) + ": " + what);
}

constexpr std::array passes{"none", "forward", "backward", "backward_input",
                            "backward_weight"};  // by GpuPass

GpuBody read_body(std::istringstream& words, std::size_t line) {
  GpuBody body;
  std::string pass;
  words >> body.stage >> pass;
  const auto found = std::find(passes.begin(), passes.end(), pass);
  std::string recomputes;
  words >> recomputes;
  if (found == passes.end() || !(recomputes.empty() || recomputes == "recomputes")) {
    fail(line, "expected: body STAGE PASS [recomputes]");
  }
  body.pass = static_cast<GpuPass>(found - passes.begin());
  body.recomputes = !recomputes.empty();
  return body;
}

GpuTask read_task(std::istringstream& words, const GpuProgram& program, std::size_t line) {
  GpuTask task;
  words >> task.lane >> task.duration_ns >> task.latency_ns >> task.bytes >> task.body >> task.slot;
  if (!words) fail(line, "expected: task LANE DURATION_NS LATENCY_NS BYTES BODY SLOT INPUT…");
  if (task.lane >= program.lanes()) fail(line, "there is no lane " + std::to_string(task.lane));
  for (std::uint32_t input = 0; words >> input;) {
    if (input >= program.tasks.size()) {
      fail(line, "input " + std::to_string(input) + " does not come before its task");
    }
    task.inputs.push_back(input);
  }
  if (!words.eof()) fail(line, "an input is not a number");
  return task;
}

void read_count(std::istringstream& words, std::uint32_t& count, std::size_t line) {
  if (!(words >> count) || count > most_lanes) fail(line, "expected a number up to 4096");
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

GpuProgram unpaced(GpuProgram program) {
  for (GpuTask& task : program.tasks) {
    if (program.is_copy(task)) task.duration_ns = task.latency_ns = 0;
  }
  return program;
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

std::string program_text(const NamedProgram& named) {
  const GpuProgram& program = named.program;
  std::ostringstream text;
  text << first_line << "\nname " << named.name << "\nranks " << program.ranks << "\nlinks "
       << program.links << "\n";
  for (const GpuBody& body : program.bodies) {
    text << "body " << body.stage << ' ' << passes[static_cast<std::size_t>(body.pass)]
         << (body.recomputes ? " recomputes" : "") << "\n";
  }
  for (const GpuTask& task : program.tasks) {
    text << "task " << task.lane << ' ' << task.duration_ns << ' ' << task.latency_ns << ' '
         << task.bytes << ' ' << task.body << ' ' << task.slot;
    for (const std::uint32_t input : task.inputs) text << ' ' << input;
    text << "\n";
  }
  return text.str();
}

NamedProgram read_program(std::string_view text) {
  std::istringstream lines{std::string(text)};
  std::string line;
  if (!std::getline(lines, line) || line != first_line) {
    fail(1, std::string("expected \"") + first_line + "\"");
  }
  NamedProgram named;
  GpuProgram& program = named.program;
  for (std::size_t number = 2; std::getline(lines, line); ++number) {
    std::istringstream words(line);
    std::string what;
    words >> what;
    if (what == "name") {
      words >> named.name;
    } else if (what == "ranks") {
      read_count(words, program.ranks, number);
    } else if (what == "links") {
      read_count(words, program.links, number);
    } else if (what == "body") {
      program.bodies.push_back(read_body(words, number));
    } else if (what == "task") {
      program.tasks.push_back(read_task(words, program, number));
    } else if (!what.empty()) {
      fail(number, "unknown \"" + what + "\"; known: name, ranks, links, body, task");
    }
  }
  if (named.name.empty() || program.tasks.empty()) fail(1, "there is no name, or no task");
  return named;
}

}  // namespace penstock
