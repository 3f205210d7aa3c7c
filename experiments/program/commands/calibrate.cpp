#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "experiments/input/files/table.hpp"
#include "experiments/input/long_work/interruption.hpp"
#include "experiments/input/profiles/profile_standing.hpp"
#include "experiments/measure/calibration/calibration.hpp"
#include "experiments/measure/calibration/layers_in_run.hpp"
#include "experiments/measure/gpu_probes/device_report.hpp"
#include "experiments/measure/kernel_runs/stack_fit.hpp"
#include "experiments/measure/validation/schedule_ranking.hpp"
#include "experiments/program/commands/line/shared_options.hpp"
#include "experiments/program/commands/registry.hpp"
#include "sim/base/named.hpp"
#include "validate/store/profile_store.hpp"
#include "validate/store/row_content.hpp"

namespace penstock::calibrate_file {
namespace {

constexpr std::uint32_t usual_budget_s = 20;
constexpr std::uint32_t most_budget_s = 86'400;
constexpr std::uint32_t torch_iterations = 20;
// The first four give the times, the others show the error on what is held out.
constexpr const char* torch_schedules =
    "1f1b,zb-h1,interleaved-1f1b,interleaved-zb,naive,gpipe,eager-1f1b,zb-h2,looped-bfs";

struct Options : Arguments {
  Text backend = line.choice("--backend", words_of(backend_entries()), "what runs the pipelines",
                             "cpu_logical");
  Text profile = line.option(
      "-o,--output",
      "the profile store to add what was measured to, made where there is none; with --kernels the "
      "stack as a file",
      "FILE");
  Text layers_of = line.input().option(
      "--layers-of", "measure the layers of this scenario as well, for hardware \"measured\"",
      "SCENARIO");
  Text imported = line.input().option(
      "--import", "read what penstock_gpu_check --all OUT measured on another machine instead",
      "OUT");
  Text kernels = line.input().option(
      "--kernels", "fit a stack to what time_kernels.py wrote on a machine instead", "FILE");
  Text hardware = line.option("--hardware", "with --kernels: that machine, or its device", "NAME",
                              suggested_machines);
  TorchFlags torch{{line}};
  Number budget =
      line.number("--budget", "how many seconds to measure, about, from some 10; default 20");
  Number seed = line.number("--seed", "of all that is drawn; default 1");
  Text report = line.option("--report", "write the report to a file as well", "FILE");
  Text plot = line.option("--plot", "draw predicted against measured: .svg, .png or .pdf", "FILE");
  PictureLook look{{line}};
  const Existing& replaced = line.replaces();
  Flag json = line.json("print the result as JSON");
};

CalibrationRequest request_of(const Options& options) {
  CalibrationRequest request;
  request.budget_s = within("--budget", options.budget.value_or(usual_budget_s), most_budget_s);
  request.bootstrap.seed = options.seed.value_or(1);
  if (options.layers_of.empty()) return request;
  request.layers_of = read_scenario(options.layers_of);
  request.layers = layer_points(*request.layers_of);
  return request;
}

/// Refuses wrong paths before any long work.
void check_files(const Options& options) {
  if (options.profile == "-") throw UsageError("-o -: a profile store is a file");
  // Rows are added to a store, which is not replaced.
  check_outputs({options.profile, options.report, options.plot, json_output(options.json)},
                {options.layers_of}, Existing::any);
  check_replaced(options.report, options.replaced);
  check_replaced(options.plot, options.replaced);
  if (!options.plot.empty()) picture_format(options.plot);
  options_of(options.look);
}

/// Makes a missing store, so that its errors appear before anything is measured. A new store is
/// removed again unless rows are added.
std::optional<UnfinishedFile> prepared_store(const std::string& path) {
  if (path.empty()) return std::nullopt;
  std::optional<UnfinishedFile> made;
  if (!std::filesystem::exists(path)) {
    const OutputFile writable(path);  // throws as other outputs do
    made.emplace(path);
  }
  const InterruptsWait until_closed;
  const ProfileStore checked(path, ProfileStore::Access::create);
  return made;
}

std::vector<RowId> keep_rows(const std::string& path, const Calibration& calibration) {
  const InterruptsWait until_closed;
  ProfileStore store(path, ProfileStore::Access::create);
  std::vector<RowId> rows = store.add(profile_rows(calibration, utc_text(std::time(nullptr))));
  say(fmt::format("added {} to {}", counted(rows.size(), "row"), path));
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
                             printable(options.profile)));
  }
  CalibrationWatch watch{.on_progress = bar.callback()};
  if (!options.profile.empty()) {
    watch.on_kernels = [&](const Calibration& so_far) {
      bar.erase();
      rows = keep_rows(options.profile, so_far);
      if (store) store->keep();
      note->set(
          fmt::format("the {} rows added to {} are kept", rows.size(), printable(options.profile)));
    };
  }
  Calibration calibration =
      calibrate(*find_named(backend_entries(), options.backend), request, watch);
  return {std::move(calibration), std::move(rows)};
}

