#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/input/profiles/profile_report.hpp"
#include "experiments/input/profiles/profile_standing.hpp"
#include "experiments/measure/gpu_probes/device_report.hpp"
#include "experiments/program/commands/registry.hpp"

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

std::optional<std::int64_t> environment_of(const std::string& text) {
  if (text.empty()) return std::nullopt;
  return number_of("an environment", text);
}

struct StoreArguments : Arguments {
  Text store = line.required("STORE", "profile store");
};

struct ListOptions : StoreArguments {
  Flag json = line.json();
};

int list(const ListOptions& options) {
  const JudgedRows judged = judged_rows(ProfileStore(options.store), today_here());
  print(options.json, profile_list_json(judged), profile_list_text(judged));
  return ExitCode::done;
}

struct ShowOptions : StoreArguments {
  Text row = line.required("ROW", "its number");
  Flag json = line.json("print it as JSON, all samples included");
};

int show_row(const ShowOptions& options) {
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

struct CheckOptions : StoreArguments {
  Flag record = line.flag("--record", "write to the store that faulty rows are retired");
  Text budget = line.option(
      "--budget",
      "measure suspect rows again for at most this long, most doubtful first, and write the result",
      "SECONDS");
  Text recover =
      line.option("--recover", "copy the readable rows of a damaged store into a new one", "FILE");
  Flag json = line.json();
};

double budget_of(const CheckOptions& options) {
  const auto seconds = plain_number(options.budget);
  if (seconds && *seconds > 0 && *seconds <= most_budget_s) return *seconds;
  throw UsageError(fmt::format("--budget {}: expected a number of seconds, above 0 and up to {}",
                               options.budget, most_budget_s));
}

int check(const CheckOptions& options) {
  if (!options.recover.empty()) {
    if (options.record || !options.budget.empty()) {
      throw UsageError("--recover goes with neither --record nor --budget");
    }
    const Recovery recovery = recover_store(options.store, options.recover);
    print(options.json, recovery_json(recovery), recovery_text(recovery));
    const bool is_whole = recovery.count_is_known && recovery.damaged.empty();
    return is_whole ? ExitCode::done : ExitCode::finding;
  }
  const bool measures = !options.budget.empty();
  const CheckedStore checked = measures ? measured_check(options.store, budget_of(options))
                                        : plain_check(options.store, options.record);
  const SpotCheck* spot = measures ? &checked.spot : nullptr;
  print(options.json, profile_check_json(checked.judged, spot),
        profile_check_text(checked.judged, spot));
  return all_valid(checked.judged) ? ExitCode::done : ExitCode::finding;
}

struct RetireOptions : StoreArguments {
  Texts rows = line.required_list("ROW", "numbers of rows");
  Text why = line.option("--why", "the reason, which is kept with them", "TEXT");
};

int retire(const RetireOptions& options) {
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

struct SnapshotOptions : StoreArguments {
  Text output =
      line.option("-o,--output", "the profile (JSON) to write, - for standard output", "FILE");
  Text environment =
      line.option("--environment", "rows of this environment, by its number in profile list", "N");
  const Existing& replaced = line.replaces();
};

int snapshot(const SnapshotOptions& options) {
  if (options.output.empty()) throw UsageError("-o is missing; it names the file to write");
  check_outputs({options.output}, {options.store}, options.replaced);
  const Today today = today_here();
  const JudgedRows judged = judged_rows(ProfileStore(options.store), today);
  const LayerProfile layers = layer_profile(judged, environment_of(options.environment));
  write_file(options.output, printed(snapshot_json(judged, layers.profile, today.date)),
             options.replaced);
  say(fmt::format(
      "{} in the snapshot; {} left out: not of a layer, superseded, retired, or without "
      "the other passes of their size",
      counted(layers.profile.rows.size(), "row"), layers.left_out));
  return ExitCode::done;
}

struct FitOptions : StoreArguments {
  Text environment = line.option("--environment",
                                 "the GPU of this environment, by its number in profile list", "N");
  Flag json = line.json("print it as JSON, all points included");
};

int fit_gpu(const FitOptions& options) {
  const auto environment = environment_of(options.environment);
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
  Runner (*declare)(CommandLine& line);
};

constexpr std::array actions{
    Action{"list", "list what a store has, by kernel and by environment",
           "penstock profile list machine.profile", command<ListOptions, list>},
    Action{"show", "show one row: where and when it was measured, samples, verdicts",
           "penstock profile show machine.profile 1", command<ShowOptions, show_row>},
    Action{"check", "find the rows that no longer hold, and measure them again",
           "penstock profile check machine.profile --budget 2", command<CheckOptions, check>},
    Action{"fit", "fit rates, launches and interference to the measurements of a GPU",
           "penstock profile fit gpu.profile", command<FitOptions, fit_gpu>},
    Action{"retire", "take rows out of use and keep the reason",
           "penstock profile retire machine.profile 1 2 --why \"the fan was broken\"",
           command<RetireOptions, retire>},
    Action{"snapshot", "write the rows of layers as a profile that does not change",
           "penstock profile snapshot machine.profile -o machine.json",
           command<SnapshotOptions, snapshot>},
};

Runner declare(CommandLine& line) {
  std::vector<std::pair<CommandLine, Runner>> all;
  for (const Action& action : actions) {
    CommandLine own = line.subcommand(action.name, action.summary, action.example);
    all.emplace_back(own, action.declare(own));
  }
  return [all] {
    for (const auto& [own, run] : all) {
      if (own.is_given()) return run();
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
