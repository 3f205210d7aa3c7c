#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/plan/sweeps/space/read_sweep.hpp"
#include "experiments/plan/sweeps/space/sweep_space.hpp"
#include "experiments/run/layout/layout.hpp"
#include "experiments/run/simulation.hpp"
#include "experiments/run/throughput.hpp"
#include "sim/report/report.hpp"
#include "sim/timeline/peak_bytes.hpp"

namespace penstock {

/// The scenario of a configuration, with JSON texts of its values. Throws InputError or UsageError
/// for a pointer that does not fit the base scenario.
nlohmann::json configured(const SweepSpace& space, const std::vector<std::string>& values);

/// The same of any base, with the pointers of the values.
nlohmann::json configured(const nlohmann::json& base, const std::vector<std::string>& pointers,
                          const std::vector<std::string>& values);

/// Throws InputError for a pointer to a key that no scenario has, and InputError or UsageError for
/// one that does not fit the base scenario. A text of --vary that its key cannot take, such as
/// "four" for a number, is a UsageError; any other wrong value is a row with its reason.
void check_pointers(const SweepSpace& space);

/// Reads a sweep and checks its pointers. Throws InputError with the file in front, and UsageError.
SweepSpace sweep_space_of(const SweepArguments& arguments);

/// The figures of a configuration.
struct SweepResult {
  Time makespan{};
  Bubble bubble;
  Throughput throughput;
  std::optional<double> steady_interval_us;      // of an asynchronous schedule, if it settles
  std::vector<std::uint64_t> peak_memory_bytes;  // by rank
};

/// The figures of a finished run. `peaks` is that of its plan.
SweepResult sweep_result(const Layout& layout, const Simulated& run, PeakBytes& peaks);

/// The result of a configuration: figures, findings, or both.
struct SweepOutcome {
  std::optional<SweepResult> result;
  std::vector<std::pair<std::string, std::string>> more;  // wanted pointers, values as JSON
  std::vector<Finding> findings;
};

/// The beginning of a row, up to and including its configuration: a row is this and its end.
std::string row_head(const SweepSpace& space, std::uint64_t number,
                     const std::vector<std::string>& values);
/// The rest of a row, with its line end.
std::string row_end(const SweepOutcome& outcome);

/// Why a row has no figures.
std::string reason_of_row(std::string_view row);

/// The configuration of a row as it is written there, without its braces.
std::string_view configuration_text(std::string_view row);

/// Why a row is refused that needs more memory than this process may use. The same text whether it
/// was estimated or tried, on any machine, so that rows do not depend on what else ran.
constexpr const char* lacks_memory_text =
    "the simulation needs more memory than this process may use";
/// Whether a row is refused for that reason: with more memory it may have a result.
bool lacks_memory(std::string_view row);
/// A row from its figures on; empty if it has none.
std::string_view result_in(std::string_view row);
/// Whether a row has figures.
bool has_result(std::string_view row);
/// Whether it has the figures of a run that does not fit.
bool runs_out_of_memory(std::string_view row);
/// Whether it has figures, and no finding but expectations that they miss.
bool is_answer(std::string_view row);

}  // namespace penstock
