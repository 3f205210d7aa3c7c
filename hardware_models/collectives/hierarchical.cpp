#include <algorithm>
#include <array>
#include <vector>

#include "hardware_models/collectives/registry.hpp"

namespace penstock::hierarchical_file {
namespace {

constexpr std::array<ServedKind, 5> kinds{
    {{CollectiveKind::all_reduce,
      "2 (l - 1) (B/l/bw_in + lat_in) + 2 (n/l - 1) (B/n/bw_out + lat_out)"},
     {CollectiveKind::reduce_scatter,
      "(l - 1) (B/l/bw_in + lat_in) + (n/l - 1) (B/n/bw_out + lat_out)"},
     {CollectiveKind::all_gather,
      "(n/l - 1) (B/n/bw_out + lat_out) + (l - 1) (B/l/bw_in + lat_in)"},
     {CollectiveKind::all_to_all,
      "(l - 1) (B/l/bw_in + lat_in) + (n/l - 1) (B l/n/bw_out + lat_out)"},
     {CollectiveKind::ring_exchange,
      "t_in + (n/l - 1) max(t_in, t_out), t_in = (l - 1) (B/bw_in + lat_in), t_out = B/bw_out + "
      "lat_out"}}};

/// One level of the hierarchy: rounds of sends.
struct Leg {
  double bytes;
  std::uint64_t times;
  Speed speed;
};

/// Rings inside each machine, and rings across machines among members with the same local rank,
/// over the NICs of all these at once. In uneven machines as many local ranks lead as the smallest
/// has members; the others pass their shards to them, and get theirs from them.
struct Legs {
  Leg inside;
  Leg across;
};

Legs legs_of(const CollectiveCall& call) {
  const Members& members = call.members;
  const std::uint64_t machines = members.machines(), most = members.per_machine;
  const auto leaders = static_cast<double>(members.fewest());
  const auto all = static_cast<double>(members.count), here = static_cast<double>(most);
  const Speed &in = call.reach.inside, &out = call.reach.outside;
  const double share = call.bytes / leaders;
  switch (call.kind) {
    case CollectiveKind::all_reduce:
      return {{share, most - 1, in},
              {share / static_cast<double>(machines), 2 * (machines - 1), out}};
    // A member also carries what its neighbours send to other machines.
    case CollectiveKind::all_to_all:
      return {{call.bytes / here, most - 1, in},
              {call.bytes * here * here / all / leaders, machines - 1, out}};
    // The blocks of a machine pass on to the next one while they are spread in it.
    case CollectiveKind::ring_exchange:
      return {{call.bytes, most - 1, in}, {call.bytes * here / leaders, machines - 1, out}};
    default:
      return {{share, most - 1, in}, {share / static_cast<double>(machines), machines - 1, out}};
  }
}

/// A ring of neighbours does in one machine what this does, and needs no more latencies.
bool applies_to(const CollectiveCall& call) {
  return call.kind != CollectiveKind::ring_exchange || call.members.mixed();
}

double leg_us(const Leg& leg) { return rounds_us(leg.times, leg.bytes, leg.speed); }

double us(const CollectiveCall& call) {
  const Legs legs = legs_of(call);
  if (call.kind == CollectiveKind::ring_exchange) {
    const double spread_us = leg_us(legs.inside);
    const double cross_us = rounds_us(1, legs.across.bytes, legs.across.speed);
    return spread_us + static_cast<double>(legs.across.times) * std::max(spread_us, cross_us);
  }
  const double back_us = call.kind == CollectiveKind::all_reduce ? leg_us(legs.inside) : 0;
  return leg_us(legs.inside) + leg_us(legs.across) + back_us;
}

Rounds exchange_rounds(const CollectiveCall& call, const Legs& legs) {
  // All members of each machine send a block to each other, at once.
  const Round spread = at_once(exchanges(by_machine(call.members), call.bytes));
  Rounds rounds = turns(across_machines(call.members), legs.across.bytes, legs.across.times);
  for (Round& round : rounds) {
    round.sendings.insert(round.sendings.end(), spread.sendings.begin(), spread.sendings.end());
  }
  if (!spread.sendings.empty()) rounds.push_back(spread);
  return rounds;
}

Rounds rounds(const CollectiveCall& call) {
  const Legs legs = legs_of(call);
  const std::vector<Cycle> machines = by_machine(call.members);
  const std::vector<Cycle> leaders = across_machines(call.members);
  if (call.kind == CollectiveKind::ring_exchange) return exchange_rounds(call, legs);
  if (call.kind == CollectiveKind::all_to_all) {
    return in_turn(exchanges(machines, legs.inside.bytes), exchanges(leaders, legs.across.bytes));
  }
  const Rounds inside = turns(machines, legs.inside.bytes, legs.inside.times);
  const Rounds across = turns(leaders, legs.across.bytes, legs.across.times);
  if (call.kind == CollectiveKind::all_gather) return in_turn(across, inside);
  if (call.kind == CollectiveKind::reduce_scatter) return in_turn(inside, across);
  return in_turn(in_turn(inside, across), inside);
}

}  // namespace

constinit extern const CollectiveEntry hierarchical_entry{
    "hierarchical",
    "rings inside machines of l members, then across machines among equal local ranks",
    kinds,
    us,
    rounds,
    applies_to};

}  // namespace penstock::hierarchical_file
