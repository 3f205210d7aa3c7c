#include "experiments/run/timing/collective_timing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "experiments/run/timing/wired_rings.hpp"
#include "hardware_models/collectives/rounds/rounds.hpp"
#include "hardware_models/links/groups.hpp"
#include "hardware_models/topologies/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

void check_size(const Machine& machine, std::uint64_t devices) {
  const std::string& kind = machine.topology->kind;
  const TopologyEntry* entry = find_named(topology_entries(), kind);
  const bool alone = !machine.nic || (entry != nullptr && entry->one_machine);
  if (alone && devices > machine.devices) {
    throw UsageError(
        fmt::format("{} has {} devices and {} joins no machines, but the group takes {}",
                    machine.name, machine.devices, kind, devices));
  }
  if (devices > Limits::network_links) {
    throw UsageError(fmt::format("a group that lies in {} devices is too large; at most {}",
                                 devices, Limits::network_links));
  }
}

/// The members of a group in the machines that hold them, then those of groups that share its NICs.
struct Placed {
  Router router;
  std::vector<Node> members;
  std::vector<std::uint64_t> seats;  // by member: its device, those of a machine in a row
  std::uint32_t groups = 1;
};

/// Groups of every `stride`-th device that share NICs: with one NIC for two devices, that of the
/// next devices too.
std::uint32_t groups_on_nics(const Machine& machine, std::uint64_t stride) {
  const auto sharing =
      static_cast<std::uint64_t>(std::max(1.0, std::round(machine.devices_per_nic)));
  return static_cast<std::uint32_t>(std::min(stride, sharing));
}

Placed place(const Machine& machine, const CollectiveQuestion& question, std::uint64_t all) {
  const TopologySpec topology = *topology_in_use(machine);
  try {
    Cluster cluster =
        make_cluster(topology.kind, static_cast<std::uint32_t>(seat_of(machine, all - 1) + 1),
                     topology.parameters);
    std::vector<Node> nodes;
    std::vector<std::uint64_t> seats;
    const std::uint32_t groups = groups_on_nics(machine, question.stride);
    for (std::uint32_t group = 0; group < groups; ++group) {
      for (std::uint64_t device = group; device < all; device += question.stride) {
        seats.push_back(seat_of(machine, device));
        nodes.push_back(cluster.devices[seats.back()]);
      }
    }
    return {Router(std::move(cluster.topology)), std::move(nodes), std::move(seats), groups};
  } catch (const InputError& error) {
    throw UsageError(error.what());
  }
}

/// The rings of a group's members in each machine, over links from device to device; none where
/// these do not take all links that formulas count on, but an odd one.
std::vector<Cycle> rings_of(const Members& members, const Machine& machine, const Placed& placed) {
  std::vector<std::vector<Cycle>> all;
  std::map<std::vector<std::uint32_t>, std::vector<Cycle>> known;  // by places in a machine
  for (const Cycle& own : by_machine(members)) {
    std::vector<Node> nodes;
    std::vector<std::uint32_t> places;
    for (const std::uint32_t member : own) {
      nodes.push_back(placed.members[member]);
      places.push_back(static_cast<std::uint32_t>(placed.seats[member] % machine.devices));
    }
    const auto [found, is_new] = known.try_emplace(places);
    if (is_new) found->second = wired_rings(placed.router.topology(), nodes);
    const double links = std::min(machine.links, static_cast<double>(own.size()) - 1);
    const auto rings = static_cast<double>(found->second.size());
    if (own.size() > 1 && (rings < links - 1 || rings > links)) return {};
    std::vector<Cycle>& cycles = all.emplace_back(found->second);
    if (own.size() == 1) cycles = {{0}};
    for (Cycle& cycle : cycles) {
      for (std::uint32_t& member : cycle) member += own.front();
    }
  }
  return rings_through(all);
}

/// Whether any two members have a link of their own, so that none forwards.
bool all_linked(const Placed& placed, std::uint64_t count) {
  const std::set<Node> nodes(placed.members.begin(),
                             placed.members.begin() + static_cast<std::ptrdiff_t>(count));
  std::set<std::pair<Node, Node>> linked;
  for (const Topology::Hop& hop : placed.router.topology().hops) {
    if (nodes.contains(hop.from) && nodes.contains(hop.to)) linked.emplace(hop.from, hop.to);
  }
  return linked.size() == count * (count - 1);
}

