#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hardware_models/collectives/registry.hpp"
#include "hardware_models/spec/machine.hpp"
#include "sim/base/numbers.hpp"
#include "sim/base/parameters.hpp"
#include "sim/costs/hardware_model.hpp"
#include "sim/costs/layer_turns.hpp"

namespace penstock {

/// The measurement of a layer at some number of examples.
struct ProfilePoint {
  double examples = 1;
  std::optional<double> forward_us;
  std::optional<double> backward_us;
  std::optional<double> backward_input_us;
  std::optional<double> backward_weight_us;
  std::optional<double> activation_bytes;
  std::optional<double> stash_bytes;
  std::vector<std::int64_t> rows;  // row numbers in the store
};

/// The points of one layer, ascending and unique in examples.
struct ProfileEntry {
  std::string layer;  // its name, or the kind of layers it covers
  double parameter_bytes = 0;
  std::vector<ProfilePoint> points;
  NamedNumbers numbers;            // parameters of these layers; empty: any
  std::optional<double> sequence;  // tokens per example, when they matter
  bool counts_tokens = false;      // points are by tokens, not examples
};

/// A row of a store that times were read from.
struct MeasuredRow {
  std::int64_t id = 0;
  bool suspect = false;  // predicted to be outdated
  std::string kernel;
  std::string pass;
  std::string shape;
  std::string measured_at;
};

/// Measured layers.
struct Profile {
  std::string source;  // the file it came from
  std::string device;  // of the measurement; empty: unknown
  std::vector<ProfileEntry> entries;
  std::vector<MeasuredRow> rows;                        // ascending; empty when not from a store
  std::map<std::string, std::string> environment = {};  // of the rows; empty: unknown
  bool unchecked = false;       // a snapshot without a checksum, which may have been changed
  std::size_t unused_rows = 0;  // of these layers: retired, superseded, or without other passes
};

/// A hint when a profile lacks a layer: its store may have unused rows. Empty when it has none.
std::string unused_text(const Profile& profile);

/// The points for this many examples: two neighbours, or the only one.
std::span<const ProfilePoint> points_at(const ProfileEntry& entry, double examples);

/// The measurement at this many examples, on the line between neighbouring points. Outside the
/// points the nearest line continues but never falls with more examples, and below the first point
/// it is at least proportional. A single point scales. A value missing in either point is absent.
ProfilePoint at(const ProfileEntry& entry, double examples);

/// A physical link of a scenario, with a name for routes or with its ends.
struct LinkSpec {
  std::string name;
  std::string from;
  std::string to;
  double bandwidth_bytes_per_s = 0;
  double latency_us = 0;
};

class Clusters;

/// The devices of a rank, with those of its replicas.
struct RankDevices {
  std::uint64_t first = 0;
  std::uint64_t count = 1;
  std::uint64_t per_replica = 1;
};

/// The hardware section of a scenario.
struct HardwareSpec {
  double transfer_us = 0;  // per tensor between ranks; occupies no link
  std::optional<double> latency_us;
  std::optional<double> bandwidth_bytes_per_s;
  // Between a rank and its host memory; default as between ranks.
  std::optional<double> host_latency_us;
  std::optional<double> host_bandwidth_bytes_per_s;

  std::optional<Sharing> sharing;
  std::vector<LinkSpec> links;
  std::map<std::string, std::vector<std::string>> routes;  // "0>1": names of its links
  std::optional<TopologySpec> topology;
  std::shared_ptr<Clusters> clusters;  // of topologies, shared with other scenarios; may be null

  std::optional<Machine> machine;  // for layers given by their work
  std::string precision = "bf16";  // of matrix products
  std::optional<Profile> profile;  // measured layer times
  // Devices of each group that shares a layer; tensor groups are innermost, then context. Groups
  // of experts are made of the same devices and of data replicas: those that share one expert are
  // innermost, then those that share the experts.
  std::uint64_t tensor = 1;
  std::uint64_t context = 1;
  std::uint64_t expert = 1;
  std::uint64_t expert_tensor = 1;
  CollectiveChoice collectives;   // their algorithms
  bool overlaps_experts = false;  // all-to-alls of experts overlap the kernels of their pass
  bool overlaps_shared = false;   // they overlap those of the shared expert alone
  Interference slows = {};        // kernels and collectives of a pass that overlap
  bool overlaps_tensor = true;    // tensor groups hide what their stack hides
  std::optional<bool>
      deduplicates;  // tokens to the experts of a device; default: as the stack does

  // Rank r is device r * devices_per_rank and those after it; the next holder of the same weights
  // is `devices_per_replica` further.
  std::uint32_t ranks = 1;
  std::uint64_t devices_per_rank = 1;
  std::uint64_t devices_per_replica = 1;
  // Ranks of a part of the model with devices of its own follow them.
  std::uint32_t own_ranks = 0;
  std::uint64_t devices_per_own_rank = 1;
  std::uint64_t devices_per_own_replica = 1;

  std::uint32_t all_ranks() const { return ranks + own_ranks; }
  std::uint64_t devices() const {
    return ranks * devices_per_rank + own_ranks * devices_per_own_rank;
  }
  RankDevices devices_of(Rank rank) const {
    const std::uint64_t number = index(rank);
    if (number < ranks) return {number * devices_per_rank, devices_per_rank, devices_per_replica};
    return {ranks * devices_per_rank + (number - ranks) * devices_per_own_rank,
            devices_per_own_rank, devices_per_own_replica};
  }
};

}  // namespace penstock
