#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <list>
#include <utility>

#include "experiments/input/files/byte_stream.hpp"
#include "experiments/input/files/files.hpp"
#include "experiments/input/files/output_file.hpp"
#include "experiments/input/formats/torch_csv.hpp"
#include "experiments/input/formats/traces/nsys_trace.hpp"
#include "experiments/input/long_work/interruption.hpp"
#include "experiments/measure/measured_runs/measured_run.hpp"
#include "experiments/measure/measured_runs/rank_traces.hpp"
#include "experiments/run/recordings.hpp"
#include "gui/models/run/remedy.hpp"
#include "gui/models/run/viewed_run.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr std::uint64_t largest_held = 16'000'000;  // tasks

/// The first bytes of a file, unpacked; a trace may be far too large to read it twice. Faults are
/// left to the reader.
std::string beginning_of(const std::string& path) {
  constexpr std::size_t enough = 65536;
  std::string bytes;
  try {
    ByteStream file(path, UINT64_MAX, UINT64_MAX);
    for (; bytes.size() < enough && !file.ended(); file.advance()) bytes += file.current();
  } catch (const InputError&) {
  }
  return bytes;
}

std::string json_string(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    const bool is_control = static_cast<unsigned char>(c) < 0x20;
    quoted += is_control ? fmt::format("\\u{:04x}", c) : std::string(1, c);
  }
  return quoted + '"';
}

/// An order from standard input as a file, which is there until the program ends: a scenario that
/// is changed reads its order again.
std::string kept_order(const std::string& text) {
  static std::list<UnfinishedFile> all;
  constexpr std::string_view suffix = ".csv";
  std::string path = std::filesystem::temp_directory_path() / "penstock-XXXXXX.csv";
  const int file = ::mkstemps(path.data(), suffix.size());
  if (file < 0) throw InputError(path + ": cannot make this file; TMPDIR sets its folder");
  ::close(file);
  all.emplace_back(path);
  write_file(path, text);
  return path;
}

/// A scenario of an order without costs: every stage takes 1 ms forwards and twice that backwards.
std::string scenario_of_order(const std::string& path, const std::string& text) {
  try {
    const OrderFile order = read_torch_csv(text);
    const Placement placement = placement_of(order, {});
    std::string stages;
    for (std::size_t s = 0; s < placement.chains().front().size(); ++s) {
      stages += s == 0 ? "" : ", ";
      stages += R"({"forward_us": 1000, "backward_input_us": 1000, "backward_weight_us": 1000})";
    }
    const std::string file =
        path == "-" ? kept_order(text) : std::filesystem::absolute(path).string();
    return fmt::format(
        R"({{"penstock": 1, "model": {{"stages": [{}]}}, "hardware": {{"name": "ideal", "devices": {}}}, )"
        R"("schedule": {{"file": {}}}}})",
        stages, order.schedule.ranks(), json_string(file));
  } catch (const InputError& error) {
    throw in_file(path, error);
  }
}

/// Whether a text may be a JSON object. What is empty or no file is left to the reader.
bool begins_as_object(std::string_view beginning) {
  const std::size_t first = beginning.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  return first == std::string_view::npos || beginning[first] == '{';
}

/// Throws for what is dropped by mistake, such as a picture.
void check_scenario(const std::string& path, std::string_view beginning) {
  if (begins_as_object(beginning)) return;
  if (is_nsys_report(path)) {
    throw in_file(path, InputError("only Nsight Systems reads this format; its export opens: " +
                                   export_command(path)));
  }
  throw in_file(path, InputError("unrecognised file; the viewer opens scenarios (.json), traces "
                                 "(.json, .gz, .sqlite), .timeline, orders (.csv) and sweeps "
                                 "(.jsonl)"));
}

/// The files of folders, by name, in the place of these.
std::vector<std::string> with_folders_opened(const std::vector<std::string>& paths) {
  std::vector<std::string> all;
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (path == "-" || !std::filesystem::is_directory(path, ignored)) {
      all.push_back(path);
      continue;
    }
    const auto first = static_cast<std::ptrdiff_t>(all.size());
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      if (entry.is_regular_file()) all.push_back(entry.path().string());
    }
    std::sort(all.begin() + first, all.end());
  }
  return all;
}

