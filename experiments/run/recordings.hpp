#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/run/layout/layout.hpp"
#include "experiments/run/run.hpp"
#include "sim/base/error.hpp"
#include "sim/costs/costs.hpp"
#include "sim/report/memory.hpp"
#include "sim/timeline/timeline_file.hpp"

namespace penstock {

/// A run with what its timeline does not keep: of a scenario its layout and costs.
struct RecordedRun : Recording {
  std::optional<Layout> layout;
  Costs costs;
};

/// A run that does not finish: it has no timeline. Its input is right, so the program ends with a
/// finding, whatever needed the timeline.
class UnfinishedRun : public InputError {
 public:
  /// Of a result without a plan.
  explicit UnfinishedRun(const RunResult& result);
};

/// Reads a `.timeline` file, or a trace that `run --trace` wrote, or its content. Throws InputError
/// with the file's name in front.
Recording read_recording(const std::string& path);
Recording parse_recording(const std::string& path, const std::string& content);

/// The content of a `.timeline` file; a large run has an overview, see `write_timeline`.
std::string recording_text(const Plan& plan, const Timeline& timeline, const std::string& title);

/// Whether a file is one of these, by its name or its first bytes, unpacked.
bool is_recording(const std::string& path, std::string_view content);

/// A run from a `.timeline` file, or of a scenario with `settings` applied. A simulated run has
/// memory samples, as `run --timeline` writes them, and `kinds` gets what each holds by kind.
/// Throws InputError with the file's name in front, UnfinishedRun, and UsageError for settings of a
/// `.timeline` file.
Recording recording_of(const std::string& path, const std::vector<std::string>& settings = {},
                       std::vector<BytesByKind>* kinds = nullptr);
/// The same from the content of the file. `more_per_cell`: bytes that the caller will need for each
/// microbatch on each stage of a scenario, see `CellBytes`.
RecordedRun recording_in(const std::string& path, const std::string& content,
                         const std::vector<std::string>& settings = {},
                         std::vector<BytesByKind>* kinds = nullptr, double more_per_cell = 0);

}  // namespace penstock
