#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schedules/partitioners/problem/rank_holds.hpp"
#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

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

/// The value of what no cut reaches.
constexpr double no_cut = std::numeric_limits<double>::infinity();

/// The price of one layer for one microbatch.
struct CutLayer {
  double forward_s = 0;
  double backward_s = 0;  // whole
  double input_s = 0;     // its parts, where the order splits it
  double weight_s = 0;
  double output_bytes = 0;  // one tensor, however many layers read it
  double parameter_bytes = 0;
  double state_factor = 4;      // weights, gradients and optimizer state per byte of parameters
  double stash_bytes = 0;       // kept from its forward to its backward
  double recomputed_bytes = 0;  // of one microbatch, before its backward
  double workspace_bytes = 0;   // while it runs
  bool counted = true;          // in an even cut

  double compute_s() const { return forward_s + backward_s; }
};

/// A link between two ranks, one way.
struct CutLink {
  Rank from = {}, to = {};
  double latency_s = 0;
  std::optional<double> bandwidth_bytes_per_s = {};  // empty: tensors take its latency alone
};

/// A priced model to cut into stages. Layers are in topological order, and edges join positions in
/// that order, from a smaller to a larger one.
struct CutProblem {
  std::vector<CutLayer> layers;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;

  std::uint32_t stages = 1;
  bool exactly = true;  // otherwise at most this many
  std::uint32_t ranks = 1;
  std::uint32_t chunks = 1;        // stages per rank
  std::uint32_t microbatches = 1;  // of one iteration
  std::uint32_t devices = 0;       // to spread over stages as replicas; 0: one per stage

  CutTransfers transfers = CutTransfers::none;
  std::optional<double> bandwidth_bytes_per_s;  // one link each way between neighbouring stages
  double latency_s = 0;                         // of each transfer
  std::optional<double> memory_bytes;           // capacity of each stage

  // The order to simulate; without one, 1F1B.
  const Schedule* schedule = nullptr;
  const Placement* placement = nullptr;
  // With an order: the links between ranks, where they differ; of each rank, how long its work
  // takes beside that of `layers`; and what it holds, with its capacity. Empty: links as above,
  // work as long as that of `layers`, and stages that hold what they do under 1F1B.
  std::vector<CutLink> links;
  std::vector<double> slowness;
  std::vector<RankHolds> holds;
  std::vector<std::uint32_t> most_cells, most_older;  // of `holds`, by stage
  double rank_bytes = no_cut;

  CutSettings settings;

  std::uint32_t size() const { return static_cast<std::uint32_t>(layers.size()); }
};

/// One stage of a cut.
struct CutStage {
  std::vector<std::uint32_t> layers;  // positions, ascending
  std::uint32_t replicas = 1;
  std::uint32_t rank = 0;
  double compute_s = 0;     // forward and backward of one microbatch
  double memory_bytes = 0;  // with the stashes of the microbatches in flight
  double output_bytes = 0;  // of its boundary with the next stage
};

/// A cut and its value in the terms of its partitioner: smaller is better.
struct Cut {
  double value = 0;
  bool value_in_bytes = false;      // otherwise in seconds
  std::vector<std::uint32_t> cuts;  // 0, …, number of layers
  std::vector<CutStage> stages;
  std::vector<std::string> notes;
  std::string finding;  // why there is no cut; then there are no stages
};

/// Sums over a chain: the entry at position i is that of the layers before it.
struct CutChain {
  std::vector<double> compute_s;
  std::vector<double> parameter_bytes;
  std::vector<double> state_bytes;
  std::vector<double> stash_bytes;
  std::vector<double> recomputed_bytes;
  // The largest workspace of 1, 2, 4 … layers from a position on; none where no layer has one.
  std::vector<std::vector<double>> most_workspace;
  // Of all tensors from layers before a position to layers behind it, each once.
  std::vector<double> boundary_bytes;
  // By position: time of an activation and its gradient over a link, zero when transfers are free.
  std::vector<double> boundary_s;

  std::uint32_t size() const { return static_cast<std::uint32_t>(compute_s.size()) - 1; }
};

CutChain chain_of(const CutProblem& problem);

/// Microbatches that stage `stage` of `stages` holds at most, in the problem's order or under 1F1B.
std::uint32_t in_flight(const CutProblem& problem, std::uint32_t stage, std::uint32_t stages);

/// The time of the layers [begin, end) as a stage with its boundaries, as the problem has
/// transfers; its device computes `speed` times as fast.
double stage_s(const CutProblem& problem, const CutChain& chain, std::uint32_t begin,
               std::uint32_t end, double speed = 1);

/// Bytes that one pass over the layers [begin, end) needs: what it recomputes, and workspace.
double pass_memory(const CutChain& chain, std::uint32_t begin, std::uint32_t end);

/// Bytes of the layers [begin, end) as stage `stage` of `stages`.
double stage_memory(const CutProblem& problem, const CutChain& chain, std::uint32_t begin,
                    std::uint32_t end, std::uint32_t stage, std::uint32_t stages);

/// The stages between cuts, in order; stage s is on rank s modulo the ranks.
std::vector<CutStage> stages_between(const CutProblem& problem, const CutChain& chain,
                                     const std::vector<std::uint32_t>& cuts);

/// A whole result from cuts.
Cut cut_at(const CutProblem& problem, const CutChain& chain, std::vector<std::uint32_t> cuts,
           double value);

/// Gives each stage the same number of the layers that count; the first stages take the remainder.
/// Other layers join the one before them that counts, leading ones the first.
Cut even_cut(const CutProblem& problem, const std::vector<bool>& counts);

/// The number of stages to cut into: as asked, or fewer when there are fewer layers and fewer are
/// allowed. Throws InputError when the layers cannot fill them.
std::uint32_t stages_to_fill(const CutProblem& problem);

}  // namespace penstock
