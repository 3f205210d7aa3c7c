#include "hardware_models/collectives/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr std::array<std::pair<CollectiveKind, std::string_view>, 6> kind_names{
    {{CollectiveKind::all_reduce, "all_reduce"},
     {CollectiveKind::all_gather, "all_gather"},
     {CollectiveKind::reduce_scatter, "reduce_scatter"},
     {CollectiveKind::all_to_all, "all_to_all"},
     {CollectiveKind::broadcast, "broadcast"},
     {CollectiveKind::ring_exchange, "ring_exchange"}}};

std::vector<const CollectiveEntry*> those_for(CollectiveKind kind) {
  std::vector<const CollectiveEntry*> all;
  for (const CollectiveEntry* entry : collective_entries()) {
    if (serves(*entry, kind)) all.push_back(entry);
  }
  return all;
}

}  // namespace

bool serves(const CollectiveEntry& entry, CollectiveKind kind) {
  return std::ranges::any_of(entry.kinds,
                             [&](const ServedKind& served) { return served.kind == kind; });
}

std::string_view name(CollectiveKind kind) {
  return std::ranges::find_if(kind_names, [&](const auto& named) { return named.first == kind; })
      ->second;
}

std::optional<CollectiveKind> collective_kind(std::string_view name) {
  for (const auto& named : kind_names) {
    if (named.second == name) return named.first;
  }
  return std::nullopt;
}

const CollectiveEntry& collective_algorithm(CollectiveKind kind, std::string_view name) {
  std::string known = "auto";
  for (const CollectiveEntry* entry : those_for(kind)) {
    if (entry->name == name) return *entry;
    known += fmt::format(", {}", entry->name);
  }
  const std::string_view key = penstock::name(kind);
  throw InputError("/hardware/collectives" + pointer_step(key),
                   fmt::format("unknown algorithm \"{}\"; known for {}: {}", name, key, known));
}

bool applies(const CollectiveEntry& entry, const CollectiveCall& call) {
  return entry.applies == nullptr || entry.applies(call);
}

const CollectiveEntry& quickest(const CollectiveCall& call) {
  const CollectiveEntry* best = nullptr;
  double least_us = 0;
  for (const CollectiveEntry* entry : collective_entries()) {
    if (!serves(*entry, call.kind) || !applies(*entry, call)) continue;
    const double us = entry->us(call);
    if (best != nullptr && us >= least_us) continue;
    best = entry;
    least_us = us;
  }
  return *best;
}

const CollectiveEntry& chosen(const CollectiveCall& call, const CollectiveChoice& choice) {
  const auto named = choice.find(call.kind);
  const bool usable = named != choice.end() && applies(*named->second, call);
  return usable ? *named->second : quickest(call);
}

double collective_us(const CollectiveCall& call, const CollectiveChoice& choice) {
  if (call.members.count == 1) return 0;
  return call.reach.begin_us + chosen(call, choice).us(call);
}

Speed slowest_way(const CollectiveCall& call) {
  const Reach& reach = call.reach;
  if (call.members.machines() == 1) return reach.inside;
  if (call.members.per_machine == 1) return reach.outside;
  return {std::min(reach.inside.bandwidth_bytes_per_s, reach.outside.bandwidth_bytes_per_s),
          std::max(reach.inside.latency_us, reach.outside.latency_us)};
}

Speed way_of_rings(const CollectiveCall& call) {
  const Members& members = call.members;
  const Reach& reach = call.reach;
  if (!members.mixed()) return slowest_way(call);
  const auto rings = static_cast<double>(members.fewest());
  // Where all machines are alike, each member is the last one of a ring and leaves its links alone.
  const bool spares = members.even() && rings > 1;
  const double inside = reach.inside.bandwidth_bytes_per_s * (spares ? rings / (rings - 1) : 1.0);
  const double crossing =
      static_cast<double>(members.machines()) / static_cast<double>(members.count);
  return {std::min(inside, rings * reach.outside.bandwidth_bytes_per_s),
          crossing * reach.outside.latency_us + (1 - crossing) * reach.inside.latency_us};
}

double rounds_us(std::uint64_t rounds, double bytes, const Speed& speed) {
  if (rounds == 0) return 0;
  const double round_us = bytes / speed.bandwidth_bytes_per_s * 1e6 + speed.latency_us;
  return static_cast<double>(rounds) * round_us;
}

}  // namespace penstock
