#pragma once

#include <cstdint>
#include <vector>

namespace penstock {

/// The members of a group, numbered from 0; each `per_machine` that follow one another share a
/// machine, of which all are equally full.
struct Members {
  std::uint64_t count = 1;
  std::uint64_t per_machine = 1;

  std::uint64_t machines() const { return count / per_machine; }
};

/// Bytes from one member to another.
struct Sending {
  std::uint32_t from;
  std::uint32_t to;
  double bytes;
};

/// What members send at once, and how often they do so, one time after the other.
struct Round {
  std::vector<Sending> sendings;
  std::uint64_t times = 1;
};

/// What a collective sends: each round begins when the one before it is over everywhere.
using Rounds = std::vector<Round>;

/// Rings into which a group falls apart: members that are `stride` apart, `length` of them each.
struct Rings {
  std::uint64_t length;
  std::uint64_t stride = 1;
};

/// Every member sends to the one that is `ahead` places further in its ring, so many times. Nothing
/// where rings are of one member or times are 0.
Rounds turns(const Members& members, const Rings& rings, std::uint64_t ahead, double bytes,
             std::uint64_t times = 1);

/// Every member of a ring sends to every other one: to the next first, then to the one after it, ….
Rounds exchanges(const Members& members, const Rings& rings, double bytes);

/// Stages that each chunk passes in order, every stage working on one chunk at a time: in round t,
/// counted from 0, stage s has chunk t - s. The sendings of a stage are those of one chunk.
Rounds pipelined(const std::vector<std::vector<Sending>>& stages, std::uint64_t chunks);

/// Rounds after other rounds.
Rounds in_turn(Rounds first, const Rounds& second);

}  // namespace penstock
