#include <filesystem>
#include <nlohmann/json.hpp>

#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/formats/torch_csv.hpp"
#include "experiments/input/long_work/interruption.hpp"
#include "experiments/input/long_work/progress.hpp"
#include "experiments/plan/order_search/comm_placement.hpp"
#include "experiments/plan/order_search/order_hunt.hpp"
#include "experiments/program/commands/registry.hpp"

namespace penstock::search_file {
namespace {

constexpr double longest_budget_s = 1e6;

struct Options : Arguments {
  Text scenario = line.input().required("SCENARIO", "scenario file (JSON), - for standard input");
  Text order = line.option("-o,--output", "write the order found as PyTorch CSV", "ORDER.csv");
  Text scenario_out = line.option("--scenario", "write a scenario that runs that order", "FILE");
  Flag json = line.json("print everything as JSON");
  const Existing& replaced = line.replaces();
  Heading what_to_search = line.group("What to search");
  Text memory = line.option("--memory", "capacity of a rank, in bytes or with a unit", "BYTES");
  Texts settings = line.settings();
  Flag keeps_placement =
      line.flag("--keep-placement", "only the scenario's own placement of stages on ranks");
  Flag chooses_recomputation =
      line.flag("--recompute", "choose which of the recomputed activations are kept");
  Flag communication =
      line.flag("--communication", "move RECVs and UNSHARDs of a written order, no actions");
  Heading for_how_long = line.group("For how long");
  Text budget = line.option("--budget", "time for the search, 4 by default", "SECONDS");
  Number evaluations =
      line.number("--evaluations", "orders to time instead, for the same result everywhere");
  Number seed = line.number("--seed", "of the random numbers, 1 by default");
};

double budget_of(const std::string& text) {
  const auto seconds = plain_number(text);
  if (seconds && *seconds > 0 && *seconds <= longest_budget_s) return *seconds;
  throw UsageError(
      fmt::format("--budget \"{}\": it must be a number of seconds above 0 and up to {:.0f}", text,
                  longest_budget_s));
}

HuntOptions hunt_options(const Options& options) {
  HuntOptions hunt;
  hunt.seed = options.seed.value_or(1);
  if (!options.budget.empty()) hunt.budget_s = budget_of(options.budget);
  hunt.evaluations = options.evaluations.value_or(0);
  hunt.keeps_placement = options.keeps_placement;
  hunt.chooses_recomputation = options.chooses_recomputation;
  return hunt;
}

void write_outputs(const Options& options, const Scenario& scenario, const HuntResult& result) {
  if (!result.fits) return;
  OutputSet outputs(options.replaced);
  if (!options.order.empty()) {
    const TorchCsv csv = write_torch_csv(result.order);
    outputs.write(options.order, csv.text);
    for (const std::string& action : csv.left_out) {
      say("left out, since the notation cannot carry it: " + action);
    }
  }
  if (!options.scenario_out.empty()) {
    const auto folder = std::filesystem::path(options.scenario_out).parent_path();
    outputs.write(options.scenario_out,
                  scenario_with_order(scenario, result, options.order, folder.generic_string()));
  }
  outputs.publish();
}

void check_options(const Options& options) {
  check_outputs({options.order, options.scenario_out, json_output(options.json)},
                {options.scenario}, options.replaced);
  if (options.scenario_out.empty()) return;
  if (options.order.empty() || options.order == "-") {
    throw UsageError("--scenario needs the file of the order that it names: -o ORDER.csv");
  }
}

/// Searches with a progress bar, and ends at ^C or the time limit with what was found.
template <class Search>
auto watched(const Options& options, Search search) {
  HuntOptions asked = hunt_options(options);
  std::optional<InterruptRequest> interrupt;  // before there is anything to keep, it ends at once
  ProgressBar bar;
  asked.on_prepared = [&] { interrupt.emplace(); };
  asked.asked_to_stop = [&] { return interrupt && interrupt->asked(); };
  if (const auto show = bar.text_callback()) {
    asked.on_progress = [show](const HuntState& state) { show(state.share, hunt_line(state)); };
  }
  return search(asked);
}

int search_receives(const Scenario& scenario, const Options& options) {
  if (options.chooses_recomputation || !options.scenario_out.empty()) {
    throw UsageError(
        "--communication moves RECVs and UNSHARDs alone; leave out --recompute and --scenario");
  }
  const PlacedReceives placed =
      watched(options, [&](const HuntOptions& asked) { return place_receives(scenario, asked); });
  const Layout& layout = placed.best.layout;
  if (!options.order.empty()) {
    OutputSet outputs(options.replaced);
    outputs.write(options.order, write_torch_csv(layout.schedule, layout.communication).text);
    outputs.publish();
  }
  if (options.order != "-") {
    show(options.json ? printed(placed_json(placed)) : placed_text(placed));
  }
  if (placed.interrupted) return ended_on_request("; this is the best order found so far");
  return placed.best.findings.empty() ? ExitCode::done : ExitCode::finding;
}

int search(const Options& options) {
  check_options(options);
  std::vector<std::string> settings = options.settings;
  if (!options.memory.empty()) {
    settings.push_back("/memory/capacity_bytes=" + options.memory);
  }
  const Scenario scenario = read_scenario(options.scenario, settings);
  if (options.communication) return search_receives(scenario, options);
  const HuntResult result =
      watched(options, [&](const HuntOptions& asked) { return hunt_order(scenario, asked); });
  write_outputs(options, scenario, result);
  const bool to_output = options.order == "-" || options.scenario_out == "-";
  if (!to_output) {
    show(options.json ? printed(hunt_json(result)) : hunt_text(result));
  }
  if (result.interrupted) {
    return ended_on_request(result.fits ? "; this is the best order found so far"
                                        : "; no order that fits was found so far");
  }
  return result.fits ? ExitCode::done : ExitCode::finding;
}

}  // namespace

constinit extern const CommandEntry search_entry{
    .name = "search",
    .summary = "find a better order than any named schedule, within the memory",
    .group = CommandGroup::plan,
    .example = "penstock search first_run.json --budget 2 -o order.csv",
    .declare = command<Options, search>,
};

}  // namespace penstock::search_file
