#pragma once

#include <map>
#include <optional>
#include <span>
#include <string_view>

#include "hardware_models/collectives/rounds/rounds.hpp"
#include "sim/costs/topology.hpp"
#include "sim/model/work.hpp"

namespace penstock {

/// How fast one member sends, and at the same time receives, inside its machine and out of it.
struct Reach {
  Speed inside;
  Speed outside;
  double begin_us = 0;  // of a collective beside its rounds: until it is launched and all are there
};

/// A collective that a group runs once. `bytes` are those of the whole tensor; of an all-to-all and
/// a ring exchange those that one member holds.
struct CollectiveCall {
  CollectiveKind kind = CollectiveKind::all_reduce;
  double bytes = 0;
  Members members;
  Reach reach;
};

/// A kind of collective that an algorithm serves, and how long that takes. In formulas n are the
/// members, B the bytes, bw and lat what a link has, k the chunks.
struct ServedKind {
  CollectiveKind kind;
  std::string_view formula;
};

/// One algorithm for collectives. An algorithm is one .cpp of this folder.
struct CollectiveEntry {
  std::string_view name;
  std::string_view summary;
  std::span<const ServedKind> kinds;
  /// In microseconds, by the formula: each round takes as long as the member that sends or receives
  /// most. Of a group that spans machines every round counts as leaving them where some do.
  double (*us)(const CollectiveCall& call);
  /// What is sent, with as many chunks as the formula has. Takes room for each sending of each
  /// different round.
  Rounds (*rounds)(const CollectiveCall& call);
};

/// All algorithms, by name.
std::span<const CollectiveEntry* const> collective_entries();

/// "all_reduce"; and back.
std::string_view name(CollectiveKind kind);
std::optional<CollectiveKind> collective_kind(std::string_view name);

/// The algorithms that are wanted; the quickest one for the kinds that are not there.
using CollectiveChoice = std::map<CollectiveKind, const CollectiveEntry*>;

/// The algorithm of a name that serves some kind. Throws InputError, at
/// /hardware/collectives/KIND, when there is none.
const CollectiveEntry& collective_algorithm(CollectiveKind kind, std::string_view name);

/// The algorithm that takes least by its formula, the first by name of equals: what a tuner picks
/// that knows the links.
const CollectiveEntry& quickest(const CollectiveCall& call);

/// The algorithm that is chosen for the kind of a call, else the quickest.
const CollectiveEntry& chosen(const CollectiveCall& call, const CollectiveChoice& choice);

/// How long a collective takes, by the formula of the algorithm chosen for its kind and with what
/// it takes beside, in microseconds. Nothing for a group of one.
double collective_us(const CollectiveCall& call, const CollectiveChoice& choice = {});

/// The slowest way between two members that a ring through all of them goes.
Speed slowest_way(const CollectiveCall& call);

/// So many rounds, one after the other, in each of which bytes go over one link.
double rounds_us(std::uint64_t rounds, double bytes, const Speed& speed);

}  // namespace penstock
