#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "experiments/commands/line/suggestions.hpp"
#include "experiments/commands/registry.hpp"
#include "experiments/files/nearest.hpp"
#include "experiments/files/setting.hpp"
#include "experiments/formats/orders/torch_comms.hpp"
#include "experiments/formats/torch_csv.hpp"
#include "schedules/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

struct Options {
  std::string name;
  std::optional<std::uint32_t> ranks;
  std::optional<std::uint32_t> chunks;
  std::optional<std::uint32_t> microbatches;
  std::vector<std::string> settings;
  bool comms = false;
  bool fsdp = false;
};

ScheduleOptions schedule_options(const Options& options) {
  ScheduleOptions all;
  all.microbatch_count = within("--microbatches", options.microbatches, Limits::microbatches);
  for (const std::string& setting : options.settings) {
    auto [key, value] = option_setting(setting, "schedule");
    all.settings[std::move(key)] = std::move(value);
  }
  return all;
}

int print_schedule(const Options& options) {
  const ScheduleEntry* entry = find_named(schedule_entries(), options.name);
  if (entry == nullptr) {
    throw UsageError(unknown_text(fmt::format("schedule \"{}\"", options.name), options.name,
                                  names_of(schedule_entries())));
  }
  const std::uint32_t ranks = within("--ranks", options.ranks, Limits::ranks);
  try {
    const ScheduleOptions rule_options = schedule_options(options);
    const std::uint32_t chunks =
        within("--chunks", options.chunks.value_or(usual_chunks(*entry, rule_options)),
               Limits::stages / ranks);
    const Placement placement =
        place_stages(*entry, ranks, chunks, rule_options, ": give --chunks ");
    const TorchOrder order = torch_order(make_schedule(*entry, placement, rule_options));
    const bool with_comms = options.comms || options.fsdp;
    fmt::print("{}", with_comms ? write_torch_comms(order.schedule, placement, options.fsdp)
                                : write_torch_csv(order.schedule).text);
    for (const std::string& action : order.left_out) {
      say("left out, since the notation cannot carry it: " + action);
    }
  } catch (const RuleError& error) {
    throw UsageError(fmt::format("{}: {}", entry->name, error.what()));
  }
  return ExitCode::done;
}

Runner declare(CommandLine& line) {
  auto options = std::make_shared<Options>();
  line.required("NAME", options->name, "a schedule; see penstock list schedules");
  line.suggest("NAME", suggested_schedules);
  line.option("--ranks", options->ranks, "pipeline ranks");
  line.option("--chunks", options->chunks, "stages a rank, where the rule leaves a choice");
  line.option("--microbatches", options->microbatches, "microbatches of one iteration");
  line.option("--set", options->settings, "an option of the rule", "KEY=VALUE");
  line.flag("--comms", options->comms, "with sends and receives, as PyTorch lowers an order");
  line.flag("--fsdp", options->fsdp, "with gathering, freeing and reducing too; implies --comms");
  return [options] { return print_schedule(*options); };
}

}  // namespace

constinit extern const CommandEntry schedule_entry{
    .name = "schedule",
    .summary = "print the order of a schedule as PyTorch CSV",
    .group = CommandGroup::plan,
    .example = "penstock schedule 1f1b --ranks 4 --microbatches 8 > order.csv",
    .declare = declare,
};

}  // namespace penstock
