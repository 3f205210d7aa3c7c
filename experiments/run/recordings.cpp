#include "experiments/run/recordings.hpp"

#include <fmt/format.h>

#include "experiments/input/files/files.hpp"
#include "experiments/input/formats/chrome_trace.hpp"
#include "sim/report/memory.hpp"
#include "sim/report/overview.hpp"

namespace penstock {
namespace {

RecordedRun run_to_record(const Scenario& scenario, std::vector<BytesByKind>* kinds,
                          double more_per_cell) {
  RunResult result = run(settle(scenario, {.bytes_per_cell = CellBytes::run + more_per_cell}));
  if (!result.plan) throw UnfinishedRun(result);
  if (kinds != nullptr) *kinds = memory_kinds(*result.plan, result.costs, result.timeline);
  memory_peaks(*result.plan, result.costs, result.timeline, &result.timeline.memory);
  return {{std::move(*result.plan), std::move(result.timeline), std::move(result.title)},
          std::move(result.layout),
          std::move(result.costs)};
}

}  // namespace

UnfinishedRun::UnfinishedRun(const RunResult& result)
    : InputError(fmt::format("{}: its run does not finish and has no timeline{}",
                             result.layout.source,
                             result.findings.empty() ? "" : ": " + result.findings.front().text)) {}

Recording parse_recording(const std::string& path, const std::string& content) {
  return about_file(path, [&] {
    return is_own_trace(content) ? recording_in_trace(content) : read_timeline(content);
  });
}

std::string recording_text(const Plan& plan, const Timeline& timeline, const std::string& title) {
  constexpr std::uint32_t large = 1'000'000;
  return plan.tasks() < large ? write_timeline(plan, timeline, title)
                              : write_timeline(plan, timeline, title, overview_of(plan, timeline));
}

bool is_recording(const std::string& path, std::string_view content) {
  return path.ends_with(".timeline") || path.ends_with(".timeline.gz") ||
         content.starts_with("PENSTOCK") || is_own_trace(content);
}

Recording read_recording(const std::string& path) { return parse_recording(path, read_file(path)); }

Recording recording_of(const std::string& path, const std::vector<std::string>& settings,
                       std::vector<BytesByKind>* kinds) {
  return recording_in(path, read_file(path), settings, kinds);
}

RecordedRun recording_in(const std::string& path, const std::string& content,
                         const std::vector<std::string>& settings, std::vector<BytesByKind>* kinds,
                         double more_per_cell) {
  if (!is_recording(path, content)) {
    return run_to_record(parse_scenario(content, path, settings), kinds, more_per_cell);
  }
  if (!settings.empty()) {
    throw UsageError(fmt::format("--set {}: {} is a timeline; only a scenario can be changed",
                                 settings.front(), path));
  }
  return {parse_recording(path, content), std::nullopt, {}};
}

}  // namespace penstock
