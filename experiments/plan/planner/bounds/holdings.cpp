#include "experiments/plan/planner/bounds/holdings.hpp"

#include <algorithm>
#include <functional>
#include <limits>

#include "schedules/patterns/offload.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

bool none_less(const std::vector<std::uint32_t>& one, const std::vector<std::uint32_t>& other) {
  return std::equal(one.begin(), one.end(), other.begin(), std::greater_equal<>());
}

/// Whether a moment holds at least what another does, whatever the sizes are.
bool holds_all(const Moment& one, const Moment& other) {
  return one.stage == other.stage && one.again >= other.again && none_less(one.held, other.held) &&
         none_less(one.unread, other.unread) && none_less(one.pending, other.pending);
}

/// Follows the row of a rank.
class RowWalk {
 public:
  RowWalk(const std::vector<Stage>& stages, bool to_host) : stages_(stages), to_host_(to_host) {
    for (auto* list : {&now_.held, &now_.unread, &now_.pending}) list->resize(stages.size());
    holding_.evictions.resize(stages.size());
  }

  void follow(const Action& action) {
    const auto at = static_cast<std::size_t>(
        std::find(stages_.begin(), stages_.end(), action.stage) - stages_.begin());
    if (action.pass == Pass::forward || action.pass == Pass::load) {
      ++now_.held[at];
      ++now_.unread[at];
    }
    if (action.pass <= Pass::backward_weight) note(action);
    if (gives_gradient(action.pass)) --now_.unread[at];
    if (action.pass == Pass::backward_input) ++now_.pending[at];
    if (action.pass == Pass::backward_weight) --now_.pending[at];
    if (action.pass == Pass::evict) {
      if (to_host_) ++holding_.evictions[at];
      --now_.unread[at];
    }
    if (action.pass == Pass::evict || ends_activation(action.pass)) --now_.held[at];
  }
  RankHolding result() { return std::move(holding_); }

 private:
  void note(const Action& action) {
    now_.stage = action.stage;
    now_.again = gives_gradient(action.pass);
    std::vector<Moment>& known = holding_.moments;
    const auto more = std::find_if(known.begin(), known.end(),
                                   [&](const Moment& one) { return holds_all(one, now_); });
    if (more != known.end()) {
      std::iter_swap(known.begin(), more);  // it will be found sooner
      return;
    }
    std::erase_if(known, [&](const Moment& one) { return holds_all(now_, one); });
    known.push_back(now_);
  }

  const std::vector<Stage>& stages_;
  bool to_host_;
  Moment now_;
  RankHolding holding_;
};

OrderHolding holding_of(const OrderChoice& order, const Placement& placement,
                        std::uint32_t microbatches, std::uint32_t keep) {
  OrderHolding holding;
  try {
    Schedule schedule = make_schedule(*order.rule, placement, {microbatches, order.options});
    if (keep > 0) schedule = offloaded(schedule, {keep});
    for (const Rank rank : Numbers<Rank>(placement.ranks())) {
      RowWalk walk(placement.stages_of(rank), schedule.keeper_of(rank) == host_memory);
      for (const Action& action : schedule.on(rank)) walk.follow(action);
      holding.ranks.push_back(walk.result());
    }
    holding.walk = walk_of(schedule, placement);
  } catch (const RuleError& error) {
    holding.refusal = std::string(order.rule->name) + ": " + error.what();
  }
  return holding;
}

double bytes_at(const std::vector<Stage>& stages, const StagePrices& prices, const Moment& moment,
                bool remakes) {
  double bytes = prices.workspace_bytes[index(moment.stage)];
  if (remakes && moment.again) bytes += prices.recomputed_bytes[index(moment.stage)];
  for (std::size_t at = 0; at < stages.size(); ++at) {
    const std::uint32_t stage = index(stages[at]);
    bytes += moment.held[at] * prices.kept_bytes[stage] +
             moment.unread[at] * prices.input_bytes[stage] +
             moment.pending[at] * prices.pending_bytes[stage];
  }
  return bytes;
}

/// The bytes of each rank at its fullest, besides those held throughout.
std::vector<double> passing_bytes_of(const Placement& placement, const StagePrices& prices,
                                     const OrderHolding& holding) {
  std::vector<double> all;
  for (const Rank rank : Numbers<Rank>(placement.ranks())) {
    const std::vector<Stage>& stages = placement.stages_of(rank);
    double& bytes = all.emplace_back(0);
    for (const Moment& moment : holding.ranks[index(rank)].moments) {
      bytes = std::max(bytes, bytes_at(stages, prices, moment, prices.remakes));
    }
  }
  return all;
}

}  // namespace

std::shared_ptr<const OrderHolding> Holdings::of(const OrderChoice& order,
                                                 const Placement& placement,
                                                 std::uint32_t microbatches, std::uint32_t keep) {
  const Key key{&order, placement.ranks(), microbatches, keep};
  {
    const std::lock_guard guard(mutex_);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
  }
  auto made =
      std::make_shared<const OrderHolding>(holding_of(order, placement, microbatches, keep));
  const std::lock_guard guard(mutex_);
  return known_.emplace(key, std::move(made)).first->second;
}

double least_bytes_of(const Placement& placement, const StagePrices& prices,
                      const OrderHolding& holding,
                      std::span<const std::vector<double>> held_bytes) {
  const std::vector<double> passing = passing_bytes_of(placement, prices, holding);
  double least = std::numeric_limits<double>::infinity();
  for (const std::vector<double>& held : held_bytes) {
    double most = 0;
    for (std::size_t rank = 0; rank < held.size(); ++rank) {
      most = std::max(most, held[rank] + passing[rank]);
    }
    least = std::min(least, most);
  }
  return least;
}

double eviction_us(const Placement& placement, const StagePrices& prices,
                   const OrderHolding& holding) {
  double most = 0;
  for (const Rank rank : Numbers<Rank>(placement.ranks())) {
    const std::vector<Stage>& stages = placement.stages_of(rank);
    double sum = 0;
    for (std::size_t at = 0; at < stages.size(); ++at) {
      sum += static_cast<double>(holding.ranks[index(rank)].evictions[at]) *
             prices.evict_us[index(stages[at])];
    }
    most = std::max(most, sum);
  }
  return most;
}

}  // namespace penstock
