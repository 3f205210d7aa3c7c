#include "experiments/layout/layout.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/files/files.hpp"
#include "experiments/formats/torch_csv.hpp"
#include "experiments/layout/codec_costs.hpp"
#include "experiments/layout/layout_model.hpp"
#include "experiments/run/stage_formats.hpp"
#include "schedules/partitioners/registry.hpp"
#include "schedules/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"
#include "sim/base/named.hpp"
#include "sim/order/microbatch_columns.hpp"
#include "sim/order/order_fault.hpp"

namespace penstock {
namespace {

/// The JSON pointer of an option of the schedule.
std::string option_pointer(const std::string& name) { return "/schedule" + pointer_step(name); }

/// Devices that act as one pipeline rank, times the copies of the pipeline.
std::uint64_t devices_per_rank(const Scenario& scenario) {
  std::uint64_t product = 1;
  for (const std::uint32_t degree :
       {scenario.tensor, scenario.data, scenario.context, scenario.expert}) {
    product *= degree;
    if (product > (std::uint64_t{1} << 32)) {
      throw InputError("/parallel", "the degrees multiply to more than 2^32 devices a rank");
    }
  }
  return product;
}

void check_devices(const Scenario& scenario, std::uint32_t ranks) {
  const std::uint64_t needed = ranks * devices_per_rank(scenario);
  if (!scenario.devices || *scenario.devices == needed) return;
  throw InputError(
      "/hardware/devices",
      fmt::format("there are {} devices, but {} pipeline ranks times the other degrees "
                  "of /parallel take {}",
                  *scenario.devices, ranks, needed));
}

/// The number of model stages where the scenario settles it.
std::optional<std::uint32_t> stages_given(const Scenario& scenario) {
  if (!scenario.partition_stages.empty()) {
    return static_cast<std::uint32_t>(scenario.partition_stages.size());
  }
  if (scenario.stages_given) return static_cast<std::uint32_t>(scenario.model.layers.size());
  return std::nullopt;
}

std::uint32_t ranks_by_devices(const Scenario& scenario) {
  const std::uint64_t each = devices_per_rank(scenario);
  if (*scenario.devices % each != 0) {
    throw InputError("/hardware/devices",
                     fmt::format("{} devices do not divide by the {} that one pipeline rank takes",
                                 *scenario.devices, each));
  }
  return static_cast<std::uint32_t>(*scenario.devices / each);
}

ScheduleOptions options_for_rule(const Scenario& scenario) {
  return {*scenario.microbatches, scenario.schedule_settings};
}

std::uint32_t chunks_for_rule(const Scenario& scenario, const ScheduleEntry& entry) {
  return scenario.chunks ? *scenario.chunks : usual_chunks(entry, options_for_rule(scenario));
}

/// How many pipeline ranks a rule gets, as the contract orders the sources.
std::uint32_t ranks_for_rule(const Scenario& scenario, std::uint32_t chunks, std::uint32_t copies) {
  if (scenario.pipeline) return *scenario.pipeline;
  if (scenario.devices) return ranks_by_devices(scenario);
  if (!scenario.partition_ranks.empty()) {
    std::uint32_t highest = 0;
    for (const auto& replicas : scenario.partition_ranks) {
      for (Rank rank : replicas) highest = std::max(highest, index(rank));
    }
    return highest + 1;
  }
  const auto stages = stages_given(scenario);
  if (!stages) {
    throw InputError("/parallel/pipeline",
                     "it is missing; a model given by layers needs the number "
                     "of pipeline ranks, or \"devices\" under /hardware");
  }
  const std::uint64_t all = std::uint64_t{*stages} * copies;
  if (all % chunks != 0) {
    throw InputError("/parallel/chunks",
                     fmt::format("{} stages do not divide by {} chunks a rank", all, chunks));
  }
  return static_cast<std::uint32_t>(all / chunks);
}

void check_sizes(std::uint32_t ranks, std::uint64_t chunks) {
  if (ranks > Limits::ranks) {
    throw InputError("/parallel/pipeline",
                     fmt::format("{} ranks are too many; at most {}", ranks, Limits::ranks));
  }
  if (ranks * chunks > Limits::stages) {
    throw InputError("/parallel/chunks",
                     fmt::format("{} ranks times {} chunks are too many stages; "
                                 "at most {}",
                                 ranks, chunks, Limits::stages));
  }
}

std::uint32_t model_stages(const Placement& placement) {
  return static_cast<std::uint32_t>(placement.chains().front().size());
}

/// A placement by the user's own list of ranks.
Placement given_placement(const Scenario& scenario, std::uint32_t ranks) {
  std::vector<Stage> chain;
  for (Stage stage : Numbers<Stage>(static_cast<std::uint32_t>(scenario.partition_ranks.size()))) {
    chain.push_back(stage);
  }
  try {
    return Placement::given(ranks, scenario.partition_ranks, {chain});
  } catch (const InputError& error) {
    throw InputError("/partition/ranks", error.what());
  }
}

Placement placement_for_rule(const Scenario& scenario, const ScheduleEntry& entry,
                             std::uint32_t ranks) {
  const std::uint32_t chunks = chunks_for_rule(scenario, entry);
  check_sizes(ranks, chunks);
  if (!scenario.partition_ranks.empty()) return given_placement(scenario, ranks);
  const auto stages = stages_given(scenario);
  Placement placement = entry.place(ranks, chunks);
  const bool fits = !stages || model_stages(placement) == *stages;
  if (fits || scenario.chunks || entry.copies > 1 || *stages % ranks != 0) return placement;
  // The model says how many chunks there are, if nothing else does.
  return entry.place(ranks, *stages / ranks);
}

Layout layout_by_rule(const Scenario& scenario) {
  const ScheduleEntry* entry = find_named(schedule_entries(), scenario.schedule);
  if (entry == nullptr) {
    throw InputError("/schedule/name",
                     fmt::format("unknown name \"{}\"; known: {}", scenario.schedule,
                                 names_of(schedule_entries())));
  }
  Layout layout;
  layout.name = scenario.schedule;
  layout.microbatches = *scenario.microbatches;
  try {
    const std::uint32_t chunks = chunks_for_rule(scenario, *entry);
    const std::uint32_t ranks = ranks_for_rule(scenario, chunks, entry->copies);
    check_devices(scenario, ranks);
    layout.placement = placement_for_rule(scenario, *entry, ranks);
    layout.schedule = make_schedule(*entry, layout.placement, options_for_rule(scenario));
    if (entry->slices_for != nullptr) layout.slices = entry->slices_for(options_for_rule(scenario));
  } catch (const UnknownOption& error) {
    throw InputError(option_pointer(error.name()), error.what());
  } catch (const RuleError& error) {
    throw InputError("/schedule", fmt::format("{}: {}", entry->name, error.what()));
  }
  return layout;
}

Placement placement_for_policy(const Scenario& scenario, std::uint32_t ranks) {
  if (!scenario.partition_ranks.empty()) return given_placement(scenario, ranks);
  const auto stages = stages_given(scenario);
  const bool divides = stages && *stages % ranks == 0 && !scenario.chunks;
  const std::uint32_t chunks = divides ? *stages / ranks : scenario.chunks.value_or(1);
  check_sizes(ranks, chunks);
  return policy_placement(ranks, chunks, options_for_rule(scenario));
}

Layout layout_by_policy(const Scenario& scenario) {
  Layout layout;
  layout.policy = find_named(policy_entries(), scenario.policy);
  if (layout.policy == nullptr) {
    throw InputError("/schedule/policy", fmt::format("unknown name \"{}\"; known: {}",
                                                     scenario.policy, names_of(policy_entries())));
  }
  layout.name = scenario.policy;
  layout.microbatches = *scenario.microbatches;
  layout.policy_options = options_for_rule(scenario);
  try {
    const std::uint32_t ranks = ranks_for_rule(scenario, scenario.chunks.value_or(1), 1);
    check_devices(scenario, ranks);
    layout.placement = placement_for_policy(scenario, ranks);
    make_policy(*layout.policy, layout.placement, layout.policy_options);  // refuses its options
    layout.schedule = policy_work(*layout.policy, layout.placement, layout.policy_options);
  } catch (const UnknownOption& error) {
    throw InputError(option_pointer(error.name()), error.what());
  } catch (const RuleError& error) {
    throw InputError("/schedule", fmt::format("{}: {}", layout.policy->name, error.what()));
  }
  return layout;
}

/// Runs a step whose errors are about an order's file.
template <class Step>
auto about_file(const std::string& path, Step step) {
  try {
    return step();
  } catch (const InputError& error) {
    throw in_file(path, error);
  }
}

/// The chains that the scenario gives, or one of all stages.
Placement placement_of_file(const Scenario& scenario, const OrderFile& order) {
  try {
    return placement_of(order, scenario.chains);
  } catch (const InputError& error) {
    throw in_file(scenario.source, InputError("/schedule/chains", error.what()));
  }
}

Layout layout_by_file(const Scenario& scenario, const std::string& path) {
  const std::string text = read_file(path);
  const OrderFile order = about_file(path, [&] {
    OrderFile read = read_torch_csv(text);
    require_compute_only(read);
    placement_of(read, {});  // refuses what is wrong whatever the chains are
    return read;
  });
  Layout layout;
  layout.name = scenario.order_file;
  layout.placement = placement_of_file(scenario, order);
  about_file(path, [&] {
    const auto fault = find_order_fault(order.schedule, layout.placement);
    if (!fault) return;
    throw OrderError(index(fault->rank), column_of(order, fault->rank, fault->action), fault->text);
  });
  layout.microbatches = MicrobatchColumns(order.schedule).count();
  layout.schedule = order.schedule;
  return layout;
}

/// What a scenario says beside an order file must agree with it.
void check_against_order(const Scenario& scenario, const Layout& layout) {
  const std::uint32_t ranks = layout.schedule.ranks();
  if (scenario.pipeline && *scenario.pipeline != ranks) {
    throw InputError("/parallel/pipeline",
                     fmt::format("it is {}, but the order has {} rows", *scenario.pipeline, ranks));
  }
  const std::uint32_t stages = layout.placement.stage_count();
  if (scenario.chunks && std::uint64_t{*scenario.chunks} * ranks != stages) {
    throw InputError("/parallel/chunks", fmt::format("it is {}, but the order has {} stages on {} "
                                                     "ranks",
                                                     *scenario.chunks, stages, ranks));
  }
  if (scenario.microbatches && *scenario.microbatches != layout.microbatches) {
    throw InputError("/schedule/microbatches",
                     fmt::format("it is {}, but the order has {} microbatches",
                                 *scenario.microbatches, layout.microbatches));
  }
  if (!scenario.schedule_settings.empty()) {
    throw InputError(option_pointer(scenario.schedule_settings.begin()->first),
                     "unknown key; an order from a file takes no options of a rule");
  }
  if (!scenario.partition_ranks.empty()) {
    throw InputError("/partition/ranks", "an order from a file brings its own placement");
  }
  for (const auto& chain : layout.placement.chains()) {
    if (chain.size() == layout.placement.chains().front().size()) continue;
    throw InputError("/schedule/chains",
                     "the chains differ in length; each is one copy of the "
                     "model");
  }
  check_devices(scenario, ranks);
}

/// Activations beyond what each rank keeps go to its host and come back.
void apply_offload(const Scenario& scenario, Layout& layout) {
  if (!scenario.offload) return;
  if (layout.policy != nullptr) {
    throw InputError("/offload",
                     "it goes with an order that is known before; a policy decides as it runs");
  }
  try {
    layout.schedule = offloaded(layout.schedule, *scenario.offload);
  } catch (const RuleError& error) {
    throw InputError("/offload", error.what());
  }
}

Partition partition_of(const Scenario& scenario, const ModelGraph& model,
                       const Placement& placement) {
  const std::uint32_t stages = model_stages(placement);
  if (const auto given = stages_given(scenario); given && *given != stages) {
    throw InputError(scenario.cut_stated     ? "/partition/stages"
                     : scenario.stages_given ? "/model/stages"
                                             : "/model/file",
                     fmt::format("there are {} stages, but the schedule has {} model stages on {} "
                                 "ranks",
                                 *given, stages, placement.ranks()));
  }
  Partition partition;
  if (!scenario.partition_stages.empty()) {
    partition.stages = scenario.partition_stages;
    check_partition(model, partition);
    return partition;
  }
  if (scenario.stages_given) {
    for (LayerIndex layer : Numbers<LayerIndex>(stages)) partition.stages.push_back({layer});
    return partition;
  }
  const PartitionerEntry* entry = find_named(partitioner_entries(), scenario.partitioner);
  return entry->cut(model, stages);
}

void check_partitioner(const Scenario& scenario) {
  if (find_named(partitioner_entries(), scenario.partitioner) != nullptr) return;
  throw InputError("/partition/name",
                   fmt::format("unknown name \"{}\"; known: {}", scenario.partitioner,
                               names_of(partitioner_entries())));
}

std::string counted(std::uint64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

}  // namespace

Layout settle(const Scenario& scenario) {
  const bool by_file = !scenario.order_file.empty();
  // Outside the try block: errors of an order name the order's own file.
  Layout layout =
      by_file ? layout_by_file(scenario, resolve(scenario.folder, scenario.order_file)) : Layout{};
  try {
    if (by_file) {
      check_against_order(scenario, layout);
    } else {
      layout = scenario.policy.empty() ? layout_by_rule(scenario) : layout_by_policy(scenario);
    }
    apply_offload(scenario, layout);
    check_partitioner(scenario);
    layout.model = model_of(scenario, layout.slices);
    layout.partition = partition_of(scenario, layout.model, layout.placement);
    layout.partition.ranks = scenario.partition_ranks;
    fit_model(scenario, layout);
    if (scenario.codec.encodes()) {
      encode_activations(scenario, stage_formats(scenario, layout), layout);
    }
    return layout;
  } catch (const InputError& error) {
    throw in_file(scenario.source, error);
  }
}

std::string title_of(const Layout& layout) {
  const std::uint32_t ranks = layout.placement.ranks();
  const std::uint32_t stages = layout.placement.stage_count();
  std::string title = fmt::format("{}, {}", layout.name, counted(ranks, "rank", "ranks"));
  if (stages != ranks) title += ", " + counted(stages, "stage", "stages");
  return title + ", " + counted(layout.microbatches, "microbatch", "microbatches");
}

}  // namespace penstock
