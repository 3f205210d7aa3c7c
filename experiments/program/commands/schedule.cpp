#include <nlohmann/json.hpp>

#include "experiments/input/files/json_input.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/files/setting.hpp"
#include "experiments/input/formats/torch_csv.hpp"
#include "experiments/input/orders/torch_comms.hpp"
#include "experiments/program/commands/registry.hpp"
#include "experiments/run/layout/memory_need.hpp"
#include "schedules/registry.hpp"
#include "sim/base/limits.hpp"
#include "sim/base/named.hpp"

namespace penstock::schedule_file {
namespace {

struct Options : Arguments {
  Text name = line.required("NAME", "a schedule; see penstock list schedules", suggested_schedules);
  Number ranks = line.number("--ranks", "pipeline ranks");
  Number chunks = line.number("--chunks", "stages a rank, where the rule leaves a choice");
  Number microbatches = line.number("--microbatches", "microbatches of one iteration");
  Texts settings = line.list("--set", "an option of the rule", "KEY=VALUE");
  Flag comms =
      line.flag("--comms", "with sends, receives and reductions, as PyTorch lowers an order");
  Flag fsdp = line.flag("--fsdp", "with gathering and freeing of weights too; implies --comms");
  Text torch =
      line.option("--torch", "the release of PyTorch that loads it; default 2.15", "VERSION");
};

ScheduleOptions schedule_options(const Options& options) {
  ScheduleOptions all;
  all.microbatch_count = within("--microbatches", options.microbatches, Limits::microbatches);
  for (const std::string& setting : options.settings) {
    const auto [key, value] = option_setting(setting, "schedule");
    const auto parsed = parse_json(value);
    all.settings[key] = parsed.is_string() ? parsed.get<std::string>() : value;
  }
  return all;
}

TorchVersion torch_of(const Options& options) {
  if (options.torch.empty()) return newest_torch;
  const auto version = torch_version(options.torch);
  if (version) return *version;
  throw UsageError(
      fmt::format("--torch {}: no lowering is known for this release of PyTorch; "
                  "known: 2.9, 2.14, 2.15; compute-only orders load in all",
                  options.torch));
}

/// Says what PyTorch would not load, or train otherwise. With --torch, such orders are refused.
void say_support(const Options& options, const ScheduleEntry& entry, const Schedule& schedule,
                 const Placement& placement, const ScheduleOptions& rule) {
  const std::uint32_t slices = entry.slices_for == nullptr ? 1 : entry.slices_for(rule);
  std::string why = why_not_loadable(schedule, placement);
  if (why.empty()) why = why_trained_otherwise(slices, entry.weights);
  if (why.empty()) return;
  const std::string text =
      fmt::format("PyTorch {} cannot train this order: {}", name(torch_of(options)), why);
  if (!options.torch.empty()) throw RuleError(text);
  say(text);
}

int print_schedule(const Options& options) {
  const ScheduleEntry* entry = find_named(schedule_entries(), options.name);
  if (entry == nullptr) {
    throw UsageError(unknown_text(fmt::format("schedule \"{}\"", options.name),
                                  meant_schedule(options.name), names_of(schedule_entries())));
  }
  const std::uint32_t ranks = within("--ranks", options.ranks, Limits::ranks);
  try {
    const ScheduleOptions rule_options = schedule_options(options);
    const std::uint32_t chunks =
        within("--chunks", options.chunks.value_or(usual_chunks(*entry, rule_options)),
               Limits::stages / ranks);
    const Placement placement =
        place_stages(*entry, ranks, chunks, rule_options, ": give --chunks ");
    const Lowering lowering{torch_of(options), options.fsdp};
    const bool with_comms = options.comms || options.fsdp;
    check_options(entry->name, entry->options, rule_options);
    check_size(placement, rule_options);
    need_memory_for(std::string(entry->name), placement, rule_options,
                    entry->slices_for == nullptr ? 1 : entry->slices_for(rule_options),
                    with_comms ? CellBytes::lowered_order : CellBytes::order);
    const TorchOrder order = torch_order(make_schedule(*entry, placement, rule_options));
    say_support(options, *entry, order.schedule, placement, rule_options);
    show(with_comms ? write_torch_comms(order.schedule, placement, lowering)
                    : write_torch_csv(order.schedule).text);
    for (const std::string& action : order.left_out) {
      say("left out, since the notation cannot carry it: " + action);
    }
  } catch (const RuleError& error) {
    throw UsageError(fmt::format("{}: {}", entry->name, error.what()));
  }
  return ExitCode::done;
}

}  // namespace

constinit extern const CommandEntry schedule_entry{
    .name = "schedule",
    .summary = "print the order of a schedule as PyTorch CSV",
    .group = CommandGroup::plan,
    .example = "penstock schedule 1f1b --ranks 4 --microbatches 8 > order.csv",
    .declare = command<Options, print_schedule>,
};

}  // namespace penstock::schedule_file
