#include "hardware_models/collectives/rounds/rounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/engines/events.hpp"

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

/// A plan in which every member is a rank and starts all its transfers of a round at once.
class RoundPlan {
 public:
  RoundPlan(const Router& router, const std::vector<Node>& members)
      : router_(router), members_(members) {
    round_.plan.ranks = static_cast<std::uint32_t>(members.size());
    round_.plan.microbatches = 1;
    round_.conditions.network.links = router.topology().links;
    for (const Rank rank : Numbers<Rank>(round_.plan.ranks)) {
      add_class({.pass = Pass::forward, .stage = Stage{index(rank)}, .resource = index(rank)}, {});
      add_task(round_.plan, index(rank), Microbatch{0}, no_task);
    }
  }

  void add(const Send& sending) {
    Route route = route_of(sending);
    const auto& links = round_.conditions.network.links;
    TransferTime time{occupied_us(sending.bytes, links, route), 0};
    for (const std::uint32_t link : route) time.latency_us += links[link].latency_us;
    const std::uint32_t resource = round_.plan.resources();
    round_.plan.links.push_back({Rank{sending.from}, Rank{sending.to}});
    round_.plan.in_one_order.push_back(true);  // one transfer each
    round_.conditions.network.routes.push_back(std::move(route));
    const std::uint32_t work = add_class(
        {.pass = Pass::send_activation, .stage = Stage{sending.from}, .resource = resource}, time);
    add_task(round_.plan, work, Microbatch{0}, sending.from);  // the member's only action
  }

  Time run() const {
    const RunOutcome outcome = run_events(round_);
    if (const auto* halt = std::get_if<Standstill>(&outcome)) throw std::logic_error(halt->text);
    return makespan(round_.plan, std::get<Timeline>(outcome));
  }

 private:
  Route route_of(const Send& sending) const {
    if (auto route = router_.route(members_[sending.from], members_[sending.to])) return *route;
    throw InputError("/hardware/topology",
                     fmt::format("no route from member {} of a group to member {}; connect them",
                                 sending.from, sending.to));
  }

  std::uint32_t add_class(const WorkClass& work, const TransferTime& time) {
    round_.plan.classes.push_back(work);
    round_.costs.duration.push_back(from_us(time.occupies_us));
    round_.costs.latency.push_back(from_us(time.latency_us));
    return static_cast<std::uint32_t>(round_.plan.classes.size() - 1);
  }

  const Router& router_;
  const std::vector<Node>& members_;
  PricedPlan round_;
};

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
      std::ranges::max_element(cycles, {}, [](const Cycle& c) { return c.size(); })->size();
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

Round at_once(const Rounds& rounds) {
  Round all;
  for (const Round& round : rounds) {
    all.sendings.insert(all.sendings.end(), round.sendings.begin(), round.sendings.end());
  }
  return all;
}

std::uint64_t chunks_for(std::uint64_t stages, double bytes, const Speed& speed) {
  constexpr double most = 1024;
  const double whole_us = bytes / speed.bandwidth_bytes_per_s * 1e6;
  const double waiting_us = static_cast<double>(stages - 1) * whole_us;
  if (waiting_us == 0) return 1;
  const double best = speed.latency_us == 0 ? most : std::sqrt(waiting_us / speed.latency_us);
  return static_cast<std::uint64_t>(std::clamp(std::round(best), 1.0, most));
}

double flows_us(const Rounds& rounds, const Router& router, const std::vector<Node>& members) {
  double sum_us = 0;
  for (const Round& round : rounds) {
    RoundPlan plan(router, members);
    for (const Send& sending : round.sendings) plan.add(sending);
    sum_us += static_cast<double>(round.times) * to_us(plan.run());
  }
  return sum_us;
}

}  // namespace penstock
