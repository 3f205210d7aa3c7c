#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/output_file.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/input/profiles/profile_report.hpp"
#include "experiments/input/profiles/profile_standing.hpp"
#include "experiments/measure/gpu_probes/device_report.hpp"
#include "experiments/program/commands/registry.hpp"
#include "sim/base/error.hpp"

namespace penstock::profile_file {
namespace {

constexpr double most_budget_s = 86'400;

/// Reads the number of a row or an environment from the command line.
std::int64_t number_of(const std::string& what, const std::string& text) {
  const auto number = plain_number(text);
  if (number && *number >= 1 && *number <= 9e15 && std::floor(*number) == *number) {
    return static_cast<std::int64_t>(*number);
  }
  throw UsageError(fmt::format("{} is not the number of {}", text, what));
}

void print(bool as_json, const nlohmann::ordered_json& document, const std::string& text) {
  show(as_json ? printed(document) : text);
}

/// The arguments of all actions on a store.
struct Options {
  std::string store;
  std::vector<std::string> rows;
  std::string row, budget, recover, why, output, environment;
  bool record = false;
  bool json = false;
  Existing replaced = Existing::own;
};

std::optional<std::int64_t> environment_of(const Options& options) {
  if (options.environment.empty()) return std::nullopt;
  return number_of("an environment", options.environment);
}

void declare_list(CommandLine& line, Options& options) { line.json(options.json); }

int list(const Options& options) {
  const JudgedRows judged = judged_rows(ProfileStore(options.store), today_here());
  print(options.json, profile_list_json(judged), profile_list_text(judged));
  return ExitCode::done;
}

void declare_show(CommandLine& line, Options& options) {
  line.required("ROW", options.row, "its number");
  line.json(options.json, "print it as JSON, all samples included");
}

int show_row(const Options& options) {
  const RowId id{number_of("a row", options.row)};
  const ProfileStore store(options.store);
  if (!store.row(id)) {
    throw UsageError(fmt::format("{}: there is no row {}", options.store, options.row));
  }
  const JudgedRows judged = judged_rows(store, today_here());
  const std::vector<RowVerdict> verdicts = store.verdicts(id);
  print(options.json, profile_row_json(judged, id, verdicts),
        profile_row_text(judged, id, verdicts));
  return ExitCode::done;
}

void declare_check(CommandLine& line, Options& options) {
  line.flag("--record", options.record, "write to the store that faulty rows are retired");
  line.option(
      "--budget", options.budget,
      "measure suspect rows again for at most this long, most doubtful first, and write the "
      "result",
      "SECONDS");
  line.option("--recover", options.recover,
              "copy the readable rows of a damaged store into a new one", "FILE");
  line.json(options.json);
}

double budget_of(const Options& options) {
  const auto seconds = plain_number(options.budget);
  if (seconds && *seconds > 0 && *seconds <= most_budget_s) return *seconds;
  throw UsageError(fmt::format("--budget {}: expected a number of seconds, above 0 and up to {}",
                               options.budget, most_budget_s));
}

int check(const Options& options) {
  if (!options.recover.empty()) {
    if (options.record || !options.budget.empty()) {
      throw UsageError("--recover goes with neither --record nor --budget");
    }
    const Recovery recovery = recover_store(options.store, options.recover);
    print(options.json, recovery_json(recovery), recovery_text(recovery));
    return recovery.damaged.empty() ? ExitCode::done : ExitCode::finding;
  }
  const bool measures = !options.budget.empty();
  const CheckedStore checked = measures ? measured_check(options.store, budget_of(options))
                                        : plain_check(options.store, options.record);
  const SpotCheck* spot = measures ? &checked.spot : nullptr;
  print(options.json, profile_check_json(checked.judged, spot),
        profile_check_text(checked.judged, spot));
  return all_valid(checked.judged) ? ExitCode::done : ExitCode::finding;
}

void declare_retire(CommandLine& line, Options& options) {
  line.required("ROW", options.rows, "numbers of rows");
  line.option("--why", options.why, "the reason, which is kept with them", "TEXT");
}

int retire(const Options& options) {
  if (trimmed(options.why).empty()) {
    throw UsageError("--why is missing: the reason, which is kept with the rows");
  }
  ProfileStore store(options.store, ProfileStore::Access::write);
  std::vector<StateChange> changes;
  for (const std::string& row : options.rows) {
    changes.push_back({RowId{number_of("a row", row)}, RowState::retired, options.why});
  }
  const std::size_t moved = store.change(changes, today_here().date).size();
  show(fmt::format("{} retired", counted(moved, "row")));
  if (moved < changes.size()) show(fmt::format("; {} already were", changes.size() - moved));
  show("\n");
  return ExitCode::done;
}

void declare_snapshot(CommandLine& line, Options& options) {
  line.option("-o,--output", options.output, "the profile (JSON) to write, - for standard output",
              "FILE");
  line.option("--environment", options.environment,
              "rows of this environment, by its number in profile list", "N");
  line.replaces(options.replaced);
}

int snapshot(const Options& options) {
  if (options.output.empty()) throw UsageError("-o is missing; it names the file to write");
  check_outputs({options.output}, {options.store}, options.replaced);
  const Today today = today_here();
  const JudgedRows judged = judged_rows(ProfileStore(options.store), today);
  const LayerProfile layers = layer_profile(judged, environment_of(options));
  write_file(options.output, printed(snapshot_json(judged, layers.profile, today.date)),
             options.replaced);
  say(fmt::format(
      "{} in the snapshot; {} left out: not of a layer, superseded, retired, or without "
      "the other passes of their size",
      counted(layers.profile.rows.size(), "row"), layers.left_out));
  return ExitCode::done;
}

void declare_fit(CommandLine& line, Options& options) {
  line.option("--environment", options.environment,
              "the GPU of this environment, by its number in profile list", "N");
  line.json(options.json, "print it as JSON, all points included");
}

int fit_gpu(const Options& options) {
  const auto environment = environment_of(options);
  const JudgedRows judged = judged_rows(ProfileStore(options.store), today_here());
  const DeviceReport report = device_report(probe_rows(judged, environment));
  print(options.json, device_report_json(report), device_report_text(report));
  return ExitCode::done;
}

/// An action on a store.
struct Action {
  const char* name;
  const char* summary;
  const char* example;
  void (*declare)(CommandLine& line, Options& options);
  int (*run)(const Options& options);
};

constexpr std::array actions{
    Action{"list", "list what a store has, by kernel and by environment",
           "penstock profile list machine.profile", declare_list, list},
    Action{"show", "show one row: where and when it was measured, samples, verdicts",
           "penstock profile show machine.profile 1", declare_show, show_row},
    Action{"check", "find the rows that no longer hold, and measure them again",
           "penstock profile check machine.profile --budget 2", declare_check, check},
    Action{"fit", "fit rates, launches and interference to the measurements of a GPU",
           "penstock profile fit gpu.profile", declare_fit, fit_gpu},
    Action{"retire", "take rows out of use and keep the reason",
           "penstock profile retire machine.profile 1 2 --why \"the fan was broken\"",
           declare_retire, retire},
    Action{"snapshot", "write the rows of layers as a profile that does not change",
           "penstock profile snapshot machine.profile -o machine.json", declare_snapshot, snapshot},
};

Runner declare(CommandLine& line) {
  auto options = std::make_shared<Options>();
  std::vector<std::pair<CommandLine, const Action*>> all;
  for (const Action& action : actions) {
    CommandLine own = line.subcommand(action.name, action.summary, action.example);
    own.required("STORE", options->store, "profile store");
    action.declare(own, *options);
    all.emplace_back(own, &action);
  }
  return [all, options] {
    for (const auto& [own, action] : all) {
      if (own.is_given()) return action->run(*options);
    }
    throw UsageError("what to do with the store is missing; see penstock profile --help");
  };
}

}  // namespace

constinit extern const CommandEntry profile_entry{
    .name = "profile",
    .summary = "list, check and retire measurements in a profile store",
    .group = CommandGroup::validate,
    .example = "penstock profile list machine.profile",
    .declare = declare,
};

}  // namespace penstock::profile_file
