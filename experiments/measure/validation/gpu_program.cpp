#include "experiments/measure/validation/gpu_program.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <sstream>

#include "experiments/run/layout/layout.hpp"
#include "experiments/run/simulation.hpp"
#include "experiments/run/stage_formats.hpp"
#include "sim/base/error.hpp"
#include "validate/backends/cuda/programs/gpu_program_file.hpp"
#include "validate/backends/gpu/gpu_backend.hpp"

namespace penstock {
namespace {

PricedPlan priced_order(const Layout& layout) {
  const Simulation simulation(layout);
  const auto order = simulation.order();
  if (const auto* finding = std::get_if<Finding>(&order)) throw UsageError(finding->text);
  auto lowered = simulation.price_order(std::get<Schedule>(order));
  if (const auto* finding = std::get_if<Finding>(&lowered)) throw UsageError(finding->text);
  return std::get<PricedPlan>(std::move(lowered));
}

[[noreturn]] void refuse_recording(std::size_t line, const std::string& what) {
  throw InputError("", fmt::format("line {}: {}", line, what));
}

Time moment(std::istringstream& words, std::size_t line) {
  std::int64_t ns = 0;
  if (!(words >> ns) || ns < 0) refuse_recording(line, "expected begin and end in nanoseconds");
  return from_ns(ns);
}

/// A line between runs: what is recorded.
void read_word(const std::string& what, std::istringstream& words, std::size_t line,
               GpuRecording& recording) {
  std::string* const value = what == "program"    ? &recording.program
                             : what == "ordering" ? &recording.ordering
                             : what == "links"    ? &recording.links
                             : what == "bodies"   ? &recording.bodies
                                                  : nullptr;
  if (value == nullptr || !(words >> *value)) {
    refuse_recording(line, "expected program, ordering, links, bodies or run");
  }
}

}  // namespace

Job gpu_job(const Scenario& scenario) {
  const Layout layout = with_codecs(settle(scenario));
  if (layout.degrees.data > 1) throw UsageError("a GPU program has one data replica");
  PricedPlan priced = priced_order(layout);
  const auto obstacle = gpu_obstacle(priced, nullptr);
  if (obstacle && !obstacle->of_machine) {
    throw UsageError(fmt::format("a GPU does not run {}", obstacle->text));
  }
  const std::uint32_t ranks = priced.plan.ranks;
  return job_of(std::move(priced), gpu_job_length(ranks));
}

std::string gpu_program_file(const Scenario& scenario) {
  const std::string name = std::filesystem::path(scenario.source).stem();
  return program_text({name.empty() ? "program" : name, gpu_program(gpu_job(scenario))});
}

GpuRecording read_gpu_recording(std::string_view text, const Job& job) {
  const Plan& plan = job.priced.plan;
  std::istringstream lines{std::string(text)};
  std::string line;
  if (!std::getline(lines, line) || line != "penstock gpu recording 1") {
    refuse_recording(1, "expected \"penstock gpu recording 1\"");
  }
  GpuRecording recording;
  for (std::size_t number = 2; std::getline(lines, line); ++number) {
    std::istringstream words(line);
    std::string what;
    words >> what;
    if (what == "run") {
      recording.runs.emplace_back();
    } else if (recording.runs.empty()) {
      read_word(what, words, number, recording);
    } else {
      std::istringstream again(line);
      Timeline& run = recording.runs.back();
      run.begin.push_back(moment(again, number));
      run.end.push_back(moment(again, number));
    }
  }
  for (Timeline& run : recording.runs) {
    if (run.begin.size() != plan.tasks()) {
      refuse_recording(
          1, fmt::format("a run has {} tasks, the plan {}", run.begin.size(), plan.tasks()));
    }
    find_last_inputs(plan, run);
  }
  return recording;
}

}  // namespace penstock
