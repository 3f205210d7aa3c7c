#include "experiments/run/codec_training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "experiments/layout/codec_costs.hpp"
#include "experiments/run/run.hpp"

namespace penstock {
namespace {

Scenario with_stash(const Scenario& scenario, const Encoding& stash) {
  Scenario one = scenario;
  one.codec.phases.clear();
  one.codec.stash = stash;
  return one;
}

CodedIteration iteration_of(const Scenario& scenario, const RunResult& result) {
  CodedIteration iteration;
  iteration.stash = scenario.codec.stash;
  iteration.bits_per_value =
      result.codec ? stash_bits(*result.codec) : 8 * plain_value_bytes(scenario);
  if (!result.report) return iteration;
  iteration.makespan = result.report->makespan;
  const auto& ranks = result.report->ranks;
  const auto worst = std::max_element(ranks.begin(), ranks.end(), [](const auto& a, const auto& b) {
    return a.memory.bytes < b.memory.bytes;
  });
  iteration.peak_bytes = worst->memory.bytes;
  iteration.peak_rank = static_cast<std::uint32_t>(worst - ranks.begin());
  return iteration;
}

/// The findings of a phase that the training comes to, with its number in front.
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

RunResult run_in_phases(const Scenario& scenario, const RunOptions& options) {
  const RunOptions once{.engine = options.engine};
  CodecTraining training;
  training.capacity_bytes = scenario.capacity_bytes;
  RunResult first;
  std::vector<Finding> findings;
  std::uint64_t begin = 0;
  for (std::size_t p = 0; p < scenario.codec.phases.size(); ++p) {
    const CodecPhase& phase = scenario.codec.phases[p];
    const Scenario one = with_stash(scenario, phase.stash);
    RunResult result = run(one, p == 0 ? options : once);
    add_findings(p, phase, result, findings);
    training.phases.push_back({begin, phase.iterations, iteration_of(one, result)});
    begin += phase.iterations;
    if (p == 0) first = std::move(result);
  }
  const Scenario plain = with_stash(scenario, {});
  training.plain = iteration_of(plain, run(plain, once));
  first.findings = std::move(findings);
  first.codec_training = std::move(training);
  return first;
}

std::uint64_t CodecTraining::iterations() const {
  return phases.back().first_iteration + phases.back().iterations;
}

std::uint64_t CodecTraining::peak_bytes() const {
  std::uint64_t most = 0;
  for (const Phase& phase : phases) {
    if (phase.iterations > 0) most = std::max(most, phase.iteration.peak_bytes);
  }
  return most;
}

std::optional<double> CodecTraining::time_us() const {
  double sum = 0;
  for (const Phase& phase : phases) {
    if (phase.iterations == 0) continue;
    if (!phase.iteration.makespan) return std::nullopt;
    sum += static_cast<double>(phase.iterations) * to_us(*phase.iteration.makespan);
  }
  return sum;
}

std::optional<double> CodecTraining::time_us_throughout(const CodedIteration& iteration) const {
  if (!iteration.makespan) return std::nullopt;
  return static_cast<double>(iterations()) * to_us(*iteration.makespan);
}

const CodedIteration& CodecTraining::finest() const {
  return std::max_element(phases.begin(), phases.end(),
                          [](const Phase& a, const Phase& b) {
                            return a.iteration.bits_per_value < b.iteration.bits_per_value;
                          })
      ->iteration;
}

}  // namespace penstock