/// "p.json" and "p.run.json".
std::string scenario_beside(const std::string& profile) {
  return profile.substr(0, profile.size() - std::string_view(".json").size()) + ".run.json";
}

/// PyTorch measures the layers of a scenario in whole runs; the result is a profile file.
void check_torch_options(const Options& options) {
  if (options.layers_of.empty()) {
    throw UsageError(fmt::format("{} measures the layers of a scenario: give --layers-of SCENARIO",
                                 options.backend));
  }
  const bool is_json = options.profile.ends_with(".json");
  if (!options.profile.empty() && !is_json) {
    throw UsageError(fmt::format("-o {}: {} writes a profile file, whose name ends in .json",
                                 options.profile, options.backend));
  }
  if (options.budget || options.seed || !options.plot.empty() || is_given(options.look)) {
    throw UsageError(
        fmt::format("--budget, --seed, --plot and the options of its picture do not go with {}",
                    options.backend));
  }
  check_outputs({options.profile, options.report, json_output(options.json)}, {options.layers_of},
                options.replaced);
  if (!options.profile.empty()) check_replaced(scenario_beside(options.profile), options.replaced);
}

void keep_profile(const std::string& path, const ScheduleRanking& ranking, Existing replaced) {
  auto scenario = nlohmann::ordered_json::parse(ranking.scenario);
  scenario["model"]["file"] = std::filesystem::path(path).filename().string();
  OutputSet outputs(replaced);
  outputs.write(path, ranking.profile);
  outputs.write(scenario_beside(path), printed(scenario));
  outputs.publish();
  say(fmt::format("wrote {}, and {} that reads it", path, scenario_beside(path)));
}

int run_torch_calibration(const Options& options, const BackendEntry& backend) {
  check_torch_options(options);
  const ValidationOptions measuring{.measuring = {.iterations = torch_iterations},
                                    .torch = torch_options(options.torch)};
  const Scenario scenario = read_scenario(options.layers_of);
  if (scenario.batch || !scenario.chance.changes_nothing()) {
    throw UsageError(
        fmt::format("--layers-of {}: a profile has one time of each layer; leave out /batch and "
                    "/chance of the scenario",
                    options.layers_of));
  }
  const ScheduleRanking ranking =
      rank_schedules(scenario, schedules_named(torch_schedules), backend, measuring);
  if (!options.profile.empty() && !ranking.profile.empty()) {
    keep_profile(options.profile, ranking, options.replaced);
  }
  const std::string text = ranking_text(ranking);
  show(options.json ? printed(ranking_json(ranking)) : text);
  if (!options.report.empty()) write_file(options.report, text, options.replaced);
  if (ranking.verdict != Verdict::inconclusive) return ExitCode::done;
  say(fmt::format("inconclusive: {}", why_inconclusive(ranking)));
  return ExitCode::machine_cannot;
}

/// What penstock_gpu_check measured on another machine.
void check_import_options(const Options& options) {
  const bool other = !options.layers_of.empty() || options.budget || !options.plot.empty() ||
                     given(options.torch) != nullptr || is_given(options.look) ||
                     options.backend != "cpu_logical";
  if (other) {
    throw UsageError("--import goes with -o, --seed, --report and --json: it measures nothing");
  }
  if (options.profile == "-") throw UsageError("-o -: a profile store is a file");
  check_outputs({options.profile, options.report, json_output(options.json)}, {options.imported},
                Existing::any);
  check_replaced(options.report, options.replaced);
}

