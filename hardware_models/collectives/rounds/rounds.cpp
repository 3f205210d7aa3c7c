#include "hardware_models/collectives/rounds/rounds.hpp"

#include <algorithm>

namespace penstock {
namespace {

/// The member this many places further in the ring of another.
std::uint64_t further(const Rings& rings, std::uint64_t member, std::uint64_t ahead) {
  const std::uint64_t place = member / rings.stride % rings.length;
  const std::uint64_t first = member - place * rings.stride;
  return first + (place + ahead) % rings.length * rings.stride;
}

/// The stages active in a round: from the one with the last chunk in flight to the one with the
/// first.
struct Working {
  std::uint64_t first;
  std::uint64_t last;
  friend bool operator==(const Working&, const Working&) = default;
};

Round round_of(const std::vector<std::vector<Send>>& stages, const Working& working) {
  Round round;
  for (std::uint64_t stage = working.first; stage <= working.last; ++stage) {
    round.sendings.insert(round.sendings.end(), stages[stage].begin(), stages[stage].end());
  }
  return round;
}

}  // namespace

Rounds turns(const Members& members, const Rings& rings, std::uint64_t ahead, double bytes,
             std::uint64_t times) {
  if (rings.length == 1 || times == 0) return {};
  Round round{{}, times};
  for (std::uint64_t member = 0; member < members.count; ++member) {
    round.sendings.push_back({static_cast<std::uint32_t>(member),
                              static_cast<std::uint32_t>(further(rings, member, ahead)), bytes});
  }
  return {round};
}

Rounds exchanges(const Members& members, const Rings& rings, double bytes) {
  Rounds rounds;
  for (std::uint64_t ahead = 1; ahead < rings.length; ++ahead) {
    rounds = in_turn(std::move(rounds), turns(members, rings, ahead, bytes));
  }
  return rounds;
}

Rounds pipelined(const std::vector<std::vector<Send>>& stages, std::uint64_t chunks) {
  Rounds rounds;
  Working before{1, 0};  // none
  for (std::uint64_t t = 0; t + 1 < stages.size() + chunks; ++t) {
    const Working working{t < chunks ? 0 : t - chunks + 1,
                          std::min<std::uint64_t>(t, stages.size() - 1)};
    if (working == before) {
      ++rounds.back().times;
    } else {
      rounds.push_back(round_of(stages, working));
    }
    before = working;
  }
  return rounds;
}

Rounds in_turn(Rounds first, const Rounds& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace penstock
