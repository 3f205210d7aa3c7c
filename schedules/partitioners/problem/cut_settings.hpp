#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace penstock {

/// How a stage's transfers relate to its compute: free, beside it, or in sequence with it. The
/// gradient of a boundary has the size of its activation.
enum class CutTransfers : std::uint8_t { none, overlap, serial };

/// Settings of partitioners. Each one reads only its own.
struct CutSettings {
  std::optional<CutTransfers> transfers;  // default: overlapped where bandwidths are known

  double balance = 1.1;          // least_traffic: longest stage over the shortest possible one
  std::vector<double> speeds;    // devices: of each rank, relative; missing ones are 1
  std::vector<double> memories;  // devices: bytes of each rank; missing ones have the capacity
  bool keep_order = true;        // devices: ranks stay in the given order
  bool contiguous = false;       // interleaved: chunk c of rank r is stage c * ranks + r
  std::uint64_t most_ideals = 40'000;  // ideals, pipedream: down-closed sets to enumerate
  std::uint64_t evaluations = 20'000;  // simulated, interleaved: steps of local search
  std::uint64_t seed = 1;              // of local search

  bool published = false;            // pipedream: the cost model of its optimizer
  bool counts_first_output = false;  // pipedream, ideals: always; else with serial transfers
  std::uint32_t servers = 1;         // pipedream: groups of devices
  std::optional<double> server_bandwidth_bytes_per_s;  // pipedream: between groups
};

}  // namespace penstock
