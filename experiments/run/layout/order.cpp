#include "experiments/run/layout/order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/input/fields/fields.hpp"
#include "experiments/input/files/files.hpp"
#include "experiments/input/files/named_files.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/input/formats/torch_csv.hpp"
#include "experiments/input/orders/comms_check.hpp"
#include "experiments/input/orders/named_order.hpp"
#include "experiments/input/scenario/section_parts.hpp"
#include "experiments/input/scenario/sections.hpp"
#include "experiments/run/layout/exchanges.hpp"
#include "experiments/run/layout/pipeline_ranks.hpp"
#include "experiments/run/layout/written.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {
namespace {

/// All stages of a model on some ranks. A refusal names the ranks that they need: no other number
/// of chunks holds them.
Placement place_all(const Scenario& scenario, const Degrees& degrees, const ScheduleEntry& entry,
                    std::uint32_t stages, std::uint32_t ranks, std::uint32_t usual) {
  try {
    return entry.place(ranks, stages / ranks);
  } catch (const RuleError& error) {
    throw InputError(
        scenario.parallel.pipeline ? "/parallel/pipeline" : "/hardware/devices",
        fmt::format("{} on {}: {} {}{}", counted(stages, "stage"), counted(ranks, "rank"),
                    entry.name, error.what(), remedy_for_stages(scenario, degrees, stages, usual)));
  }
}

/// The usual chunks of a rule hold all stages of a model on other ranks: the remedy names these
/// too.
Placement place_chunks(const Scenario& scenario, const Degrees& degrees, const ScheduleEntry& entry,
                       const ScheduleOptions& options, std::uint32_t ranks, std::uint32_t chunks) {
  try {
    return place_stages(entry, ranks, chunks, options, ": set /parallel/chunks=");
  } catch (const RuleError& error) {
    const auto stages = stages_given(scenario);
    const std::uint32_t usual = usual_chunks(entry, options);
    if (!stages || entry.copies > 1 || usual == chunks || *stages == ranks * usual) throw;
    throw RuleError(error.what() + remedy_for_stages(scenario, degrees, *stages, usual, " and "));
  }
}

Placement placement_for_rule(const Scenario& scenario, const Degrees& degrees,
                             const ScheduleEntry& entry, const ScheduleOptions& options,
                             std::uint32_t ranks, std::uint32_t chunks) {
  check_sizes(ranks, chunks);
  if (!scenario.partition.ranks.empty()) return given_placement(scenario, ranks);
  const auto stages = stages_given(scenario);
  Placement placement = place_chunks(scenario, degrees, entry, options, ranks, chunks);
  const bool fits = !stages || placement.chains().front().size() == *stages;
  if (fits || scenario.parallel.chunks || entry.copies > 1 || *stages % ranks != 0)
    return placement;
  // Otherwise the number of stages in the model determines the chunks.
  return place_all(scenario, degrees, entry, *stages, ranks, chunks);
}

const ScheduleEntry& rule_of(const Scenario& scenario) {
  const std::string& name = scenario.schedule.name;
  const ScheduleEntry* entry = find_named(schedule_entries(), name);
  if (entry != nullptr) return *entry;
  throw InputError("/schedule/name",
                   unknown_text(fmt::format("name \"{}\"", name), meant_schedule(name),
                                names_of(schedule_entries())));
}

/// Reads an order that a scenario names. Of a file from elsewhere, which may be no order at all,
/// errors quote nothing.
OrderFile named_order(const Scenario& scenario, const std::string& path, const std::string& text) {
  try {
    OrderFile read = read_torch_csv(text);
    placement_of(read, {});  // refuses faults that do not depend on the chains
    return read;
  } catch (const InputError& error) {
    const bool own = leads_below(scenario.folder, path);
    throw in_file(path, own ? error : without_quotes(error));
  }
}

/// Uses the scenario's chains, or one chain of all stages.
Placement placement_of_file(const Scenario& scenario, const OrderFile& order) {
  try {
    return placement_of(order, scenario.schedule.chains);
  } catch (const InputError& error) {
    throw in_file(scenario.source, InputError("/schedule/chains", error.what()));
  }
}

Placement placement_for_policy(const Scenario& scenario, std::uint32_t ranks,
                               const ScheduleOptions& options) {
  if (!scenario.partition.ranks.empty()) return given_placement(scenario, ranks);
  const auto stages = stages_given(scenario);
  const bool divides = stages && *stages % ranks == 0 && !scenario.parallel.chunks;
  const std::uint32_t chunks = divides ? *stages / ranks : scenario.parallel.chunks.value_or(1);
  check_sizes(ranks, chunks);
  return policy_placement(ranks, chunks, options);
}

const PolicyEntry& policy_of(const Scenario& scenario) {
  const std::string& name = scenario.schedule.policy;
  const PolicyEntry* entry = find_named(policy_entries(), name);
  if (entry != nullptr) return *entry;
  throw InputError("/schedule/policy", unknown_text(fmt::format("name \"{}\"", name), name,
                                                    names_of(policy_entries())));
}

/// JSON pointer of a schedule option.
std::string option_pointer(const std::string& name) { return "/schedule" + pointer_step(name); }

/// The key of the section that a mistyped option most likely means, as a question.
std::string meant_key_text(const std::string& option) {
  std::vector<std::string> keys;
  for (const Field& field : schedule_fields().fields) keys.emplace_back(field.key);
  const auto near = nearest(option, keys);
  return near ? fmt::format("; did you mean \"{}\"?", *near) : "";
}

/// Errors of a rule or policy point at its options.
template <class Step>
void about_rule(std::string_view name, Step step) {
  try {
    step();
  } catch (const UnknownOption& error) {
    throw InputError(option_pointer(error.name()), error.what() + meant_key_text(error.name()));
  } catch (const RuleError& error) {
    throw InputError("/schedule", fmt::format("{}: {}", name, error.what()));
  }
}

/// The stages of an order's file; where its exchanges cut those of a model by kind, these.
std::uint32_t whole_stages(const Scenario& scenario, const Order& order) {
  const std::uint32_t stages = order.placement.stage_count();
  if (!scenario.model.by_kind()) return stages;
  const auto& cut = order.exchanges;
  const auto cuts = std::ranges::count(cut, true);
  return stages -
         static_cast<std::uint32_t>(cuts * std::ptrdiff_t(order.placement.chains().size()));
}

/// What takes memory, with its place.
std::string memory_for(const Scenario& scenario, std::string_view name) {
  return fmt::format("{}: /schedule: {}", scenario.source, name);
}

}  // namespace

