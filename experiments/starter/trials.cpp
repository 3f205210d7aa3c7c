#include "experiments/starter/trials.hpp"

#include <algorithm>
#include <utility>

#include "experiments/planner/space/layout_document.hpp"
#include "experiments/run/run.hpp"

namespace penstock {
namespace {

/// Memory of a rank that is held throughout the run.
std::uint64_t held_throughout(const BytesByKind& by_kind) {
  std::uint64_t bytes = 0;
  for (const BufferKind kind : {BufferKind::parameters, BufferKind::weight_gradients,
                                BufferKind::optimizer, BufferKind::context, BufferKind::reserve}) {
    bytes += by_kind[static_cast<std::size_t>(kind)];
  }
  return bytes;
}

void take_memory(const RunResult& result, TriedLayout& tried) {
  tried.capacity_bytes = result.layout.memory.capacity_bytes.value_or(UINT64_MAX);
  for (const RankReport& rank : result.report->ranks) {
    tried.peak_bytes = std::max(tried.peak_bytes, rank.memory.bytes);
    if (held_throughout(rank.memory.by_kind) > tried.capacity_bytes) tried.weights_fit = false;
  }
}

}  // namespace

std::optional<std::size_t> Trials::simulate(const LayoutChoice& choice) {
  const auto known = std::find_if(tried_.begin(), tried_.end(),
                                  [&](const TriedLayout& tried) { return tried.layout == choice; });
  if (known != tried_.end()) return static_cast<std::size_t>(known - tried_.begin());
  TriedLayout tried{.layout = choice, .text = layout_document(task_, choice)};
  try {
    const Scenario scenario = parse_scenario(tried.text, task_.source);
    const RunResult result = run(settle(scenario, {.catalogue = &catalogue_}));
    if (!result.report) return std::nullopt;
    tried.samples_per_s = result.throughput.samples_per_s;
    tried.tokens_per_s = result.throughput.tokens_per_s;
    take_memory(result, tried);
  } catch (const InputError& error) {
    if (!refusal_) refusal_ = error;
    return std::nullopt;
  }
  tried_.push_back(std::move(tried));
  return tried_.size() - 1;
}

}  // namespace penstock
