#include <array>

#include "hardware_models/collectives/registry.hpp"

namespace penstock {
namespace {

constexpr std::array<ServedKind, 4> kinds{
    {{CollectiveKind::all_reduce,
      "2 (l - 1) (B/l/bw_in + lat_in) + 2 (n/l - 1) (B/n/bw_out + lat_out)"},
     {CollectiveKind::reduce_scatter,
      "(l - 1) (B/l/bw_in + lat_in) + (n/l - 1) (B/n/bw_out + lat_out)"},
     {CollectiveKind::all_gather,
      "(n/l - 1) (B/n/bw_out + lat_out) + (l - 1) (B/l/bw_in + lat_in)"},
     {CollectiveKind::all_to_all,
      "(l - 1) (B/l/bw_in + lat_in) + (n/l - 1) (B l/n/bw_out + lat_out)"}}};

/// One level of the hierarchy, on which rings send.
struct Leg {
  Rings rings;
  double bytes;
  std::uint64_t times;
  Speed speed;
};

/// Rings inside each machine, and rings across machines among members with the same local rank,
/// over the NICs of all members at once.
struct Legs {
  Leg inside;
  Leg across;
};

Legs legs_of(const CollectiveCall& call) {
  const Members& members = call.members;
  const std::uint64_t machines = members.machines();
  const bool twice = call.kind == CollectiveKind::all_reduce;
  const double inside = call.bytes / static_cast<double>(members.per_machine);
  // Bytes that each member has reduced or will spread; in an all-to-all it also carries those of
  // its neighbours.
  const double across = call.kind == CollectiveKind::all_to_all
                            ? call.bytes / static_cast<double>(machines)
                            : call.bytes / static_cast<double>(members.count);
  return {{{members.per_machine}, inside, members.per_machine - 1, call.reach.inside},
          {{machines, members.per_machine},
           across,
           (twice ? 2 : 1) * (machines - 1),
           call.reach.outside}};
}

double leg_us(const Leg& leg) { return rounds_us(leg.times, leg.bytes, leg.speed); }

Rounds leg_rounds(const CollectiveCall& call, const Leg& leg) {
  return turns(call.members, leg.rings, 1, leg.bytes, leg.times);
}

double us(const CollectiveCall& call) {
  const Legs legs = legs_of(call);
  const double back_us = call.kind == CollectiveKind::all_reduce ? leg_us(legs.inside) : 0;
  return leg_us(legs.inside) + leg_us(legs.across) + back_us;
}

Rounds rounds(const CollectiveCall& call) {
  const Legs legs = legs_of(call);
  if (call.kind == CollectiveKind::all_to_all) {
    return in_turn(exchanges(call.members, legs.inside.rings, legs.inside.bytes),
                   exchanges(call.members, legs.across.rings, legs.across.bytes));
  }
  const Rounds inside = leg_rounds(call, legs.inside), across = leg_rounds(call, legs.across);
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
