#pragma once

#include <cstdint>
#include <vector>

#include "sim/costs/topology.hpp"

namespace penstock {

/// The members of a group, numbered from 0, machine by machine. Without `spans` and `least` they
/// lie as evenly as they can: {11, 6} is six in one machine and five in another.
struct Members {
  std::uint64_t count = 1;
  std::uint64_t per_machine = 1;  // in the machine with most of them
  std::uint64_t spans = 0;        // machines; 0: as few as hold them
  std::uint64_t least = 0;        // in the machine with fewest of them; 0: laid evenly

  std::uint64_t machines() const {
    return spans != 0 ? spans : (count + per_machine - 1) / per_machine;
  }
  std::uint64_t fewest() const { return least != 0 ? least : count / machines(); }
  bool even() const { return fewest() == per_machine; }
  bool mixed() const { return machines() > 1 && per_machine > 1; }
};

/// A transfer from one member to another.
struct Send {
  std::uint32_t from;
  std::uint32_t to;
  double bytes;
};

/// Concurrent transfers of members, repeated `times` times in a row.
struct Round {
  std::vector<Send> sendings;
  std::uint64_t times = 1;
};

/// The transfers of a collective: each round starts when the previous one has ended everywhere.
using Rounds = std::vector<Round>;

/// Members that pass something on in order, the last one to the first.
using Cycle = std::vector<std::uint32_t>;

/// One cycle through all members.
std::vector<Cycle> through_all(const Members& members);
/// One cycle in each machine, whose members lie evenly; the first machines hold one more.
std::vector<Cycle> by_machine(const Members& members);
/// Cycles across machines among members with the same local rank, for the ranks that every machine
/// has.
std::vector<Cycle> across_machines(const Members& members);
/// As many cycles through all members as every machine has members: each leaves a machine by the
/// NIC of another member, and reaches the next one at the same local rank. One cycle in one
/// machine.
std::vector<Cycle> by_all_nics(const Members& members);

/// Every member of a cycle sends to the next one, `times` times. Cycles of one member are silent.
/// Transfers between the same two members are one.
Rounds turns(const std::vector<Cycle>& cycles, double bytes, std::uint64_t times = 1);

/// Every member of a cycle sends to every other one: first to the next, then to the second next, ….
Rounds exchanges(const std::vector<Cycle>& cycles, double bytes);

/// Every member sends to every other one, first inside machines. In each round all are `ahead` by
/// the same number of machines and local ranks.
Rounds pairs(const Members& members, double bytes);

/// Stages that each chunk passes in order, one chunk per stage at a time: in round t, counted from
/// 0, stage s has chunk t - s. The transfers of a stage are those of one chunk.
Rounds pipelined(const std::vector<std::vector<Send>>& stages, std::uint64_t chunks);

/// Rounds followed by other rounds.
Rounds in_turn(Rounds first, const Rounds& second);
/// All transfers of rounds at the same time.
Round at_once(const Rounds& rounds);

/// The number of chunks that roughly minimises the time through `stages` consecutive stages:
/// (stages + k - 1) (bytes / k / bw + lat) is smallest at the square root of (stages - 1) bytes /
/// bw / lat. At most 1024: without latency more would always be better.
std::uint64_t chunks_for(std::uint64_t stages, double bytes, const Speed& speed);

/// Microseconds of rounds over the links of a topology. The event engine runs each distinct round
/// as flows with max-min fair sharing; a round ends when all flows have arrived. `nodes` gives each
/// member's node. A round must fit in the clock, 104 days. Throws InputError when there is no route
/// between two members.
double flows_us(const Rounds& rounds, const Router& router, const std::vector<Node>& members);

}  // namespace penstock
