#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/measure/measured_runs/measured_run.hpp"
#include "experiments/run/run.hpp"
#include "schedules/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"
#include "tests/support/kineto_writer.hpp"
#include "tests/support/model_files.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch.hpp"

namespace penstock::testing {

/// Three stages of 3, 4 and 5 us forward and twice that backward, 0.25 us between ranks.
inline std::string three_stages(const std::string& schedule) {
  return R"({"penstock": 1, "model": {"stages": [
    {"forward_us": 3, "backward_us": 6}, {"forward_us": 4, "backward_us": 8},
    {"forward_us": 5, "backward_us": 10}]},
    "hardware": {"name": "ideal", "devices": 3, "transfer_us": 0.25}, "schedule": )" +
         schedule + "}";
}

inline constexpr const char* steady_order = R"({"name": "1f1b", "microbatches": 6})";

inline RunResult run_of(const std::string& scenario,
                        const std::vector<std::string>& settings = {}) {
  return run(parse_scenario(scenario, "made.json", settings));
}

/// The runs of a scenario whose ops take longer or shorter by chance, another in each step.
inline std::vector<RunResult> varied_runs(const std::string& scenario, std::size_t count) {
  std::vector<RunResult> runs;
  for (std::size_t i = 0; i < count; ++i) {
    runs.push_back(run_of(scenario, {fmt::format("/chance={{\"seed\": {}, \"jitter\": 0.2}}", i)}));
  }
  return runs;
}

/// Traces of a run in a folder of their own, and how to read them.
class Traces {
 public:
  Traces(const std::vector<RunResult>& runs, const KinetoStyle& style) {
    std::vector<Timeline> steps;
    for (const RunResult& run : runs) steps.push_back(run.timeline);
    for (std::uint32_t rank = 0; rank < runs.front().plan->ranks; ++rank) {
      const std::string text = kineto_text(*runs.front().plan, steps, rank, style);
      reading.files.push_back(scratch_.file(fmt::format("rank{}.json", rank), text));
    }
    for (const KnownPattern& pattern : known_patterns())
      reading.patterns.emplace_back(pattern.text);
  }

  MeasuredRun read(std::optional<std::uint32_t> step = {}) {
    notes.clear();
    return measured_run(read_rank_traces(reading, true, notes), reading.order, step);
  }
  std::string refusal() {
    return refused_with<InputError>([&] { read(); });
  }
  /// Replaces one occurrence in the trace of a rank.
  void change(std::uint32_t rank, const std::string& what, const std::string& by) {
    const std::string& path = reading.files[rank];
    scratch_.file(fmt::format("rank{}.json", rank), replaced(content_of(path), what, by));
  }
  /// Puts the clock of a rank forward.
  void set_ahead(std::uint32_t rank, std::int64_t by_ns) {
    constexpr std::int64_t base_ns = 1'743'521'598'000'000'000;
    change(rank, fmt::format("\"baseTimeNanoseconds\": {}", base_ns),
           fmt::format("\"baseTimeNanoseconds\": {}", base_ns + by_ns));
  }
  /// Says which order ran.
  void name(const char* schedule, std::uint32_t microbatches, std::uint32_t chunks = 1) {
    const ScheduleEntry& entry = *find_named(schedule_entries(), schedule);
    const ScheduleOptions options{.microbatch_count = microbatches};
    const auto ranks = static_cast<std::uint32_t>(reading.files.size());
    const Placement placement = entry.place(ranks, chunks);
    reading.order = {schedule, placement, make_schedule(entry, placement, options)};
  }

  TraceReading reading;
  std::vector<std::string> notes;

 private:
  Scratch scratch_;
};

}  // namespace penstock::testing
