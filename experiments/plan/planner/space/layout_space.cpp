#include "experiments/plan/planner/space/layout_space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "experiments/plan/planner/space/degrees.hpp"
#include "schedules/partitioners/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

const std::vector<RecomputeChoice>& all_recomputations() {
  static const std::vector<RecomputeChoice> all{
      {"none"}, {"selective"}, {"full"}, {"full", true}, {"except_last"}};
  return all;
}

/// Adds the layouts that a rule excludes to its count.
void exclude(std::string_view rule, std::uint64_t layouts, LayoutSpace& space) {
  if (layouts == 0) return;
  const auto known = std::find_if(space.excluded.begin(), space.excluded.end(),
                                  [&](const Exclusion& one) { return one.rule == rule; });
  if (known != space.excluded.end()) {
    known->layouts += layouts;
  } else {
    space.excluded.push_back({std::string(rule), layouts});
  }
}

std::vector<std::uint32_t> microbatches_of(const TrainingTask& task) {
  if (task.microbatch_given) return {task.microbatch};
  return {task.microbatch, 2 * task.microbatch, 4 * task.microbatch, 8 * task.microbatch};
}

/// Codecs that keep eight bits of each value.
std::vector<CodecSpec> codecs_of() { return {{"bfp", {{"bits", 8.0}}}}; }

void add_options(const TrainingTask& task, const SpaceOptions& options, LayoutSpace& space) {
  const Restrictions& only = options.only;
  for (const RecomputeChoice& one : all_recomputations()) {
    const bool takes = only.allow("/recompute/mode", one.mode) && (task.by_kind || !one.stages);
    if (takes) space.recomputations.push_back(one);
  }
  space.orders = orders_of(only);
  for (const std::uint32_t zero : {1U, 0U, 2U, 3U}) {
    if (only.allow("/memory/zero", zero)) space.zeros.push_back(zero);
  }
  for (const std::string& name : options.partitions) {
    if (only.allow("/partition/name", name)) space.partitions.push_back(name);
  }
  if (only.allow("/codec/link", "none")) space.links.emplace_back();
  // What is asked for by name needs no --lossy or --offload.
  for (const CodecSpec& codec : codecs_of()) {
    const auto tries = [&](const char* pointer) {
      return (options.lossy || only.values_of(pointer) != nullptr) &&
             only.allow(pointer, codec.name);
    };
    if (tries("/codec/link")) space.links.emplace_back(codec);
    if (tries("/codec/stash")) space.stashes.push_back(codec);
  }
  if (const auto* asked = only.values_of("/offload/keep")) {
    for (const std::string& keep : *asked) {
      space.offloads.push_back(static_cast<std::uint32_t>(std::stoul(keep)));
    }
  } else if (options.offloads) {
    space.offloads = {16, 8, 4, 2, 1};
  }
}

/// Combinations of options, legal or not.
std::uint64_t combinations(const TrainingTask& task, const LayoutSpace& space) {
  return (task.by_kind ? 2 : 1) * space.recomputations.size() * space.partitions.size() *
         space.orders.size() * space.zeros.size() * space.links.size();
}

/// Counts the layouts of legal degrees, and those that rules about options exclude.
void count_options(const TrainingTask& task, const Restrictions& only, const LayoutChoice& degrees,
                   LayoutSpace& space) {
  const std::uint64_t of_sequence = space.recomputations.size() * space.partitions.size() *
                                    space.orders.size() * space.zeros.size() * space.links.size();
  const std::uint64_t sequences = sequence_choices(task, degrees, only).size();
  if (task.by_kind && sequences < 2 && degrees.tensor == 1) {
    exclude("sequence parallelism goes with a tensor group", of_sequence, space);
  }
  const std::uint64_t outer = sequences * space.recomputations.size() * space.partitions.size();
  for (const OrderChoice& order : space.orders) {
    const std::uint64_t all = space.zeros.size() * space.links.size();
    if (const char* why = why_no_order(task, degrees, order)) {
      exclude(why, outer * all, space);
      continue;
    }
    const auto zeros = static_cast<std::uint64_t>(
        std::count_if(space.zeros.begin(), space.zeros.end(),
                      [&](std::uint32_t zero) { return takes_zero(degrees, order, zero); }));
    exclude("ZeRO needs replicas to shard over",
            outer * (space.zeros.size() - zeros) * space.links.size(), space);
    const std::uint64_t links = degrees.pipeline > 1 ? space.links.size() : 1;
    exclude("one rank sends no activations", outer * zeros * (space.links.size() - links), space);
    space.legal += outer * zeros * links;
  }
}

