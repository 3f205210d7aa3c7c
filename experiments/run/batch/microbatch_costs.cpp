#include "experiments/run/batch/microbatch_costs.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "experiments/run/layout/layout_model.hpp"
#include "experiments/run/layout/training.hpp"

namespace penstock {
namespace {

/// What decides the costs of a microbatch.
auto key_of(const PackedMicrobatch& one) {
  return std::tuple(one.tokens, one.pictured, one.squares);
}

/// The costs of each microbatch of an order; equal ones are priced once.
class Priced {
 public:
  template <class Price>
  Priced(const std::vector<MicrobatchClass>& classes, const ReplicaBatch& batch, Price price) {
    for (const MicrobatchClass& one : classes) {
      if (one.microbatch) numbers_.insert(*one.microbatch);
    }
    using Numbers = decltype(key_of({}));
    std::map<std::tuple<Numbers, Numbers, std::vector<double>>, std::size_t> known;
    for (const StepMicrobatch& one : batch) {
      const auto [place, is_new] = known.try_emplace(
          {key_of(one.packed), key_of(one.of_module()), one.loads}, costs_.size());
      if (is_new) costs_.push_back(price(one));
      of_.push_back(place->second);
    }
  }
  /// Numbers of an order from a file may have gaps.
  const Costs& of(Microbatch microbatch) const {
    const auto place = std::distance(numbers_.begin(), numbers_.find(microbatch));
    return costs_[of_[static_cast<std::size_t>(place)]];
  }
  const Costs& of_first() const { return costs_[of_.front()]; }

 private:
  std::set<Microbatch> numbers_;
  std::vector<Costs> costs_;
  std::vector<std::size_t> of_;  // by place among these
};

}  // namespace

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
           std::all_of(one.loads.begin(), one.loads.end(), [](double load) { return load == 1; });
  };
  return std::all_of(batch.replicas.begin(), batch.replicas.end(), [&](const ReplicaBatch& one) {
    return std::all_of(one.begin(), one.end(), is_plain);
  });
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

Costs MicrobatchCosts::of(const MicrobatchPlan& plan, const Costs& plain,
                          const ReplicaBatch& batch) const {
  const Priced priced(plan.classes, batch,
                      [&](const StepMicrobatch& one) { return own(plan.plain, one); });
  const auto costs_of = [&](const MicrobatchClass& one) -> const Costs& {
    return one.microbatch ? priced.of(*one.microbatch) : plain;
  };
  Costs costs;
  costs.launch = plain.launch;
  costs.issue = plain.issue;
  for (std::size_t c = 0; c < plan.classes.size(); ++c) {
    const MicrobatchClass& one = plan.classes[c];
    const WorkClass& work = plan.plan.classes[c];
    // New weights hide behind the first forwards of the next step.
    const Costs& own = work.pass == Pass::gather_weights ? priced.of_first() : costs_of(one);
    Time duration = work.follows_partner ? Time{} : own.duration[one.plain];
    if (one.partner && !work.follows_partner) {
      const std::uint32_t other = plan.classes[work.partner].plain;
      duration = std::max(duration, priced.of(*one.partner).duration[other]);
    }
    costs.duration.push_back(duration);
    costs.latency.push_back(own.latency[one.plain]);
  }
  for (const MicrobatchClass& one : plan.buffers) {
    costs.bytes.push_back(costs_of(one).bytes[one.plain]);
  }
  return costs;
}

}  // namespace penstock
