#include "gui/models/run/open_files.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "experiments/input/files/files.hpp"
#include "experiments/input/formats/torch_csv.hpp"
#include "experiments/measure/measured_runs/measured_run.hpp"
#include "experiments/run/recordings.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// The first bytes of a file; a trace may be far too large to read it twice.
std::string beginning_of(const std::string& path) {
  std::string bytes(65536, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

std::string json_string(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

/// A scenario of an order without costs: every stage takes 1 ms forwards and twice that backwards.
std::string scenario_of_order(const std::string& path) {
  try {
    const OrderFile order = read_torch_csv(read_file(path));
    const Placement placement = placement_of(order, {});
    std::string stages;
    for (std::size_t s = 0; s < placement.chains().front().size(); ++s) {
      stages += s == 0 ? "" : ", ";
      stages += R"({"forward_us": 1000, "backward_input_us": 1000, "backward_weight_us": 1000})";
    }
    const std::string file = std::filesystem::absolute(path).string();
    return fmt::format(
        R"({{"penstock": 1, "model": {{"stages": [{}]}}, "hardware": {{"name": "ideal", "devices": {}}}, )"
        R"("schedule": {{"file": {}}}}})",
        stages, order.schedule.ranks(), json_string(file));
  } catch (const InputError& error) {
    throw in_file(path, error);
  }
}

/// Throws for what is dropped by mistake, such as a picture. What is empty or no file is left to
/// the reader.
void check_scenario(const std::string& path, std::string_view beginning) {
  const std::size_t first = beginning.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (first == std::string_view::npos || beginning[first] == '{') return;
  throw in_file(path, InputError("unrecognised file; the viewer opens scenarios (.json), traces "
                                 "(.json, .gz), .timeline, orders (.csv) and sweeps (.jsonl)"));
}

ViewedRunPtr open_one(const std::string& path, ViewedFile kind, std::string_view beginning) {
  if (kind == ViewedFile::timeline) return viewed(read_recording(path), path);
  if (kind == ViewedFile::order) return viewed(parse_scenario(scenario_of_order(path), path));
  check_scenario(path, beginning);
  return viewed(read_scenario(path));
}

ViewedRunPtr open_traces(const std::vector<std::string>& paths,
                         const std::function<void(double)>& on_progress) {
  TraceReading reading{.files = paths,
                       .pipeline_ranks = {},
                       .patterns = {},
                       .order = {},
                       .on_progress = on_progress};
  for (const KnownPattern& known : known_patterns()) reading.patterns.emplace_back(known.text);
  std::vector<std::string> notes;
  MeasuredRun run =
      measured_run(read_rank_traces(reading, true, notes), std::nullopt, std::nullopt);
  std::shared_ptr<const RecordedIterations> iterations;
  if (run.numbers.size() > 1) {
    iterations = std::make_shared<const RecordedIterations>(
        RecordedIterations{run.title, std::move(run.numbers), std::move(run.measured.iterations)});
  }
  return viewed(Recording{std::move(run.job.priced.plan), std::move(run.timeline), run.title},
                paths.front(), std::move(iterations));
}

}  // namespace

ViewedFile kind_of_file(const std::string& path, std::string_view beginning) {
  if (is_recording(path, beginning)) return ViewedFile::timeline;
  if (path.ends_with(".csv")) return ViewedFile::order;
  if (path.ends_with(".gz")) return ViewedFile::trace;
  const bool has_events = beginning.find("\"traceEvents\"") != std::string_view::npos ||
                          beginning.find("\"schemaVersion\"") != std::string_view::npos;
  return has_events || beginning.starts_with('[') ? ViewedFile::trace : ViewedFile::scenario;
}

std::vector<ViewedRunPtr> open_files(const std::vector<std::string>& paths,
                                     const std::function<void(double)>& on_progress) {
  std::vector<ViewedRunPtr> runs;
  std::vector<std::string> traces;
  std::size_t place_of_traces = 0;
  for (const std::string& path : paths) {
    const std::string beginning = beginning_of(path);
    const ViewedFile kind = kind_of_file(path, beginning);
    if (kind == ViewedFile::trace) {
      if (traces.empty()) place_of_traces = runs.size();
      traces.push_back(path);
    } else {
      runs.push_back(open_one(path, kind, beginning));
    }
  }
  if (!traces.empty()) {
    const auto place = runs.begin() + static_cast<std::ptrdiff_t>(place_of_traces);
    runs.insert(place, open_traces(traces, on_progress));
  }
  return runs;
}

}  // namespace penstock