/// A file that is too large to be held is shown in parts.
ViewedRunPtr open_timeline(const std::string& path) {
  if (!is_large_timeline(path, largest_held)) return viewed(read_recording(path), path);
  try {
    return viewed_part(std::make_shared<const LargeTimeline>(path), path, {}, {});
  } catch (const InputError& error) {
    throw in_file(path, error);
  }
}

ViewedRunPtr open_one(const std::string& path, ViewedFile kind, std::string_view beginning) {
  if (kind == ViewedFile::timeline) return open_timeline(path);
  if (kind == ViewedFile::order) {
    return viewed(parse_scenario(scenario_of_order(path, read_file(path)), path));
  }
  check_scenario(path, beginning);
  return viewed_if_finished(std::make_shared<const Scenario>(read_scenario(path)));
}

/// Whether a path is a pipe, which can be read only once.
bool is_pipe(const std::string& path) {
  std::error_code ignored;
  return path == "-" || std::filesystem::is_fifo(path, ignored);
}

ViewedRunPtr open_pipe(const std::string& path) {
  const std::string content = read_file(path);
  const ViewedFile kind = kind_of_file("-", content);
  if (kind == ViewedFile::timeline) return viewed(parse_recording(path, content), path);
  if (kind == ViewedFile::trace) {
    throw InputError(path + ": traces are opened by name, one file a rank");
  }
  return viewed(
      parse_scenario(kind == ViewedFile::order ? scenario_of_order("-", content) : content, path));
}

ViewedRunPtr open_pipeline(const std::vector<std::string>& traces,
                           const std::vector<std::string>& files,
                           const std::function<void(double)>& on_progress) {
  TraceReading reading{.files = traces,
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
                files.front(), std::move(iterations), files);
}

/// Of traces in which no pipeline was found, and why.
ViewedRunPtr open_lanes(const std::vector<std::string>& traces,
                        const std::vector<std::string>& files, const std::string& why,
                        const std::function<void(double)>& on_progress) {
  auto run = std::make_shared<ViewedRun>(
      *viewed(lanes_of_traces(traces, on_progress), files.front(), nullptr, files));
  run->text = fmt::format(
      "{}\n\nThese are the lanes of the traces as they are, for no pipeline was found in "
      "them:\n{}\n",
      run->title, why);
  return run;
}

ViewedRunPtr open_traces(const std::vector<std::string>& paths,
                         const std::function<void(double)>& on_progress) {
  std::vector<std::string> traces;
  for (const std::string& path : paths) {
    for (std::string& trace : traces_in(path)) traces.push_back(std::move(trace));
  }
  try {
    return open_pipeline(traces, paths, on_progress);
  } catch (const InputError& error) {
    return open_lanes(traces, paths, error.what(), on_progress);
  }
}

}  // namespace

ViewedFile kind_of_file(const std::string& path, std::string_view beginning) {
  if (is_recording(path, beginning)) return ViewedFile::timeline;
  if (is_nsys(beginning)) return ViewedFile::trace;
  if (path.ends_with(".csv") || path.ends_with(".csv.gz")) return ViewedFile::order;
  if (path.ends_with(".gz") && !begins_as_object(beginning)) return ViewedFile::trace;
  const bool has_events = beginning.find("\"traceEvents\"") != std::string_view::npos ||
                          beginning.find("\"schemaVersion\"") != std::string_view::npos;
  if (has_events || beginning.starts_with('[')) return ViewedFile::trace;
  return path == "-" && !begins_as_object(beginning) ? ViewedFile::order : ViewedFile::scenario;
}

std::vector<ViewedRunPtr> open_files(const std::vector<std::string>& paths,
                                     const std::function<void(double)>& on_progress) {
  std::vector<ViewedRunPtr> runs;
  std::vector<std::string> traces;
  std::size_t place_of_traces = 0;
  for (const std::string& path : with_folders_opened(paths)) {
    if (is_pipe(path)) {
      runs.push_back(open_pipe(path));
      continue;
    }
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
