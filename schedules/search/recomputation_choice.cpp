#include "schedules/search/recomputation_choice.hpp"

#include <algorithm>

namespace penstock {
namespace {

/// Walks along the sequence of a rank and counts its memory.
class MemoryWalk {
 public:
  MemoryWalk(const OrderProblem& problem, std::uint32_t rank, const Recomputed& recomputed)
      : problem_(problem),
        capacity_(problem.capacity[rank]),
        recomputed_(recomputed),
        done_(problem.stages.size() * SearchPass::count, 0) {}

  /// Runs a pass; false if there is no room for it.
  bool step(CellClass cell) {
    const std::uint32_t s = cell / SearchPass::count, pass = cell % SearchPass::count;
    const OrderStage& stage = problem_.stages[s];
    const bool again = is_recomputed(s, done_[cell]++);
    const auto& during = again ? stage.recomputed->during : stage.during;
    const auto& change = again ? stage.recomputed->change : stage.change;
    if (held_ + during[pass] > capacity_) return false;
    held_ += change[pass];
    return true;
  }

  /// What is kept from its F, which has begun, to an I that is still to come.
  std::vector<std::size_t> kept(std::uint32_t rank) const {
    std::vector<std::size_t> kept;
    for (std::uint32_t s = 0; s < problem_.stage_count(); ++s) {
      if (problem_.stages[s].rank != rank || !problem_.stages[s].recomputed) continue;
      const CellClass f = cell_class(s, SearchPass::forward);
      for (std::uint32_t m = done_[f + SearchPass::input]; m < done_[f]; ++m) {
        if (!is_recomputed(s, m)) kept.push_back(std::size_t{s} * problem_.microbatches + m);
      }
    }
    return kept;
  }

 private:
  bool is_recomputed(std::uint32_t stage, std::uint32_t microbatch) const {
    return !recomputed_.empty() && problem_.stages[stage].recomputed &&
           recomputed_[std::size_t{stage} * problem_.microbatches + microbatch] != 0;
  }

  const OrderProblem& problem_;
  std::int64_t capacity_;
  const Recomputed& recomputed_;
  std::vector<std::uint32_t> done_;
  std::int64_t held_ = 0;
};

/// Where the I of an activation stands in a sequence.
std::size_t place_of_input(std::span<const CellClass> sequence, std::size_t activation,
                           std::uint32_t microbatches) {
  const CellClass input =
      cell_class(static_cast<std::uint32_t>(activation / microbatches), SearchPass::input);
  std::size_t left = activation % microbatches, at = 0;
  for (; at < sequence.size(); ++at) {
    if (sequence[at] == input && left-- == 0) break;
  }
  return at;
}

}  // namespace

bool chooses_recomputation(const OrderProblem& problem) {
  return std::any_of(problem.stages.begin(), problem.stages.end(),
                     [](const OrderStage& stage) { return stage.recomputed.has_value(); });
}

OrderProblem with_nothing_recomputed(OrderProblem problem) {
  for (OrderStage& stage : problem.stages) stage.recomputed.reset();
  return problem;
}

OrderProblem with_all_recomputed(OrderProblem problem) {
  for (OrderStage& stage : problem.stages) {
    if (!stage.recomputed) continue;
    stage.duration[SearchPass::input] += stage.recomputed->longer;
    stage.during = stage.recomputed->during;
    stage.change = stage.recomputed->change;
    stage.recomputed.reset();
  }
  return problem;
}

OrderProblem with_least_of_both(OrderProblem problem) {
  for (OrderStage& stage : problem.stages) {
    if (!stage.recomputed) continue;
    auto& change = stage.change;
    const auto& other = stage.recomputed->change;
    change[SearchPass::forward] = std::min(change[SearchPass::forward], other[SearchPass::forward]);
    change[SearchPass::weight] = std::max(change[SearchPass::weight], other[SearchPass::weight]);
    for (std::size_t pass = 0; pass < SearchPass::count; ++pass) {
      stage.during[pass] = std::min(stage.during[pass], stage.recomputed->during[pass]);
    }
    stage.recomputed.reset();
  }
  return problem;
}

Recomputed all_recomputed(const OrderProblem& problem) {
  Recomputed all(problem.stages.size() * problem.microbatches, 0);
  for (std::size_t s = 0; s < problem.stages.size(); ++s) {
    if (!problem.stages[s].recomputed) continue;
    std::fill_n(all.begin() + static_cast<std::ptrdiff_t>(s * problem.microbatches),
                problem.microbatches, std::uint8_t{1});
  }
  return all;
}

std::optional<Overflow> first_overflow(const OrderProblem& problem, std::uint32_t rank,
                                       std::span<const CellClass> sequence,
                                       const Recomputed& recomputed) {
  MemoryWalk walk(problem, rank, recomputed);
  for (std::uint32_t place = 0; place < sequence.size(); ++place) {
    if (!walk.step(sequence[place])) return Overflow{place, walk.kept(rank)};
  }
  return std::nullopt;
}

bool recompute_to_fit(const OrderProblem& problem, std::uint32_t rank,
                      std::span<const CellClass> sequence, Recomputed& recomputed) {
  while (const auto overflow = first_overflow(problem, rank, sequence, recomputed)) {
    if (overflow->sparing.empty()) return false;
    const auto last = std::max_element(overflow->sparing.begin(), overflow->sparing.end(),
                                       [&](std::size_t a, std::size_t b) {
                                         return place_of_input(sequence, a, problem.microbatches) <
                                                place_of_input(sequence, b, problem.microbatches);
                                       });
    recomputed[*last] = 1;
  }
  return true;
}

void keep_what_fits(const OrderProblem& problem, SearchedOrder& order) {
  for (std::size_t activation = 0; activation < order.recomputed.size(); ++activation) {
    std::uint8_t& flag = order.recomputed[activation];
    if (flag == 0) continue;
    flag = 0;
    const std::uint32_t rank = problem.stages[activation / problem.microbatches].rank;
    if (first_overflow(problem, rank, order.sequences[rank], order.recomputed)) flag = 1;
  }
}

}  // namespace penstock
