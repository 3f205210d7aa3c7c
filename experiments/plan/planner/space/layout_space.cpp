#include "experiments/plan/planner/space/layout_space.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "experiments/plan/planner/space/framework.hpp"
#include "experiments/run/layout/training.hpp"
#include "schedules/partitioners/registry.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

/// Operators whose outputs are large for the time that they take go together, cheap ones first.
/// Megatron-LM has no name for the activation of an MLP alone.
std::vector<RecomputeChoice> recomputations_of(const TrainingTask& task) {
  std::vector<RecomputeChoice> all{
      {"none"}, {"selective"}, {"full"}, {"full", true}, {"except_last"}};
  if (!task.by_kind || task.states_operators) return all;
  std::vector<std::string> cheap{"norm"};
  if (task.framework == nullptr) cheap.emplace_back("mlp_activation");
  if (task.experts > 1) cheap.emplace_back("moe_activation");
  all.push_back({"selective", false, cheap});
  if (!task.latent) return all;
  cheap.emplace_back("mla_up_projection");
  all.push_back({"selective", false, cheap});
  return all;
}

/// The first layers of each stage: the requested numbers, else quarters.
void add_some_layers(const RecomputeChoice& like, const std::vector<std::string>* asked,
                     std::vector<RecomputeChoice>& all) {
  const auto add = [&](std::uint32_t layers, std::uint32_t quarters) {
    all.push_back(like);
    all.back().layers = layers;
    all.back().quarters = quarters;
  };
  if (asked == nullptr) {
    for (const std::uint32_t quarters : {1U, 2U, 3U}) add(0, quarters);
    if (like.offloads) add(0, 4);
    return;
  }
  for (const std::string& layers : *asked) add(static_cast<std::uint32_t>(std::stoul(layers)), 0);
}

/// Layers whose numbers are asked for exclude everything else.
std::vector<RecomputeChoice> with_some_layers(const TrainingTask& task, const SpaceOptions& options,
                                              std::vector<RecomputeChoice> all) {
  const auto* recomputed = options.only.values_of("/recompute/layers");
  const auto* offloaded = options.only.values_of("/offload/layers");
  if (recomputed != nullptr || offloaded != nullptr) all.clear();
  if (task.by_kind && offloaded == nullptr) {
    add_some_layers({.mode = "full"}, recomputed, all);
  }
  const bool offloads = options.offloads || offloaded != nullptr;
  if (offloads && recomputed == nullptr) {
    add_some_layers({.mode = "none", .offloads = true}, offloaded, all);
  }
  return all;
}

/// Orders with what they may overlap: the parts of their cells, or the traffic of experts.
std::vector<OrderChoice> with_overlaps(const TrainingTask& task, const Restrictions& only,
                                       const std::vector<OrderChoice>& orders) {
  std::vector<OrderChoice> all;
  const auto add = [&](OrderChoice order, bool fused, bool hides) {
    const bool takes = only.allow("/schedule/overlap", fused ? "fused" : "serial") &&
                       only.allow("/parallel/overlap_experts", hides ? "true" : "false");
    order.fused = fused;
    order.hides_experts = hides;
    if (takes) all.push_back(order);
  };
  for (const OrderChoice& order : orders) {
    add(order, false, false);
    const bool fuses = task.by_kind || only.values_of("/schedule/overlap") != nullptr;
    if (order.joins && fuses) add(order, true, false);
    if (task.experts > 1 && may_hide_experts(order.rule->name)) add(order, false, true);
  }
  return all;
}

void count(std::string_view rule, std::uint64_t layouts, std::vector<Exclusion>& all) {
  if (layouts > 0) add_excluded(rule, layouts, all);
}

std::vector<std::uint32_t> microbatches_of(const TrainingTask& task) {
  if (task.microbatch_given) return {task.microbatch};
  return {task.microbatch, 2 * task.microbatch, 4 * task.microbatch, 8 * task.microbatch};
}

/// No codec, and that which keeps eight bits of each value. What is asked for by name needs no
/// --lossy.
std::vector<std::optional<CodecSpec>> codecs_of(const char* pointer, const TrainingTask& task,
                                                const SpaceOptions& options) {
  const CodecSpec codec{"bfp", {{"bits", 8.0}}};
  const bool asked = options.lossy || options.only.values_of(pointer) != nullptr;
  std::vector<std::optional<CodecSpec>> all;
  if (options.only.allow(pointer, "none")) all.emplace_back();
  if (asked && task.without.empty() && options.only.allow(pointer, codec.name)) {
    all.emplace_back(codec);
  }
  return all;
}