bool allowed(const Restrictions& only, const LayoutChoice& degrees) {
  return only.allow("/parallel/pipeline", degrees.pipeline) &&
         only.allow("/parallel/data", degrees.data) &&
         only.allow("/parallel/context", degrees.context) &&
         only.allow("/parallel/expert", degrees.expert);
}

/// Adds the combinations with a tensor degree that multiply to the devices.
void add_degrees(const TrainingTask& task, const Restrictions& only, LayoutChoice degrees,
                 LayoutSpace& space) {
  const std::uint32_t rest = task.devices / degrees.tensor;
  for (const std::uint32_t context : divisors(rest)) {
    for (const std::uint32_t expert : divisors(rest / context)) {
      for (const std::uint32_t pipeline : divisors(rest / context / expert)) {
        degrees.context = context;
        degrees.expert = expert;
        degrees.pipeline = pipeline;
        degrees.data = rest / context / expert / pipeline;
        if (!allowed(only, degrees)) continue;
        const char* why = why_no_degrees(task, degrees);
        if (why == nullptr && !only.allow("/schedule/microbatches", degrees.microbatches)) continue;
        if (why == nullptr) {
          space.degrees.push_back(degrees);
        } else {
          exclude(why, combinations(task, space), space);
        }
      }
    }
  }
}

}  // namespace

std::vector<bool> sequence_choices(const TrainingTask& task, const LayoutChoice& degrees,
                                   const Restrictions& only) {
  if (degrees.tensor == 1 || !task.by_kind) return {true};
  std::vector<bool> all;
  if (only.allow("/parallel/sequence", "true")) all.push_back(true);
  if (only.allow("/parallel/sequence", "false")) all.push_back(false);
  return all;
}

const char* why_no_order(const TrainingTask& task, const LayoutChoice& degrees,
                         const OrderChoice& order) {
  if (order.why_not != nullptr) return order.why_not;
  if (degrees.pipeline == 1) {
    return order.rule->name == "1f1b" ? nullptr : "one rank has nothing to pipeline";
  }
  const std::uint64_t stages = std::uint64_t{degrees.pipeline} * order.chunks / order.rule->copies;
  if (stages > task.layers) return "more stages than layers";
  if (order.rule->copies > 1 && degrees.pipeline % 2 != 0) {
    return "bidirectional orders need an even number of ranks";
  }
  const std::uint64_t cells = std::uint64_t{degrees.context} * order.slices;
  if (order.slices > 1 && (!task.sequence || *task.sequence % cells != 0)) {
    return "slices do not divide the sequence";
  }
  return nullptr;
}

bool takes_zero(const LayoutChoice& degrees, const OrderChoice& order, std::uint32_t zero) {
  return zero == 0 || degrees.has_replicas() || order.rule->copies > 1;
}

LayoutSpace space_of(const TrainingTask& task, const SpaceOptions& options) {
  LayoutSpace space;
  add_options(task, options, space);
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
  std::stable_sort(space.excluded.begin(), space.excluded.end(),
                   [](const Exclusion& a, const Exclusion& b) { return a.layouts > b.layouts; });
  return space;
}

LayoutChoice layout_of(LayoutChoice degrees, bool sequence, const RecomputeChoice& recompute,
                       const std::string& partition, const OrderChoice& order, std::uint32_t zero,
                       const std::optional<CodecSpec>& link) {
  degrees.sequence_parallel = sequence;
  degrees.recompute = recompute.mode;
  degrees.recomputes_stages = recompute.stages;
  degrees.partition = partition;
  degrees.schedule = std::string(order.rule->name);
  degrees.chunks = order.chunks;
  degrees.options = order.options;
  degrees.zero = zero;
  degrees.link = link;
  return degrees;
}

}  // namespace penstock