/// Rounds over the links that the formula counts on; none where the algorithm would leave some
/// unused. On links from device to device these are rings of the wiring, and an all-to-all inside a
/// machine, all of it at once.
std::optional<Rounds> rounds_of(const CollectiveEntry& algorithm, const CollectiveCall& call,
                                const Machine& machine, const Placed& placed) {
  if (algorithm.rounds == nullptr) return std::nullopt;
  const bool by_nics_alone = call.members.machines() > 1 && call.members.per_machine == 1;
  if (!has_direct_links(machine) || by_nics_alone) return algorithm.rounds(call);
  if (call.kind == CollectiveKind::all_to_all) {
    const bool direct = call.members.machines() == 1 && all_linked(placed, call.members.count);
    return direct ? std::optional(Rounds{at_once(algorithm.rounds(call))}) : std::nullopt;
  }
  const bool chunked =
      call.kind == CollectiveKind::broadcast || call.kind == CollectiveKind::ring_exchange;
  if (chunked || algorithm.name != std::string_view("ring")) return std::nullopt;
  const std::vector<Cycle> rings = rings_of(call.members, machine, placed);
  if (rings.empty()) return std::nullopt;
  const std::uint64_t others = call.members.count - 1;
  const double share = call.bytes / static_cast<double>(call.members.count * rings.size());
  return turns(rings, share, call.kind == CollectiveKind::all_reduce ? 2 * others : others);
}

/// The transfers of a group and of those beside it that share its NICs, as in a run: group g has
/// the members from g * count on.
Rounds beside_each_other(Rounds rounds, std::uint32_t count, std::uint32_t groups) {
  for (Round& round : rounds) {
    const std::vector<Send> own = round.sendings;
    for (std::uint32_t group = 1; group < groups; ++group) {
      for (const Send& one : own) {
        round.sendings.push_back({one.from + group * count, one.to + group * count, one.bytes});
      }
    }
  }
  return rounds;
}

/// The members of each machine.
std::string seats_of(const Members& members) {
  const std::uint64_t machines = members.machines(), odd = members.count % machines;
  if (odd == 0) return seating_text({members.count / machines, machines, 0, machines});
  return seating_text({members.count / machines + 1, odd, 1, machines});
}

std::vector<const CollectiveEntry*> algorithms_for(const CollectiveCall& call,
                                                   std::string_view only) {
  std::vector<const CollectiveEntry*> wanted;
  for (const CollectiveEntry* entry : collective_entries()) {
    if (!serves(*entry, call.kind) || (!only.empty() && entry->name != only)) continue;
    if (applies(*entry, call)) {
      wanted.push_back(entry);
    } else if (!only.empty()) {
      throw UsageError(
          fmt::format("this group does not support {}: it needs one machine with switches that "
                      "add; another algorithm is right",
                      only));
    }
  }
  if (!wanted.empty()) return wanted;
  try {
    return {&collective_algorithm(call.kind, only)};  // for an unknown name, throws and lists the
                                                      // known ones
  } catch (const InputError& error) {
    throw UsageError(error.what());
  }
}

void check_clock(const CollectiveCall& call, double formula_us) {
  // In the worst case, sharing serves members one at a time, and some links are slower still.
  constexpr double much = 10;
  if (formula_us * static_cast<double>(call.members.count) * much < Limits::time_us) return;
  throw UsageError(fmt::format(
      "{:g} bytes may take longer than the clock runs, 104 days; fewer are right", call.bytes));
}

}  // namespace

CollectiveTimings time_collective(const Machine& known, const CollectiveQuestion& question,
                                  std::string_view only) {
  if (!known.topology) {
    throw UsageError(fmt::format(
        "{} has no topology, so nothing joins its devices; a machine that has one is right",
        known.name));
  }
  const std::uint64_t all = question.devices * question.stride;
  check_size(known, all);
  Machine machine = known;
  seat_evenly(machine, all, question.stride);
  const Members members = members_of(machine, {question.devices, question.stride, all});
  CollectiveTimings timings{
      {question.kind, question.bytes, members, reach_of(machine, members)}, seats_of(members), {}};
  std::optional<Placed> placed;
  for (const CollectiveEntry* algorithm : algorithms_for(timings.call, only)) {
    const double start_us = timings.call.reach.begin_us;
    const double formula_us = start_us + algorithm->us(timings.call);
    if (question.flows) check_clock(timings.call, formula_us);
    timings.algorithms.push_back({algorithm, formula_us, std::nullopt});
    if (!question.flows) continue;
    if (!placed) placed.emplace(place(machine, question, all));
    if (auto rounds = rounds_of(*algorithm, timings.call, machine, *placed)) {
      const auto count = static_cast<std::uint32_t>(members.count);
      const std::uint32_t groups = members.machines() > 1 ? placed->groups : 1;
      timings.algorithms.back().flows_us =
          start_us + flows_us(beside_each_other(std::move(*rounds), count, groups), placed->router,
                              placed->members);
    }
  }
  return timings;
}

double bus_bytes(const CollectiveCall& call) {
  const auto others = static_cast<double>(call.members.count - 1);
  const double share = others / (others + 1) * call.bytes;
  switch (call.kind) {
    case CollectiveKind::all_reduce:
      return 2 * share;
    case CollectiveKind::broadcast:
      return call.bytes;
    case CollectiveKind::ring_exchange:
      return others * call.bytes;
    default:
      return share;
  }
}

}  // namespace penstock
