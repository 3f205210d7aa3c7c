#include "schedules/partitioners/problem/cut_problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// Adds each output at the positions between its layer and the last one that reads it.
std::vector<double> boundaries(const CutProblem& problem) {
  const std::uint32_t size = problem.size();
  std::vector<std::uint32_t> last(size, 0);
  for (const auto& [from, to] : problem.edges) last[from] = std::max(last[from], to);
  // Sums of differences would lose small outputs beside large ones, so each position sums its own.
  std::vector<double> bytes(size + 1, 0);
  for (std::uint32_t layer = 0; layer < size; ++layer) {
    for (std::uint32_t at = layer + 1; at <= last[layer]; ++at) {
      bytes[at] += problem.layers[layer].output_bytes;
    }
  }
  return bytes;
}

std::vector<std::vector<double>> most_workspace(const CutProblem& problem) {
  std::vector<double> most;
  for (const CutLayer& layer : problem.layers) most.push_back(layer.workspace_bytes);
  if (std::ranges::all_of(most, [](double bytes) { return bytes == 0; })) return {};
  std::vector<std::vector<double>> levels{most};
  for (std::size_t width = 1; 2 * width <= most.size(); width *= 2) {
    std::vector<double> next(levels.back().begin(), levels.back().end() - std::ptrdiff_t(width));
    for (std::size_t i = 0; i < next.size(); ++i) {
      next[i] = std::max(next[i], levels.back()[i + width]);
    }
    levels.push_back(std::move(next));
  }
  return levels;
}

}  // namespace

CutChain chain_of(const CutProblem& problem) {
  CutChain chain;
  const std::uint32_t size = problem.size();
  chain.compute_s.resize(size + 1);
  chain.parameter_bytes.resize(size + 1);
  chain.state_bytes.resize(size + 1);
  chain.stash_bytes.resize(size + 1);
  chain.recomputed_bytes.resize(size + 1);
  for (std::uint32_t i = 0; i < size; ++i) {
    const CutLayer& layer = problem.layers[i];
    chain.compute_s[i + 1] = chain.compute_s[i] + layer.compute_s();
    chain.parameter_bytes[i + 1] = chain.parameter_bytes[i] + layer.parameter_bytes;
    chain.state_bytes[i + 1] = chain.state_bytes[i] + layer.state_factor * layer.parameter_bytes;
    chain.stash_bytes[i + 1] = chain.stash_bytes[i] + layer.stash_bytes;
    chain.recomputed_bytes[i + 1] = chain.recomputed_bytes[i] + layer.recomputed_bytes;
  }
  chain.most_workspace = most_workspace(problem);
  chain.boundary_bytes = boundaries(problem);
  chain.boundary_s.assign(size + 1, 0);
  if (problem.bandwidth_bytes_per_s && problem.transfers != CutTransfers::none) {
    // Overlapped, both directions of a boundary go through one stage's link; in sequence, a stage
    // waits for one tensor per boundary and direction.
    const double trips = problem.transfers == CutTransfers::overlap ? 2 : 1;
    for (std::uint32_t i = 0; i <= size; ++i) {
      chain.boundary_s[i] = trips * chain.boundary_bytes[i] / *problem.bandwidth_bytes_per_s;
    }
  }
  return chain;
}

std::uint32_t in_flight(const CutProblem& problem, std::uint32_t stage, std::uint32_t stages) {
  if (stage < problem.most_cells.size()) return problem.most_cells[stage];
  return std::min(problem.microbatches, stages - stage);
}

double stage_s(const CutProblem& problem, const CutChain& chain, std::uint32_t begin,
               std::uint32_t end, double speed) {
  const double own = (chain.compute_s[end] - chain.compute_s[begin]) / speed;
  const double in = chain.boundary_s[begin], out = chain.boundary_s[end];
  return problem.transfers == CutTransfers::serial ? own + in + out : std::max({own, in, out});
}

double pass_memory(const CutChain& chain, std::uint32_t begin, std::uint32_t end) {
  const double recomputed = chain.recomputed_bytes[end] - chain.recomputed_bytes[begin];
  if (chain.most_workspace.empty() || begin == end) return recomputed;
  const int level = std::bit_width(end - begin) - 1;
  const std::vector<double>& most = chain.most_workspace[static_cast<std::size_t>(level)];
  return recomputed + std::max(most[begin], most[end - (1U << level)]);
}

double stage_memory(const CutProblem& problem, const CutChain& chain, std::uint32_t begin,
                    std::uint32_t end, std::uint32_t stage, std::uint32_t stages) {
  const double held = in_flight(problem, stage, stages);
  const double older = stage < problem.most_older.size() ? problem.most_older[stage] : 0;
  return chain.state_bytes[end] - chain.state_bytes[begin] + pass_memory(chain, begin, end) +
         held * (chain.stash_bytes[end] - chain.stash_bytes[begin]) +
         older * (chain.parameter_bytes[end] - chain.parameter_bytes[begin]);
}

std::vector<CutStage> stages_between(const CutProblem& problem, const CutChain& chain,
                                     const std::vector<std::uint32_t>& cuts) {
  std::vector<CutStage> stages;
  const auto count = static_cast<std::uint32_t>(cuts.size()) - 1;
  for (std::uint32_t s = 0; s < count; ++s) {
    CutStage stage;
    for (std::uint32_t i = cuts[s]; i < cuts[s + 1]; ++i) stage.layers.push_back(i);
    stage.rank = s % std::max(1U, problem.ranks);
    stage.compute_s = chain.compute_s[cuts[s + 1]] - chain.compute_s[cuts[s]];
    stage.memory_bytes = stage_memory(problem, chain, cuts[s], cuts[s + 1], s, count);
    stage.output_bytes = chain.boundary_bytes[cuts[s + 1]];
    stages.push_back(std::move(stage));
  }
  return stages;
}

Cut cut_at(const CutProblem& problem, const CutChain& chain, std::vector<std::uint32_t> cuts,
           double value) {
  Cut cut;
  cut.value = value;
  cut.stages = stages_between(problem, chain, cuts);
  cut.cuts = std::move(cuts);
  return cut;
}

std::uint32_t stages_to_fill(const CutProblem& problem) {
  if (problem.size() >= problem.stages) return problem.stages;
  if (!problem.exactly && problem.size() > 0) return problem.size();
  throw InputError("/model", fmt::format("{} stages need at least one layer each, got {}",
                                         problem.stages, problem.size()));
}

Cut even_cut(const CutProblem& problem, const std::vector<bool>& counts) {
  const std::uint32_t stages = stages_to_fill(problem);
  const auto layers = static_cast<std::uint32_t>(std::ranges::count(counts, true));
  std::vector<std::uint32_t> cuts{0};
  std::uint32_t in_stage = 0;
  for (std::uint32_t layer = 0; layer < problem.size(); ++layer) {
    const auto stage = static_cast<std::uint32_t>(cuts.size() - 1);
    const std::uint32_t full = layers / stages + (stage < layers % stages ? 1 : 0);
    if (counts[layer] && in_stage++ == full) {
      cuts.push_back(layer);
      in_stage = 1;
    }
  }
  cuts.push_back(problem.size());
  Cut result = cut_at(problem, chain_of(problem), std::move(cuts), 0);
  for (const CutStage& stage : result.stages) {
    result.value = std::max(result.value, stage.compute_s);
  }
  return result;
}

}  // namespace penstock
