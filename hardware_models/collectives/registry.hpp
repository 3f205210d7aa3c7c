#pragma once

#include <map>
#include <optional>
#include <span>
#include <string_view>

#include "hardware_models/collectives/rounds/rounds.hpp"
#include "sim/costs/topology.hpp"
#include "sim/model/work.hpp"

namespace penstock {

/// Speed of one member, each way: inside its machine, and across machines.
struct Reach {
  Speed inside;
  Speed outside;
  double begin_us = 0;  // fixed time of a collective: launch and arrival of all members
  // A device's links when the switch adds what it receives; nothing where switches do not.
  std::optional<Speed> in_network = std::nullopt;
};

/// One collective of a group. `bytes` is the size of the whole tensor; for an all-to-all and a ring
/// exchange, the size that one member holds.
struct CollectiveCall {
  CollectiveKind kind = CollectiveKind::all_reduce;
  double bytes = 0;
  Members members;
  Reach reach;
  // Of an all-to-all: the members that each value goes to, where it need not be sent more than once
  // to one of them, nor to one machine; 1: each value goes to one.
  double copies = 1;
};

/// A kind of collective that an algorithm supports, and its time without the start, which all
/// share. In formulas n is the members, B the bytes, bw and lat bandwidth and latency of a link, k
/// the chunks.
struct ServedKind {
  CollectiveKind kind;
  std::string_view formula;
};

/// A collective algorithm: one .cpp in this folder.
struct CollectiveEntry {
  std::string_view name;
  std::string_view summary;
  std::span<const ServedKind> kinds;
  /// Microseconds by the formula: each round takes as long as its slowest member. In a group that
  /// spans machines, a round that any member sends across machines counts as crossing.
  double (*us)(const CollectiveCall& call);
  /// The rounds, with as many chunks as in the formula. Allocates one entry per transfer of each
  /// distinct round.
  Rounds (*rounds)(const CollectiveCall& call);  // null: members do not send to each other
  /// Whether a group supports the algorithm; null: any group does.
  bool (*applies)(const CollectiveCall& call) = nullptr;
};

/// Whether the algorithm has a time for this kind, and whether it supports the group of this call.
bool serves(const CollectiveEntry& entry, CollectiveKind kind);
bool applies(const CollectiveEntry& entry, const CollectiveCall& call);

/// All algorithms, by name.
std::span<const CollectiveEntry* const> collective_entries();

/// The key of a kind ("all_reduce"), and the kind of a key.
std::string_view name(CollectiveKind kind);
std::optional<CollectiveKind> collective_kind(std::string_view name);

/// The chosen algorithm per kind; a kind that is missing takes the fastest.
using CollectiveChoice = std::map<CollectiveKind, const CollectiveEntry*>;

/// The algorithm with this name for a kind. Throws InputError at /hardware/collectives/KIND when
/// there is none.
const CollectiveEntry& collective_algorithm(CollectiveKind kind, std::string_view name);

/// The fastest algorithm by its formula, ties by name, as a tuner that knows the links picks.
const CollectiveEntry& quickest(const CollectiveCall& call);

/// The algorithm chosen for the kind of a call; the fastest without a choice, and for a group that
/// does not support the chosen one.
const CollectiveEntry& chosen(const CollectiveCall& call, const CollectiveChoice& choice);

/// Microseconds of a collective by the formula of its algorithm, fixed time included. Zero for a
/// group of one.
double collective_us(const CollectiveCall& call, const CollectiveChoice& choice = {});

/// The slowest link of a single ring through all members.
Speed slowest_way(const CollectiveCall& call);

/// The links of as many rings as every machine has members: each leaves machines by a NIC of its
/// own. The bandwidth is that of all rings together, the latency the mean over the steps of a
/// ring, of which one a machine crosses.
Speed way_of_rings(const CollectiveCall& call);

/// The time of this many rounds in a row, each sending `bytes` over one link.
double rounds_us(std::uint64_t rounds, double bytes, const Speed& speed);

}  // namespace penstock
