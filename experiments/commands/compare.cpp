#include <fmt/format.h>

#include <charconv>
#include <cstdio>

#include "experiments/commands/registry.hpp"
#include "experiments/comparison/comparison.hpp"
#include "experiments/run/recordings.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

struct Options {
  std::string a;
  std::string b;
  std::vector<std::string> settings;
  std::string alignment = "start";
  std::string tolerance = "0";
  bool json = false;
};

double parse_tolerance(const std::string& text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || rest != end || !(value >= 0 && value <= 1)) {
    throw UsageError(fmt::format(
        "--tolerance {}: it must be a share of A's makespan, from 0 to 1, such as 0.005", text));
  }
  return value;
}

CompareOptions compare_options(const Options& options) {
  CompareOptions result{.tolerance = parse_tolerance(options.tolerance)};
  if (options.alignment == "first-op") result.alignment = Alignment::first_op;
  if (options.alignment == "makespan") result.alignment = Alignment::makespan;
  return result;
}

int compare_runs(const Options& options) {
  const CompareOptions how = compare_options(options);
  if (options.a == "-" && options.b == "-") {
    throw UsageError("standard input can be A or B, but not both");
  }
  const ComparedRun a{options.a, recording_of(options.a)};
  const ComparedRun b{options.b, recording_of(options.b, options.settings)};
  const Comparison comparison =
      compare(a.recording.plan, a.recording.timeline, b.recording.plan, b.recording.timeline, how);
  if (comparison.ops.empty()) {
    throw InputError(
        fmt::format("{}: none of its {} ops is among the {} ops of {}; compare runs whose plans "
                    "share stages and microbatches",
                    options.b, b.recording.plan.tasks(), a.recording.plan.tasks(), options.a));
  }
  const std::string text =
      options.json ? comparison_json(a, b, comparison) : comparison_text(a, b, comparison);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return comparison.same() ? ExitCode::done : ExitCode::finding;
}

Runner declare(CommandLine& line) {
  auto options = std::make_shared<Options>();
  line.required("A", options->a, "a .timeline file, or a scenario to run; - for standard input");
  line.required("B", options->b, "the same, compared with A");
  line.option("--set", options->settings, "change the scenario B first", "/POINTER=VALUE");
  line.choice(
      "--align", options->alignment, {"start", "first-op", "makespan"},
      "what to align: the starts of the runs, their first ops, or starts and ends, with the "
      "times of B scaled");
  line.option("--tolerance", options->tolerance,
              "how far times may differ, as a share of A's makespan; default 0", "SHARE");
  line.flag("--json", options->json, "print everything as JSON, every op included");
  return [options] { return compare_runs(*options); };
}

}  // namespace

constinit extern const CommandEntry compare_entry{
    .name = "compare",
    .summary = "hold one run against another, simulated or measured, op by op",
    .details =
        "A and B are .timeline files, as run --timeline writes them, or scenarios, which are\n"
        "run. An op is one pass of one stage for one microbatch, wherever it runs, or a\n"
        "transfer; ops of one run alone are counted and, with --json, listed. Differences are\n"
        "B - A. Of a measured and a simulated run, A is best the measured one.\n"
        "\n"
        "Where they part names the first op in time that is not where it was, and why:\n"
        "  its own duration  it starts as before and takes another time\n"
        "  its own wait      all that it needs from others was there as before; it waited\n"
        "                    another time for its host, for memory or for its link\n"
        "  its input         came at another time\n"
        "  before it         what runs before it on its rank ended at another time\n"
        "  behind            another op runs before it on its rank or link\n"
        "and the first place where a rank or link goes on with different ops. A wait is the\n"
        "time from when inputs, and the op before on the rank, were done; so the difference of\n"
        "a start is a difference of waits, and the rest was passed on by others.\n"
        "\n"
        "Time of transfers is told apart: they wait (from when their input is there, for their\n"
        "link or their receiver) and they move (until they have arrived). Idle causes are those\n"
        "of run; dependency is waiting for a producer rather than for its transfer.\n"
        "\n"
        "Exits with 0 when no op is in one run alone, elsewhere, or off by more than the\n"
        "tolerance, else with 1. --json has all as one document; errors beside the times are\n"
        "shares of A's makespan.\n"
        "\n"
        "Example: penstock run experiments/scenarios/first_run.json --timeline a.timeline\n"
        "         penstock compare a.timeline experiments/scenarios/first_run.json \\\n"
        "           --set /hardware/latency_us=50\n"
        "         tells that 0SEND_F0 takes 0.385544 ms in place of 0.337544, what that did to\n"
        "         each rank, and that no order changed",
    .declare = declare,
};

}  // namespace penstock