/// Activations that a rank keeps on its device; none: all.
std::vector<std::optional<std::uint32_t>> offloads_of(const TrainingTask& task,
                                                      const SpaceOptions& options) {
  const auto* asked = options.only.values_of("/offload/keep");
  if (asked == nullptr && options.offloads && task.framework == nullptr) {
    return {std::nullopt, 16, 8, 4, 2, 1};
  }
  if (asked == nullptr) return {std::nullopt};
  std::vector<std::optional<std::uint32_t>> all;
  for (const std::string& keep : *asked) {
    all.emplace_back(static_cast<std::uint32_t>(std::stoul(keep)));
  }
  return all;
}

void add_options(const TrainingTask& task, const SpaceOptions& options, LayoutSpace& space) {
  const Restrictions& only = options.only;
  for (const RecomputeChoice& one : with_some_layers(task, options, recomputations_of(task))) {
    const bool takes = only.allow("/recompute/mode", one.mode) && (task.by_kind || !one.stages);
    if (takes) space.recomputations.push_back(one);
  }
  space.orders = with_overlaps(task, only, orders_of(only));
  if (!task.without.empty()) {
    std::erase_if(space.orders,
                  [](const OrderChoice& order) { return !goes_with_module(*order.rule); });
  }
  for (const std::uint32_t zero : {1U, 0U, 2U, 3U}) {
    if (only.allow("/memory/zero", zero)) space.zeros.push_back(zero);
  }
  for (const std::string& name : options.partitions) {
    if (!only.allow("/partition/name", name)) continue;
    const bool is_slow = find_named(partitioner_entries(), name)->simulates;
    (is_slow ? space.refinements : space.partitions).push_back(name);
  }
  if (space.partitions.empty()) std::swap(space.partitions, space.refinements);
  if (task.framework == nullptr) space.module = task.module;
  space.links = codecs_of("/codec/link", task, options);
  space.stashes = codecs_of("/codec/stash", task, options);
  space.offloads = offloads_of(task, options);
}

/// Combinations of link codecs and storage, legal or not.
std::uint64_t combinations_of_links(const LayoutSpace& space) {
  return space.links.size() * tried_at_once(space.stashes) * tried_at_once(space.offloads);
}

/// Combinations of options, legal or not, with sequence parallelism or without.
std::uint64_t combinations_of_sequence(const LayoutSpace& space) {
  return space.recomputations.size() * space.partitions.size() * space.orders.size() *
         space.zeros.size() * combinations_of_links(space);
}

/// Combinations of options, legal or not.
std::uint64_t combinations(const TrainingTask& task, const LayoutSpace& space) {
  return (task.by_kind ? 2 : 1) * combinations_of_sequence(space);
}

/// Legal or not. Without a tensor group nothing is sharded.
std::vector<bool> sequences_of(const LayoutChoice& degrees, const Restrictions& only) {
  std::vector<bool> all;
  const bool shards = degrees.tensor > 1 && only.allow("/parallel/sequence", "true");
  if (shards) all.push_back(true);
  if (only.allow("/parallel/sequence", "false")) all.push_back(false);
  return all;
}

const char* why_no_sequence(const TrainingTask& task, const LayoutChoice& degrees, bool sequence) {
  if (degrees.tensor == 1) return nullptr;
  const std::uint64_t shares = std::uint64_t{degrees.context} * degrees.tensor;
  if (sequence && task.sequence && *task.sequence % shares != 0) {
    return "context and tensor degree do not divide the sequence, for sequence parallelism";
  }
  return task.framework == nullptr ? nullptr : task.framework->why_no_sequence(task, sequence);
}

