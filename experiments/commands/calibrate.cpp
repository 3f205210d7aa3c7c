#include <fmt/format.h>

#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "experiments/calibration/calibration.hpp"
#include "experiments/calibration/calibration_layers.hpp"
#include "experiments/calibration/calibration_picture.hpp"
#include "experiments/calibration/calibration_rows.hpp"
#include "experiments/commands/picture_files.hpp"
#include "experiments/commands/registry.hpp"
#include "experiments/files/files.hpp"
#include "experiments/files/json_output.hpp"
#include "experiments/long_work/interruption.hpp"
#include "experiments/long_work/progress.hpp"
#include "experiments/profiles/added_rows.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"
#include "validate/store/profile_store.hpp"
#include "validate/store/utc.hpp"

namespace penstock {
namespace {

constexpr std::uint32_t usual_budget_s = 20;
constexpr std::uint32_t most_budget_s = 86'400;

struct Options {
  std::string backend = "cpu_logical";
  std::optional<std::uint32_t> budget;
  std::optional<std::uint32_t> seed;
  std::string profile;
  std::string layers_of;
  std::string report;
  std::string plot;
  PictureLook look;
  bool json = false;
};

CalibrationRequest request_of(const Options& options) {
  CalibrationRequest request;
  request.budget_s = within("--budget", options.budget.value_or(usual_budget_s), most_budget_s);
  request.bootstrap.seed = options.seed.value_or(1);
  if (!options.layers_of.empty()) request.layers = layer_points(read_scenario(options.layers_of));
  return request;
}

std::string now() { return utc_text(std::time(nullptr)); }

/// Refuses wrong paths before any long work.
void check_files(const Options& options) {
  if (options.profile == "-") throw UsageError("-o -: a profile store is a file");
  check_outputs({options.profile, options.report, options.plot}, {options.layers_of});
  if (!options.plot.empty()) picture_format(options.plot);
  options_of(options.look);
}

/// Makes a missing store, so that its errors appear before anything is measured. A new store is
/// removed again unless rows are added.
std::optional<UnfinishedFile> prepared_store(const std::string& path) {
  if (path.empty()) return std::nullopt;
  std::optional<UnfinishedFile> made;
  if (!std::filesystem::exists(path)) made.emplace(path);
  const InterruptsWait until_closed;
  const ProfileStore checked(path, ProfileStore::Access::create);
  return made;
}

std::vector<RowId> keep_rows(const std::string& path, const Calibration& calibration) {
  const InterruptsWait until_closed;
  ProfileStore store(path, ProfileStore::Access::create);
  std::vector<RowId> rows = store.add(profile_rows(calibration, now()));
  say(fmt::format("added {} rows to {}", rows.size(), path));
  return rows;
}

/// The measurements, and their rows in the store.
struct Measured {
  Calibration calibration;
  std::vector<RowId> rows;
};

Measured measure(const Options& options, const CalibrationRequest& request) {
  auto store = prepared_store(options.profile);
  ProgressBar bar;
  std::vector<RowId> rows;
  std::optional<InterruptNote> note;
  if (!options.profile.empty()) {
    note.emplace(fmt::format("kernels were not measured to the end; nothing was added to {}",
                             options.profile));
  }
  CalibrationWatch watch{.on_progress = bar.callback()};
  if (!options.profile.empty()) {
    watch.on_kernels = [&](const Calibration& so_far) {
      bar.erase();
      rows = keep_rows(options.profile, so_far);
      if (store) store->keep();
      note->set(fmt::format("the {} rows added to {} are kept", rows.size(), options.profile));
    };
  }
  Calibration calibration =
      calibrate(*find_named(backend_entries(), options.backend), request, watch);
  return {std::move(calibration), std::move(rows)};
}

int run_calibration(const Options& options) {
  check_files(options);
  const auto [calibration, rows] = measure(options, request_of(options));
  nlohmann::ordered_json document = calibration_json(calibration);
  std::string text = calibration_text(calibration);
  if (!options.profile.empty()) {
    const ProfileStore store(options.profile);
    const JudgedRows added = judged_rows(store, rows, today_here());
    document["store"] = added_rows_json(added);
    text += "\n" + added_rows_text(added);
  }
  fmt::print("{}", options.json ? printed(document) : text);
  if (!options.report.empty()) write_file(options.report, text);
  if (!options.plot.empty()) {
    CalibrationPlot plot = calibration_plot(document);
    plot.options = options_of(options.look);
    write_file(options.plot, draw_calibration_plot(picture_format(options.plot), plot));
  }
  if (!calibration.noise) return ExitCode::done;
  say(fmt::format("inconclusive: {}", *calibration.noise));
  return ExitCode::machine_cannot;
}

Runner declare(CommandLine& line) {
  auto options = std::make_shared<Options>();
  std::vector<std::string> backends;
  for (const BackendEntry* entry : backend_entries()) backends.emplace_back(entry->name);
  line.choice("--backend", options->backend, backends, "what runs the pipelines");
  line.option("-o,--output", options->profile,
              "the profile store to add what was measured to; made where there is none", "FILE");
  line.option("--layers-of", options->layers_of,
              "measure the layers of this scenario as well, for hardware \"measured\"", "SCENARIO");
  line.option("--budget", options->budget, "how many seconds to measure, about; default 20");
  line.option("--seed", options->seed, "of all that is drawn; default 1");
  line.option("--report", options->report, "write the report to a file as well", "FILE");
  line.option("--plot", options->plot, "draw predicted against measured: .svg, .png or .pdf",
              "FILE");
  declare(line, options->look);
  line.flag("--json", options->json, "print the result as JSON");
  return [options] { return run_calibration(*options); };
}

}  // namespace

constinit extern const CommandEntry calibrate_entry{
    .name = "calibrate",
    .summary = "measure this machine and fit the simulator to it",
    .group = CommandGroup::validate,
    .on_first_screen = true,
    .example = "penstock calibrate --backend cpu_logical -o machine.profile",
    .declare = declare,
};

}  // namespace penstock
