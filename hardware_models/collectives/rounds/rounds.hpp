#pragma once

#include <cstdint>
#include <vector>

namespace penstock {

/// The members of a group, numbered from 0. Each `per_machine` consecutive ones share a machine;
/// all machines hold equally many.
struct Members {
  std::uint64_t count = 1;
  std::uint64_t per_machine = 1;

  std::uint64_t machines() const { return count / per_machine; }
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

/// The rings of a group: members `stride` apart, `length` of them each.
struct Rings {
  std::uint64_t length;
  std::uint64_t stride = 1;
};

/// Every member sends to the one `ahead` places further in its ring, `times` times. Empty for rings
/// of one member or zero times.
Rounds turns(const Members& members, const Rings& rings, std::uint64_t ahead, double bytes,
             std::uint64_t times = 1);

/// Every member of a ring sends to every other one: first to the next, then to the second next, ….
Rounds exchanges(const Members& members, const Rings& rings, double bytes);

/// Stages that each chunk passes in order, one chunk per stage at a time: in round t, counted from
/// 0, stage s has chunk t - s. The transfers of a stage are those of one chunk.
Rounds pipelined(const std::vector<std::vector<Send>>& stages, std::uint64_t chunks);

/// Rounds followed by other rounds.
Rounds in_turn(Rounds first, const Rounds& second);

}  // namespace penstock