/// Leaves out options that a framework does not have.
void leave_out_unknown(const TrainingTask& task, LayoutSpace& space) {
  if (task.framework == nullptr) return;
  const Framework& framework = *task.framework;
  for (OrderChoice& order : space.orders) {
    const bool runs = framework.runs(order.rule->name);
    if (!runs && order.why_not == nullptr) order.why_not = framework.unknown_schedule;
  }
  const std::uint64_t all = combinations(task, space);
  std::erase_if(space.recomputations, [&](const RecomputeChoice& one) {
    return !framework.recomputes(one.mode, one.stages, one.takes_some_layers() && !one.offloads);
  });
  const std::uint64_t recomputed = combinations(task, space);
  count(framework.unknown_recomputation, all - recomputed, space.dropped);
  for (auto* cuts : {&space.partitions, &space.refinements}) {
    std::erase_if(*cuts, [&](const std::string& cut) { return !framework.cuts_by(cut); });
  }
  count(framework.unknown_cut, recomputed - combinations(task, space), space.dropped);
}

/// Counts the layouts of legal degrees, and those that rules about options exclude.
void count_options(const TrainingTask& task, const Restrictions& only, const LayoutChoice& degrees,
                   LayoutSpace& space) {
  const std::uint64_t of_sequence = combinations_of_sequence(space);
  for (const Exclusion& one : space.dropped) count(one.rule, one.layouts, space.excluded);
  const std::uint64_t sequences = sequence_choices(task, degrees, only).size();
  for (const bool sequence : sequences_of(degrees, only)) {
    if (const char* why = why_no_sequence(task, degrees, sequence)) {
      count(why, of_sequence, space.excluded);
    }
  }
  if (task.by_kind && sequences < 2 && degrees.tensor == 1) {
    count("sequence parallelism goes with a tensor group", of_sequence, space.excluded);
  }
  const std::uint64_t each = sequences * space.partitions.size();
  for (const OrderChoice& order : space.orders) {
    const std::uint64_t of_zero = combinations_of_links(space);
    const std::uint64_t all = space.zeros.size() * of_zero;
    if (const char* why = why_no_order(task, degrees, order)) {
      count(why, each * space.recomputations.size() * all, space.excluded);
      continue;
    }
    std::uint64_t outer = 0;
    for (const RecomputeChoice& one : space.recomputations) {
      const char* why = why_no_recomputation(task, degrees, order, one);
      if (why == nullptr) outer += each;
      if (why != nullptr) count(why, each * all, space.excluded);
    }
    std::uint64_t zeros = 0;
    for (const std::uint32_t zero : space.zeros) {
      const char* why = why_no_zero(task, degrees, order, zero);
      if (why == nullptr) ++zeros;
      if (why != nullptr) count(why, outer * of_zero, space.excluded);
    }
    const std::uint64_t links = links_of(space, degrees);
    const std::uint64_t sent = space.links.empty() ? 0 : links * (of_zero / space.links.size());
    const std::uint64_t legal = links * storages_of(space, degrees, order);
    count("one rank sends no activations", outer * zeros * (of_zero - sent), space.excluded);
    count("a rank has no more activations than it keeps", outer * zeros * (sent - legal),
          space.excluded);
    space.legal += outer * zeros * legal;
  }
}

bool allowed(const Restrictions& only, const LayoutChoice& degrees) {
  return only.allow("/parallel/pipeline", degrees.pipeline) &&
         only.allow("/parallel/data", degrees.data) &&
         only.allow("/parallel/context", degrees.context) &&
         only.allow("/parallel/expert", degrees.expert) &&
         only.allow("/parallel/expert_tensor", degrees.expert_tensor.value_or(degrees.tensor));
}

/// Adds degrees, or counts them with the rule that excludes them.
void judge_degrees(const TrainingTask& task, const Restrictions& only, LayoutChoice degrees,
                   LayoutSpace& space) {
  if (!allowed(only, degrees)) return;
  if (const char* why = why_no_degrees(task, degrees)) {
    count(why, combinations(task, space), space.excluded);
  } else if (only.allow("/schedule/microbatches", degrees.microbatches)) {
    space.degrees.push_back(degrees);
  }
}

/// Adds the groups of experts that other degrees allow: split over the tensor group they are on
/// data and context replicas; whole on a device they are on all devices of a rank.
void add_expert_degrees(const TrainingTask& task, const Restrictions& only, LayoutChoice degrees,
                        LayoutSpace& space) {
  const std::uint32_t replicas = degrees.context * degrees.data;
  for (const std::uint32_t expert : divisors(replicas)) {
    degrees.expert = expert;
    judge_degrees(task, only, degrees, space);
  }
  if (task.experts == 1 || degrees.tensor == 1) return;
  degrees.expert_tensor = 1;
  for (const std::uint32_t expert : divisors(replicas * degrees.tensor)) {
    degrees.expert = expert;
    judge_degrees(task, only, degrees, space);
  }
}