/// The rows that were not in the store before.
JudgedRows kept_probes(const std::string& path, const std::vector<ProfileRow>& rows) {
  auto made = prepared_store(path);
  ProfileStore store(path, ProfileStore::Access::create);
  const AddedProbes added = add_probes(store, rows);
  if (made) made->keep();
  if (added.known > 0) {
    say(fmt::format("{} of {} already in {}", added.known, counted(rows.size(), "row"), path));
  }
  return judged_rows(store, added.rows, today_here());
}

int run_import(const Options& options) {
  check_import_options(options);
  const std::vector<ProfileRow> rows = read_probes(options.imported);
  const DeviceReport report =
      device_report(probe_rows(judged_probes(options.imported, rows, today_here())),
                    {.seed = options.seed.value_or(1)});
  nlohmann::ordered_json document = device_report_json(report);
  std::string text = device_report_text(report);
  if (!options.profile.empty()) {
    const JudgedRows added = kept_probes(options.profile, rows);
    document["store"] = added_rows_json(added);
    text += "\n" + added_rows_text(added, false);
  }
  show(options.json ? printed(document) : text);
  if (!options.report.empty()) write_file(options.report, text, options.replaced);
  return ExitCode::done;
}

/// A stack from the times of single kernels of PyTorch.
int run_kernels(const Options& options) {
  const bool other = !options.layers_of.empty() || !options.imported.empty() || options.budget ||
                     options.seed || !options.plot.empty() || given(options.torch) != nullptr ||
                     is_given(options.look) || options.backend != "cpu_logical";
  if (other) throw UsageError("--kernels goes with --hardware, -o, --report and --json");
  if (options.hardware.empty()) throw UsageError("--kernels: --hardware is missing");
  check_outputs({options.profile, options.report, json_output(options.json)}, {options.kernels},
                options.replaced);
  check_replaced(options.profile, options.replaced);
  const StackFit fit =
      fit_stack(read_kernel_run(options.kernels), read_catalogue(), options.hardware);
  const std::string text = stack_fit_text(fit);
  OutputSet outputs(options.replaced);
  if (!options.profile.empty()) {
    const std::string measured = std::filesystem::path(options.kernels).filename().string();
    // "h200.json" holds the stack "h200".
    const std::string name = std::filesystem::path(options.profile).stem().string();
    outputs.write(options.profile, printed(stack_file(fit, name, measured)));
  }
  if (!options.report.empty()) outputs.write(options.report, text);
  outputs.publish();
  show(options.json ? printed(stack_fit_json(fit)) : text);
  return ExitCode::done;
}

int run_calibration(const Options& options) {
  if (!options.kernels.empty()) return run_kernels(options);
  if (!options.hardware.empty()) throw UsageError("--hardware goes with --kernels");
  if (!options.imported.empty()) return run_import(options);
  const BackendEntry& backend = *find_named(backend_entries(), options.backend);
  if (!backend.torch.group.empty()) return run_torch_calibration(options, backend);
  if (backend.real_links) {
    throw UsageError(
        fmt::format("{} has real links, which calibrate does not measure; cuda_single "
                    "measures a GPU, and penstock validate runs {}",
                    backend.name, backend.name));
  }
  if (const char* const wrong = given(options.torch)) {
    throw UsageError(fmt::format("{} goes with --backend torch_gloo or torch_nccl", wrong));
  }
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
  show(options.json ? printed(document) : text);
  if (!options.report.empty()) write_file(options.report, text, options.replaced);
  if (!options.plot.empty()) {
    CalibrationPlot plot = calibration_plot(document);
    plot.options = options_of(options.look);
    write_file(options.plot, draw_calibration_plot(picture_format(options.plot), plot),
               options.replaced);
  }
  if (!calibration.noise) return ExitCode::done;
  say(fmt::format("inconclusive: {}", *calibration.noise));
  return ExitCode::machine_cannot;
}

}  // namespace

constinit extern const CommandEntry calibrate_entry{
    .name = "calibrate",
    .summary = "measure this machine and fit the simulator to it",
    .group = CommandGroup::validate,
    .on_first_screen = true,
    .example = "penstock calibrate --backend cpu_logical -o machine.profile",
    .declare = command<Options, run_calibration>,
};

}  // namespace penstock::calibrate_file
