#include <algorithm>
#include <array>

#include "experiments/input/files/files.hpp"
#include "experiments/input/formats/chrome_trace.hpp"
#include "experiments/input/formats/timeline_json.hpp"
#include "experiments/input/formats/torch_csv.hpp"
#include "experiments/input/orders/memory_need.hpp"
#include "experiments/input/orders/torch_comms.hpp"
#include "experiments/program/commands/registry.hpp"
#include "experiments/run/layout/exchanges.hpp"
#include "experiments/run/recordings.hpp"

namespace penstock::convert_file {
namespace {

/// What a run is written as, with the usual end of its files. The first with an end is meant by it.
struct Target {
  std::string_view name, suffix;
  double bytes;  // that writing takes for each cell, see CellBytes
  void (*write)(const RecordedRun& run, const TextSink& sink);
};

void write_order(const RecordedRun& run, const TextSink& sink) {
  const Schedule order = run.layout ? run.layout->schedule : order_of(run.plan);
  const TorchCsv csv =
      write_torch_csv(order, run.layout ? cells_to_write(*run.layout) : Communication{});
  const std::string lost =
      lost_text(order, csv.left_out, run.layout ? run.layout->slices : 1, order.weights().use);
  if (!lost.empty()) say(lost);
  if (!run.layout) {
    say("a recording has the order of its actions alone: overlap cells that ran in turn, "
        "communication cells, slices and when weights change are in its scenario");
  }
  sink(csv.text);
}

constexpr std::array<Target, 4> targets{
    {{"timeline", ".timeline", CellBytes::timeline,
      [](const RecordedRun& run, const TextSink& sink) {
        sink(recording_text(run.plan, run.timeline, run.title));
      }},
     {"timeline-json", ".json", 0,
      [](const RecordedRun& run, const TextSink& sink) {
        write_timeline_json(run.plan, run.timeline, run.title, sink);
      }},
     {"torch-csv", ".csv", 0, write_order},
     {"chrome-trace", ".json", CellBytes::trace, [](const RecordedRun& run, const TextSink& sink) {
        write_chrome_trace(run.plan, run.costs, run.timeline, run.title, sink);
      }}}};

struct Options : Arguments {
  Text input =
      line.input().required("IN",
                            "a .timeline file, a trace that run --trace wrote, or a scenario to "
                            "run; - for standard input");
  Text output = line.required("OUT", "the file to write; - for standard output");
  Text from = line.choice("--from", {"timeline", "chrome-trace", "scenario"},
                          "what IN must be; else any of them");
  Text to = line.choice("--to", words_of(targets), "what to write; else as the end of OUT says");
  Texts settings = line.settings("change the scenario first");
  const Existing& replaced = line.replaces();
};

const Target& target_of(const Options& options) {
  const std::string_view name = options.output;
  const std::string_view plain = name.ends_with(".gz") ? name.substr(0, name.size() - 3) : name;
  const auto found = std::find_if(targets.begin(), targets.end(), [&](const Target& target) {
    return options.to.empty() ? plain.ends_with(target.suffix) : target.name == options.to;
  });
  if (found != targets.end()) return *found;
  throw UsageError(fmt::format("{}: no format has files that end so; give --to {}", options.output,
                               fmt::join(words_of(targets), ", ")));
}

void check_source(const Options& options, const std::string& content) {
  if (options.from.empty()) return;
  const std::string_view is = is_own_trace(content)                  ? "chrome-trace"
                              : is_recording(options.input, content) ? "timeline"
                                                                     : "scenario";
  if (is == options.from) return;
  throw UsageError(fmt::format("--from {}: {} is read as a {}", options.from, options.input, is));
}

int convert(const Options& options) {
  const Target& target = target_of(options);
  check_outputs({options.output}, {options.input}, options.replaced);
  std::optional<Waiting> waiting("reading");
  // Traces are long, and little of them is kept.
  const double bytes_for_each = options.input.ends_with(".timeline") ? 4.5 : 1.7;
  const std::string content = read_file(options.input, bytes_for_each);
  check_source(options, content);
  const RecordedRun run =
      recording_in(options.input, content, options.settings, nullptr, target.bytes);
  waiting.emplace("writing");
  OutputFile file(options.output, options.replaced);
  target.write(run, [&](std::string_view piece) { file.write(piece); });
  file.publish();
  return ExitCode::done;
}

}  // namespace

constinit extern const CommandEntry convert_entry{
    .name = "convert",
    .summary = "write a run as JSON, as a trace or as an order",
    .group = CommandGroup::files,
    .example = "penstock convert run.timeline run.json",
    .declare = command<Options, convert>,
};

}  // namespace penstock::convert_file
