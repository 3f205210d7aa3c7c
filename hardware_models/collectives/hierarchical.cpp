#include <array>
#include <utility>
#include <vector>

#include "hardware_models/collectives/registry.hpp"

namespace penstock {
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
      "(n/l - 1) (B/bw_out + lat_out) + n/l (l - 1) (B/bw_in + lat_in)"}}};

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
    // The blocks of each machine in turn.
    case CollectiveKind::ring_exchange:
      return {{call.bytes, machines * (most - 1), in},
              {call.bytes * here / leaders, machines - 1, out}};
    default:
      return {{share, most - 1, in}, {share / static_cast<double>(machines), machines - 1, out}};
  }
}

double leg_us(const Leg& leg) { return rounds_us(leg.times, leg.bytes, leg.speed); }

double us(const CollectiveCall& call) {
  const Legs legs = legs_of(call);
  const double back_us = call.kind == CollectiveKind::all_reduce ? leg_us(legs.inside) : 0;
  return leg_us(legs.inside) + leg_us(legs.across) + back_us;
}

/// Blocks pass round each machine, then to the next one, and round it.
Rounds exchange_rounds(const CollectiveCall& call, const Legs& legs) {
  const Rounds inside =
      turns(inside_machines(call.members), legs.inside.bytes, call.members.per_machine - 1);
  const Rounds across = turns(across_machines(call.members), legs.across.bytes);
  Rounds rounds = inside;
  for (std::uint64_t i = 1; i < call.members.machines(); ++i) {
    rounds = in_turn(in_turn(std::move(rounds), across), inside);
  }
  return rounds;
}

Rounds rounds(const CollectiveCall& call) {
  const Legs legs = legs_of(call);
  const std::vector<Cycle> machines = inside_machines(call.members);
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
    "rings inside machines of l members, then across machines among equal local ranks", kinds, us,
    rounds};

}  // namespace penstock