void check_order_options(const Scenario& scenario) {
  const ScheduleOptions options{1, scenario.schedule.settings};
  const auto check = [&](std::string_view name, std::span<const ScheduleOption> known) {
    about_rule(name, [&] { check_options(name, known, options); });
  };
  if (const auto* rule = find_named(schedule_entries(), scenario.schedule.name)) {
    check(rule->name, rule->options);
  }
  if (const auto* policy = find_named(policy_entries(), scenario.schedule.policy)) {
    check(policy->name, options_of_policy(*policy));
  }
}

Order order_by_rule(const Scenario& scenario, const Degrees& degrees, std::uint32_t microbatches,
                    double bytes_per_cell) {
  const ScheduleEntry& entry = rule_of(scenario);
  Order order{.name = scenario.schedule.name,
              .microbatches = microbatches,
              .rule = &entry,
              .options = {microbatches, scenario.schedule.settings}};
  about_rule(entry.name, [&] {
    const auto& stated = scenario.parallel.chunks;
    const std::uint32_t chunks = stated ? *stated : usual_chunks(entry, order.options);
    const std::uint32_t ranks = ranks_for(scenario, degrees, chunks, entry.copies);
    check_devices(scenario, degrees, ranks);
    order.placement = placement_for_rule(scenario, degrees, entry, order.options, ranks, chunks);
    check_size(order.placement, order.options);
    if (entry.slices_for != nullptr) order.slices = entry.slices_for(order.options);
    need_memory_for(memory_for(scenario, entry.name), order.placement, order.options, order.slices,
                    bytes_per_cell);
    order.schedule = make_schedule(entry, order.placement, order.options);
    order.communication = written_communication(scenario, order.schedule, order.placement, {});
  });
  return order;
}