/// Adds the combinations with a tensor degree that multiply to the devices.
void add_degrees(const TrainingTask& task, const Restrictions& only, LayoutChoice degrees,
                 LayoutSpace& space) {
  const std::uint32_t rest = task.devices / degrees.tensor;
  for (const std::uint32_t context : divisors(rest)) {
    for (const std::uint32_t pipeline : divisors(rest / context)) {
      degrees.context = context;
      degrees.pipeline = pipeline;
      degrees.data = rest / context / pipeline;
      add_expert_degrees(task, only, degrees, space);
    }
  }
}

}  // namespace

void add_excluded(std::string_view rule, std::uint64_t layouts, std::vector<Exclusion>& all) {
  const auto known = std::ranges::find(all, rule, &Exclusion::rule);
  if (known != all.end()) {
    known->layouts += layouts;
  } else {
    all.push_back({std::string(rule), layouts});
  }
}

bool goes_with_offload(const std::optional<std::uint32_t>& keep, const LayoutChoice& degrees,
                       const OrderChoice& order) {
  return !keep || *keep < degrees.microbatches * order.chunks;
}

std::uint64_t links_of(const LayoutSpace& space, const LayoutChoice& degrees) {
  if (degrees.pipeline > 1) return space.links.size();
  return static_cast<std::uint64_t>(
      std::count(space.links.begin(), space.links.end(), std::nullopt));
}

std::uint64_t storages_of(const LayoutSpace& space, const LayoutChoice& degrees,
                          const OrderChoice& order) {
  std::uint64_t offloads = 0;
  for (std::size_t i = 0; i < tried_at_once(space.offloads); ++i) {
    if (goes_with_offload(space.offloads[i], degrees, order)) ++offloads;
  }
  return tried_at_once(space.stashes) * offloads;
}

std::vector<bool> sequence_choices(const TrainingTask& task, const LayoutChoice& degrees,
                                   const Restrictions& only) {
  std::vector<bool> all = sequences_of(degrees, only);
  std::erase_if(all,
                [&](bool sequence) { return why_no_sequence(task, degrees, sequence) != nullptr; });
  return all;
}

LayoutSpace space_of(const TrainingTask& task, const SpaceOptions& options) {
  LayoutSpace space;
  add_options(task, options, space);
  leave_out_unknown(task, space);
  for (const std::uint32_t tensor : divisors(task.devices)) {
    if (!options.only.allow("/parallel/tensor", tensor)) continue;
    for (const std::uint32_t microbatch : microbatches_of(task)) {
      if (!options.only.allow("/model/microbatch", microbatch)) continue;
      add_degrees(task, options.only, {.tensor = tensor, .microbatch = microbatch}, space);
    }
  }
  for (const LayoutChoice& degrees : space.degrees) {
    count_options(task, options.only, degrees, space);
  }
  std::ranges::stable_sort(
      space.excluded, [](const Exclusion& a, const Exclusion& b) { return a.layouts > b.layouts; });
  return space;
}

LayoutChoice layout_of(const TrainingTask& task, LayoutChoice degrees, bool sequence,
                       const RecomputeChoice& recompute, const std::string& partition,
                       const OrderChoice& order, std::uint32_t zero,
                       const std::optional<CodecSpec>& link) {
  degrees.sequence_parallel = sequence;
  degrees.recompute = recompute.mode;
  degrees.recomputes_stages = recompute.stages;
  degrees.operators = recompute.operators;
  const std::uint32_t some = some_layers(task, degrees, order, recompute);
  (recompute.offloads ? degrees.offloaded_layers : degrees.layers) = some;
  degrees.fused = order.fused;
  degrees.hides_experts = order.hides_experts;
  degrees.partition = partition;
  degrees.schedule = std::string(order.rule->name);
  degrees.chunks = order.chunks;
  degrees.options = order.options;
  degrees.zero = zero;
  degrees.link = link;
  return degrees;
}

std::vector<std::uint32_t> divisors(std::uint32_t number) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t divisor = 1; divisor <= number; ++divisor) {
    if (number % divisor == 0) all.push_back(divisor);
  }
  return all;
}

}  // namespace penstock
