#include "hardware_models/collectives/rounds/rounds.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace penstock {
namespace {

/// The members of a machine in a row from `entry` to `exit`, up or down from the entry. In another
/// order when both are the same.
Cycle path(const Cycle& machine, std::size_t entry, std::size_t exit) {
  const std::size_t size = machine.size();
  const bool down = exit == (entry + 1) % size;
  Cycle row{machine[entry]};
  for (std::size_t i = 1; i < size; ++i) {
    const std::size_t local = (entry + (down ? size - i : i)) % size;
    if (local != exit) row.push_back(machine[local]);
  }
  if (exit != entry) row.push_back(machine[exit]);
  return row;
}

/// The local rank at which cycle `ring` leaves machine `from` for the next of `machines`. Machines
/// with one member have no choice; a machine is entered and left at different ranks.
std::size_t rail(std::size_t ring, std::size_t from, std::size_t machines, std::size_t rails) {
  const bool closes_odd = machines % 2 == 1 && from + 1 == machines;
  return (ring + (closes_odd ? 2 : from % 2)) % rails;
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

std::vector<Cycle> by_machine(const Members& members) {
  const std::uint64_t machines = members.machines();
  std::vector<Cycle> all;
  std::uint32_t first = 0;
  for (std::uint64_t machine = 0; machine < machines; ++machine) {
    const std::uint64_t here =
        members.count / machines + (machine < members.count % machines ? 1 : 0);
    Cycle& own = all.emplace_back(here);
    std::iota(own.begin(), own.end(), first);
    first += static_cast<std::uint32_t>(here);
  }
  return all;
}

std::vector<Cycle> through_all(const Members& members) {
  Cycle all(members.count);
  std::iota(all.begin(), all.end(), 0U);
  return {all};
}

std::vector<Cycle> inside_machines(const Members& members) { return by_machine(members); }

std::vector<Cycle> across_machines(const Members& members) {
  const std::vector<Cycle> machines = by_machine(members);
  std::vector<Cycle> all(machines.back().size());
  for (const Cycle& machine : machines) {
    for (std::size_t local = 0; local < all.size(); ++local) all[local].push_back(machine[local]);
  }
  return all;
}

std::vector<Cycle> by_all_nics(const Members& members) {
  const std::vector<Cycle> machines = by_machine(members);
  if (machines.size() == 1) return machines;
  const std::size_t rails = machines.back().size();
  std::vector<Cycle> all(rails);
  for (std::size_t ring = 0; ring < rails; ++ring) {
    for (std::size_t i = 0; i < machines.size(); ++i) {
      const std::size_t before = (i + machines.size() - 1) % machines.size();
      const Cycle row = path(machines[i], rail(ring, before, machines.size(), rails),
                             rail(ring, i, machines.size(), rails));
      all[ring].insert(all[ring].end(), row.begin(), row.end());
    }
  }
  return all;
}

Rounds turns(const std::vector<Cycle>& cycles, double bytes, std::uint64_t times) {
  if (times == 0) return {};
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> sums;
  for (const Cycle& cycle : cycles) {
    if (cycle.size() == 1) continue;
    for (std::size_t i = 0; i < cycle.size(); ++i) {
      sums[{cycle[i], cycle[(i + 1) % cycle.size()]}] += bytes;
    }
  }
  if (sums.empty()) return {};
  Round round{{}, times};
  for (const auto& [ends, sum] : sums) round.sendings.push_back({ends.first, ends.second, sum});
  return {round};
}

Rounds exchanges(const std::vector<Cycle>& cycles, double bytes) {
  Rounds rounds;
  const std::size_t longest =
      std::max_element(cycles.begin(), cycles.end(), [](const Cycle& a, const Cycle& b) {
        return a.size() < b.size();
      })->size();
  for (std::size_t ahead = 1; ahead < longest; ++ahead) {
    Round round;
    for (const Cycle& cycle : cycles) {
      for (std::size_t i = 0; ahead < cycle.size() && i < cycle.size(); ++i) {
        round.sendings.push_back({cycle[i], cycle[(i + ahead) % cycle.size()], bytes});
      }
    }
    rounds.push_back(std::move(round));
  }
  return rounds;
}

Rounds pairs(const Members& members, double bytes) {
  const std::vector<Cycle> machines = by_machine(members);
  const std::size_t most = machines.front().size();
  Rounds rounds;
  for (std::size_t ahead = 1; ahead < machines.size() * most; ++ahead) {
    Round round;
    for (std::size_t from = 0; from < machines.size(); ++from) {
      const Cycle& there = machines[(from + ahead / most) % machines.size()];
      for (std::size_t local = 0; local < machines[from].size(); ++local) {
        const std::size_t target = (local + ahead) % most;
        if (target < there.size())
          round.sendings.push_back({machines[from][local], there[target], bytes});
      }
    }
    if (!round.sendings.empty()) rounds.push_back(std::move(round));
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