Order order_by_file(const Scenario& scenario) {
  const std::string path =
      named_file(scenario.source, scenario.folder, "/schedule/file", scenario.schedule.file);
  const std::string text = read_file(path);
  const OrderFile file = named_order(scenario, path, text);
  Order order;
  order.name = scenario.schedule.file;
  order.placement = placement_of_file(scenario, file);
  about_file(path, [&] { require_sound(file, order.placement, scenario.schedule.communication); });
  order.microbatches = MicrobatchColumns(file.schedule).count();
  order.schedule = file.schedule;
  order.exchanges = exchanges_in(file.comms, order.placement);
  if (scenario.schedule.communication != Communicating::written) {
    order.note = untimed_comms_note(file);
    return order;
  }
  auto rows = file.compute_only() ? std::vector<std::vector<CommCell>>{} : file.comms;
  about_file(path, [&] {
    order.communication =
        written_communication(scenario, order.schedule, order.placement, std::move(rows));
  });
  return order;
}

void check_against_order(const Scenario& scenario, const Degrees& degrees, const Batch& batch,
                         const Order& order) {
  const std::uint32_t ranks = order.schedule.ranks();
  if (scenario.parallel.pipeline && *scenario.parallel.pipeline != ranks) {
    throw InputError("/parallel/pipeline",
                     fmt::format("it is {}, but the order has {}", *scenario.parallel.pipeline,
                                 counted(ranks, "row")));
  }
  const std::uint32_t stages = whole_stages(scenario, order);
  if (scenario.parallel.chunks && std::uint64_t{*scenario.parallel.chunks} * ranks != stages) {
    throw InputError("/parallel/chunks",
                     fmt::format("it is {}, but the order has {} on {}", *scenario.parallel.chunks,
                                 counted(stages, "stage"), counted(ranks, "rank")));
  }
  if (batch.microbatches && *batch.microbatches != order.microbatches) {
    throw InputError("/schedule/microbatches",
                     fmt::format("it is {}, but the order has {}", *batch.microbatches,
                                 counted(order.microbatches, "microbatch", "microbatches")));
  }
  if (!scenario.schedule.settings.empty()) {
    throw InputError(option_pointer(scenario.schedule.settings.begin()->first),
                     "unknown key; an order from a file takes no options of a rule");
  }
  if (!scenario.partition.ranks.empty()) {
    throw InputError("/partition/ranks", "an order from a file brings its own placement");
  }
  for (const auto& chain : order.placement.chains()) {
    if (chain.size() == order.placement.chains().front().size()) continue;
    throw InputError("/schedule/chains",
                     "the chains differ in length; each is one copy of the model");
  }
  check_devices(scenario, degrees, ranks);
}

Order order_by_policy(const Scenario& scenario, const Degrees& degrees, std::uint32_t microbatches,
                      double bytes_per_cell) {
  const PolicyEntry& policy = policy_of(scenario);
  Order order{.name = scenario.schedule.policy,
              .microbatches = microbatches,
              .policy = &policy,
              .options = {microbatches, scenario.schedule.settings}};
  about_rule(policy.name, [&] {
    const std::uint32_t ranks =
        ranks_for(scenario, degrees, scenario.parallel.chunks.value_or(1), 1);
    check_devices(scenario, degrees, ranks);
    order.placement = placement_for_policy(scenario, ranks, order.options);
    make_policy(policy, order.placement, order.options);  // checks the options
    need_memory_for(memory_for(scenario, policy.name), order.placement, order.options, 1,
                    bytes_per_cell);
    order.schedule = policy_work(policy, order.placement, order.options);
  });
  return order;
}

bool has_joined_cells(const Schedule& schedule) {
  for (const Rank rank : Numbers<Rank>(schedule.ranks())) {
    for (const Action& action : schedule.on(rank)) {
      if (action.with_next) return true;
    }
  }
  return false;
}

}  // namespace penstock
