#include "experiments/run/run_in_phases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "experiments/run/codec_report.hpp"
#include "experiments/run/layout/codec_costs.hpp"
#include "experiments/run/run_once.hpp"

namespace penstock {
namespace {

Layout with_stash(const Layout& layout, const Encoding& stash) {
  Layout one = layout;
  one.codec.phases.clear();
  one.codec.stash = stash;
  return one;
}

CodedIteration iteration_of(const RunResult& result) {
  CodedIteration iteration;
  iteration.stash = result.layout.codec.stash;
  iteration.bits_per_value = 8 * plain_value_bytes(result.layout);
  if (!result.report) return iteration;
  if (!result.layout.codings.empty()) {
    iteration.bits_per_value = stash_bits(codec_report(result.layout));
  }
  iteration.makespan = result.report->makespan;
  const auto& ranks = result.report->ranks;
  const auto worst = std::max_element(ranks.begin(), ranks.end(), [](const auto& a, const auto& b) {
    return a.memory.bytes < b.memory.bytes;
  });
  iteration.peak_bytes = worst->memory.bytes;
  iteration.peak_rank = static_cast<std::uint32_t>(worst - ranks.begin());
  return iteration;
}

/// Adds the findings of a phase that the training reaches, with its number in front.
void add_findings(std::size_t phase, const CodecPhase& made_of, const RunResult& result,
                  std::vector<Finding>& findings) {
  if (made_of.iterations == 0) return;
  for (Finding finding : result.findings) {
    finding.text =
        fmt::format("phase {} ({}): {}", phase, encoding_text(made_of.stash), finding.text);
    findings.push_back(std::move(finding));
  }
}

}  // namespace

RunResult run_in_phases(const Layout& layout, const RunOptions& options) {
  const RunOptions once{.engine = options.engine};
  CodecTraining training;
  training.capacity_bytes = layout.memory.capacity_bytes;
  RunResult first;
  std::vector<Finding> findings;
  std::uint64_t begin = 0;
  for (std::size_t p = 0; p < layout.codec.phases.size(); ++p) {
    const CodecPhase& phase = layout.codec.phases[p];
    RunResult result = run_once(with_stash(layout, phase.stash), p == 0 ? options : once);
    add_findings(p, phase, result, findings);
    training.phases.push_back({begin, phase.iterations, iteration_of(result)});
    begin += phase.iterations;
    if (p == 0) first = std::move(result);
  }
  training.plain = iteration_of(run_once(with_stash(layout, {}), once));
  first.findings = std::move(findings);
  first.codec_training = std::move(training);
  return first;
}

}  // namespace penstock
