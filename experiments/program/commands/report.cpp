#include <filesystem>

#include "experiments/plan/sweeps/space/read_sweep.hpp"
#include "experiments/program/commands/registry.hpp"
#include "experiments/program/pages/sweep_page.hpp"

namespace penstock::report_file {
namespace {

constexpr std::uint32_t usual_rows = 10'000, most_rows = 100'000;
constexpr std::uint32_t usual_details = 100;

struct Options : Arguments {
  Text results = line.input().required("RESULTS", "rows of penstock sweep, .jsonl");
  Text base = line.input().optional(
      "SWEEP", "the sweep or scenario of the rows: for explanations and timelines");
  Text output = line.option("-o,--output", "the page", "FILE.html");
  Texts settings = line.settings("as the sweep was given");
  Number rows = line.number("--rows", "rows on the page at most, default 10000");
  Number details =
      line.number("--details", "rows with explanation and timeline at most, default 100");
  const Existing& replaced = line.replaces();
};

/// Checks before any work. Throws UsageError.
void check_options(const Options& options) {
  if (options.output.empty()) throw UsageError("-o is missing: the page, such as report.html");
  if (options.base.empty() && (options.details || !options.settings.empty())) {
    throw UsageError("--details and --set go with SWEEP: the sweep or scenario of the rows");
  }
  check_outputs({options.output}, {options.results, options.base}, options.replaced);
}

SweepReport report_of(const Options& options) {
  SweepReport report{
      .name = std::filesystem::path(options.results).stem().string(),
      .details = options.details ? within("--details", options.details, most_rows) : usual_details};
  const std::uint32_t rows = options.rows ? within("--rows", options.rows, most_rows) : usual_rows;
  if (!options.base.empty()) {
    report.sweep = read_sweep_base({.file = options.base, .settings = options.settings});
  }
  const Waiting waiting("reading");
  report.rows = read_reported_rows(options.results, rows);
  return report;
}

int report(const Options& options) {
  check_options(options);
  SweepReport report = report_of(options);
  ProgressBar bar;
  report.on_progress = bar.callback();
  const ResultPage page = about_file(options.results, [&] { return sweep_page(report); });
  OutputFile file(options.output, options.replaced);
  write_page(page, [&](std::string_view piece) { file.write(piece); });
  file.publish();
  return ExitCode::done;
}

}  // namespace

constinit extern const CommandEntry report_entry{
    .name = "report",
    .summary = "write the results of a sweep as one HTML page",
    .group = CommandGroup::files,
    .example = "penstock report sweep.jsonl first_run.json -o report.html",
    .declare = command<Options, report>,
};

}  // namespace penstock::report_file
