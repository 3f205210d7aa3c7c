#include "schedules/search/form_choice.hpp"

#include <algorithm>

namespace penstock {
namespace {

/// Walks along the sequence of a rank and counts its memory.
class MemoryWalk {
 public:
  MemoryWalk(const OrderProblem& problem, std::uint32_t rank, const ActivationForms& forms)
      : problem_(problem),
        capacity_(problem.capacity[rank]),
        forms_(forms),
        done_(problem.stages.size() * SearchPass::count, 0) {}

  /// Runs a pass; false if there is no room for it.
  bool step(CellClass cell) {
    const std::uint32_t s = cell / SearchPass::count, pass = cell % SearchPass::count;
    const FormCosts costs = problem_.stages[s].costs(form(s, done_[cell]++));
    if (held_ + costs.during[pass] > capacity_) return false;
    held_ += costs.change[pass];
    return true;
  }

  /// What is kept from its F, which has begun, to an I that is still to come.
  std::vector<std::size_t> kept(std::uint32_t rank) const {
    std::vector<std::size_t> kept;
    for (std::uint32_t s = 0; s < problem_.stage_count(); ++s) {
      if (problem_.stages[s].rank != rank || !problem_.stages[s].recomputed) continue;
      const CellClass f = cell_class(s, SearchPass::forward);
      for (std::uint32_t m = done_[f + SearchPass::input]; m < done_[f]; ++m) {
        if ((form(s, m) & recomputed_form) == 0)
          kept.push_back(std::size_t{s} * problem_.microbatches + m);
      }
    }
    return kept;
  }

 private:
  ActivationForm form(std::uint32_t stage, std::uint32_t microbatch) const {
    return forms_.empty() ? ActivationForm{}
                          : forms_[std::size_t{stage} * problem_.microbatches + microbatch];
  }

  const OrderProblem& problem_;
  std::int64_t capacity_;
  const ActivationForms& forms_;
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
  return std::ranges::any_of(problem.stages,
                             [](const OrderStage& stage) { return stage.recomputed.has_value(); });
}

bool chooses_whole(const OrderProblem& problem) {
  return std::ranges::any_of(problem.stages,
                             [](const OrderStage& stage) { return stage.whole.has_value(); });
}

OrderProblem with_form(OrderProblem problem, ActivationForm form) {
  for (OrderStage& stage : problem.stages) {
    const FormCosts costs = stage.costs(form);
    stage.duration = costs.duration;
    stage.during = costs.during;
    stage.change = costs.change;
    stage.tail = costs.tail;
    stage.recomputed.reset();
    stage.whole.reset();
    stage.whole_recomputed.reset();
  }
  return problem;
}

OrderProblem with_all_recomputed(OrderProblem problem) {
  OrderProblem all = with_form(problem, recomputed_form);
  for (std::size_t s = 0; s < all.stages.size(); ++s) {
    const OrderStage& stage = problem.stages[s];
    if (stage.whole) all.stages[s].whole = stage.costs(recomputed_form | whole_form);
  }
  return all;
}

OrderProblem with_least_costs(OrderProblem problem) {
  SearchTime rest = 0;  // from the end of the last I or B of a stage until the stages before end
  for (std::uint32_t s = 0; s < problem.stage_count(); ++s) {
    OrderStage& stage = problem.stages[s];
    if (stage.whole) {
      auto& [forward, input, weight] = stage.duration;
      const SearchTime backward =
          std::min(stage.whole->duration[SearchPass::input], input + weight);
      input = std::min(input, backward);
      weight = backward - input;
      stage.tail.whole = std::min(stage.tail.whole, std::max(stage.whole->tail.whole, rest));
    }
    if (stage.recomputed) {
      auto& change = stage.change;
      const auto& other = stage.recomputed->change;
      change[SearchPass::forward] =
          std::min(change[SearchPass::forward], other[SearchPass::forward]);
      change[SearchPass::weight] = std::max(change[SearchPass::weight], other[SearchPass::weight]);
    }
    stage.recomputed.reset();
    stage.whole.reset();
    stage.whole_recomputed.reset();
    rest = std::max(rest, stage.duration[SearchPass::weight] + problem.ending(stage));
    rest += stage.duration[SearchPass::input];
    if (s + 1 < problem.stage_count()) rest += problem.stages[s + 1].to_before;
  }
  return problem;
}

ActivationForms all_in_form(const OrderProblem& problem, ActivationForm form) {
  ActivationForms all;
  for (const OrderStage& stage : problem.stages) {
    ActivationForm possible = 0;
    if (stage.recomputed) possible |= recomputed_form;
    if (stage.whole) possible |= whole_form;
    all.insert(all.end(), problem.microbatches, form & possible);
  }
  return all;
}

std::optional<Overflow> first_overflow(const OrderProblem& problem, std::uint32_t rank,
                                       std::span<const CellClass> sequence,
                                       const ActivationForms& forms) {
  MemoryWalk walk(problem, rank, forms);
  for (std::uint32_t place = 0; place < sequence.size(); ++place) {
    if (!walk.step(sequence[place])) return Overflow{place, walk.kept(rank)};
  }
  return std::nullopt;
}

bool recompute_to_fit(const OrderProblem& problem, std::uint32_t rank,
                      std::span<const CellClass> sequence, ActivationForms& forms) {
  while (const auto overflow = first_overflow(problem, rank, sequence, forms)) {
    if (overflow->sparing.empty()) return false;
    const auto last = std::ranges::max_element(overflow->sparing, {}, [&](std::size_t activation) {
      return place_of_input(sequence, activation, problem.microbatches);
    });
    forms[*last] |= recomputed_form;
  }
  return true;
}

void keep_what_fits(const OrderProblem& problem, SearchedOrder& order) {
  for (std::size_t activation = 0; activation < order.forms.size(); ++activation) {
    ActivationForm& form = order.forms[activation];
    if ((form & recomputed_form) == 0) continue;
    form ^= recomputed_form;
    const std::uint32_t rank = problem.stages[activation / problem.microbatches].rank;
    if (first_overflow(problem, rank, order.sequences[rank], order.forms)) form ^= recomputed_form;
  }
}

}  // namespace penstock
