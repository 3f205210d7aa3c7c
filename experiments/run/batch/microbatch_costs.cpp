#include "experiments/run/batch/microbatch_costs.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "experiments/run/layout/layout_model.hpp"
#include "experiments/run/layout/training.hpp"

namespace penstock {
namespace {

/// All of a plan without tasks that its prices depend on.
std::vector<std::uint32_t> priced_parts(const Plan& plan) {
  std::vector<std::uint32_t> parts;
  for (const WorkClass& work : plan.classes) {
    parts.insert(parts.end(), {static_cast<std::uint32_t>(work.pass), index(work.stage),
                               work.resource, work.buffer, work.recomputes ? 1U : 0U});
  }
  for (const BufferClass& buffer : plan.buffers) {
    parts.insert(parts.end(), {static_cast<std::uint32_t>(buffer.kind), index(buffer.stage),
                               index(buffer.rank)});
  }
  for (const Link& link : plan.links) parts.insert(parts.end(), {index(link.from), index(link.to)});
  return parts;
}

MicrobatchInputs::Numbers numbers_of(const PackedMicrobatch& one) {
  return {one.tokens, one.pictured, one.squares};
}

/// The places of an order's microbatches among all of a replica: numbers of an order from a file
/// may have gaps.
std::map<Microbatch, std::size_t> places_of(const std::vector<MicrobatchClass>& classes) {
  std::map<Microbatch, std::size_t> places;
  for (const MicrobatchClass& one : classes) {
    if (one.microbatch) places[*one.microbatch];
  }
  std::size_t next = 0;
  for (auto& [microbatch, place] : places) place = next++;
  return places;
}

}  // namespace

std::size_t hash_of(const MicrobatchInputs& inputs) {
  const auto& [tokens, pictured, squares] = inputs.own;
  return hash_of_all(tokens, pictured, squares, inputs.of_module[1], inputs.of_module[2]);
}

MicrobatchCosts::MicrobatchCosts(const Layout& layout,
                                 std::shared_ptr<const HardwareModel> hardware)
    : layout_(layout), hardware_(std::move(hardware)), training_(training_of(layout)) {
  layout_.schedule = passes_of(layout.schedule);
  token_cost_ = token_cost_of(layout_, *hardware_);
  bare_ = layout_;
  bare_.documents->lengths = {};
  if (!bare_.parts) return;
  bare_.model = {};  // made of the parts
  bare_.spec = {};
}

bool MicrobatchCosts::all_plain(const StepBatch& batch) const {
  const PackedMicrobatch plain = plain_microbatch(layout_).packed;
  const bool squares_count =
      !layout_.spec.blocks.empty() || layout_.documents->attention_share.value_or(0) > 0;
  const auto is_full = [&](const PackedMicrobatch& one) {
    return one.tokens == plain.tokens && one.pictured == plain.pictured &&
           (one.squares == plain.squares || !squares_count);
  };
  const auto is_plain = [&](const StepMicrobatch& one) {
    return is_full(one.packed) && is_full(one.of_module()) &&
           std::ranges::all_of(one.loads, [](double load) { return load == 1; });
  };
  return std::ranges::all_of(
      batch.replicas, [&](const ReplicaBatch& one) { return std::ranges::all_of(one, is_plain); });
}

Costs MicrobatchCosts::own(const Plan& classes, const StepMicrobatch& microbatch) const {
  Layout layout = bare_;
  set_microbatch(layout, microbatch);
  Costs costs = price(classes, layout.model, layout.partition, *hardware_, training_);
  const Time host = from_us(layout.overheads.host_us);
  for (std::size_t c = 0; c < classes.classes.size(); ++c) {
    if (!classes.is_link(classes.classes[c].resource)) costs.duration[c] += host;
  }
  return costs;
}

std::shared_ptr<const Costs> MicrobatchCosts::known_or_own(const Plan& classes,
                                                           const std::vector<std::uint32_t>& parts,
                                                           const StepMicrobatch& microbatch) const {
  const MicrobatchInputs inputs{numbers_of(microbatch.packed), numbers_of(microbatch.of_module()),
                                microbatch.loads, parts};
  {
    const std::lock_guard lock(known_->mutex);
    if (auto known = known_->costs.find(inputs)) return known;
  }
  auto costs = std::make_shared<const Costs>(own(classes, microbatch));
  const std::lock_guard lock(known_->mutex);
  if (known_->costs.find(inputs) == nullptr) known_->costs.keep(inputs, costs);
  return costs;
}

Costs MicrobatchCosts::of(const MicrobatchPlan& plan, const Costs& plain,
                          const ReplicaBatch& batch) const {
  std::vector<std::shared_ptr<const Costs>> priced;  // by place in the replica
  const std::vector<std::uint32_t> parts = priced_parts(plan.plain);
  for (const StepMicrobatch& one : batch) {
    priced.push_back(known_or_own(plan.plain, parts, one));
  }
  const std::map<Microbatch, std::size_t> places = places_of(plan.classes);
  const auto costs_at = [&](Microbatch microbatch) -> const Costs& {
    return *priced[places.at(microbatch)];
  };
  const auto costs_of = [&](const MicrobatchClass& one) -> const Costs& {
    return one.microbatch ? costs_at(*one.microbatch) : plain;
  };
  Costs costs;
  costs.launch = plain.launch;
  costs.issue = plain.issue;
  for (std::size_t c = 0; c < plan.classes.size(); ++c) {
    const MicrobatchClass& one = plan.classes[c];
    const WorkClass& work = plan.plan.classes[c];
    // New weights hide behind the first forwards of the next step.
    const Costs& own = work.pass == Pass::gather_weights ? *priced.front() : costs_of(one);
    Time duration = work.follows_partner ? Time{} : own.duration[one.plain];
    if (one.partner && !work.follows_partner) {
      const std::uint32_t other = plan.classes[work.partner].plain;
      duration = std::max(duration, costs_at(*one.partner).duration[other]);
    }
    costs.duration.push_back(duration);
    costs.latency.push_back(own.latency[one.plain]);
    costs.hidden.push_back(own.hidden_of(one.plain));
  }
  for (const MicrobatchClass& one : plan.buffers) {
    costs.bytes.push_back(costs_of(one).bytes[one.plain]);
  }
  return costs;
}

}  // namespace penstock
