#include "experiments/studies/collective_timing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "experiments/studies/wired_rings.hpp"
#include "hardware_models/collectives/rounds/flows.hpp"
#include "hardware_models/links/groups.hpp"
#include "hardware_models/spec/seating.hpp"
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
        fmt::format("{} has {} devices and {} joins no machines, but the group takes "
                    "{}",
                    machine.name, machine.devices, kind, devices));
  }
  if (devices > Limits::network_links) {
    throw UsageError(fmt::format("a group that lies in {} devices is too large; at most {}",
                                 devices, Limits::network_links));
  }
}

/// The members of a group in the machines that hold them.
struct Placed {
  Router router;
  std::vector<Node> members;
};

Placed place(const Machine& machine, const CollectiveQuestion& question, std::uint64_t all) {
  const TopologySpec topology = *topology_in_use(machine);
  try {
    Cluster cluster =
        make_cluster(topology.kind, static_cast<std::uint32_t>(seat_of(machine, all - 1) + 1),
                     topology.parameters);
    std::vector<Node> nodes;
    for (std::uint64_t device = 0; device < all; device += question.stride) {
      nodes.push_back(cluster.devices[seat_of(machine, device)]);
    }
    return {Router(std::move(cluster.topology)), std::move(nodes)};
  } catch (const InputError& error) {
    throw UsageError(error.what());
  }
}

bool has_direct_links(const Machine& machine) {
  const TopologyEntry* entry = find_named(topology_entries(), machine.topology->kind);
  return entry != nullptr && entry->direct;
}

/// All transfers of rounds at the same time.
Rounds at_once(const Rounds& rounds) {
  Round all;
  for (const Round& round : rounds) {
    all.sendings.insert(all.sendings.end(), round.sendings.begin(), round.sendings.end());
  }
  return {all};
}

/// On direct links in one machine an all-to-all uses all of them at once, and rings are those that
/// the wiring has.
Rounds rounds_of(const CollectiveEntry& algorithm, const CollectiveCall& call,
                 const Machine& machine, const Placed& placed) {
  const Rounds rounds = algorithm.rounds(call);
  if (!has_direct_links(machine) || call.members.machines() > 1) return rounds;
  const std::uint64_t others = call.members.count - 1;
  std::uint64_t steps = others;
  switch (call.kind) {
    case CollectiveKind::all_to_all:
      return at_once(rounds);
    case CollectiveKind::all_reduce:
      steps *= 2;
      break;
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
      break;
    default:
      return rounds;
  }
  if (algorithm.name == std::string_view("tree")) return rounds;
  const std::vector<Cycle> rings = wired_rings(placed.router.topology(), placed.members);
  if (rings.empty()) return rounds;
  const double share = call.bytes / static_cast<double>(call.members.count);
  return turns(rings, share / static_cast<double>(rings.size()), steps);
}

/// The members of each machine.
std::string seats_of(const Members& members) {
  const std::uint64_t machines = members.machines(), odd = members.count % machines;
  if (odd == 0) return seating_text({members.count / machines, machines, 0, machines});
  return seating_text({members.count / machines + 1, odd, 1, machines});
}

bool serves(const CollectiveEntry& entry, CollectiveKind kind) {
  return std::any_of(entry.kinds.begin(), entry.kinds.end(),
                     [&](const ServedKind& served) { return served.kind == kind; });
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
          fmt::format("this group does not support {}: it needs one machine with "
                      "switches that add; another algorithm is right",
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
    throw UsageError(
        fmt::format("{} has no topology, so nothing joins its devices; a machine "
                    "that has one is right",
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
    const double formula_us = timings.call.reach.begin_us + algorithm->us(timings.call);
    if (question.flows) check_clock(timings.call, formula_us);
    timings.algorithms.push_back({algorithm, formula_us, std::nullopt});
    if (!question.flows || algorithm->rounds == nullptr) continue;
    if (!placed) placed.emplace(place(machine, question, all));
    timings.algorithms.back().flows_us = flows_us(
        rounds_of(*algorithm, timings.call, machine, *placed), placed->router, placed->members);
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
