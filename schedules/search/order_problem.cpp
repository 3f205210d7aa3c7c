#include "schedules/search/order_problem.hpp"

#include <numeric>

namespace penstock {

FormCosts OrderStage::costs(ActivationForm form) const {
  const bool again = (form & recomputed_form) != 0 && recomputed;
  if ((form & whole_form) != 0 && whole)
    return again && whole_recomputed ? *whole_recomputed : *whole;
  return again ? *recomputed : FormCosts{duration, during, change};
}

OrderWriter::OrderWriter(const OrderProblem& problem)
    : order{RankSequences(problem.ranks()),
            ActivationForms(problem.stages.size() * problem.microbatches, 0)},
      problem_(problem),
      done_(problem.stages.size() * SearchPass::count, 0) {}

void OrderWriter::add(std::uint32_t stage, std::uint32_t pass, ActivationForm form) {
  const CellClass input = cell_class(stage, SearchPass::input), weight = input + 1;
  ActivationForm* const forms = &order.forms[std::size_t{stage} * problem_.microbatches];
  const OrderStage& of = problem_.stages[stage];
  auto& sequence = order.sequences[of.rank];
  if (pass == SearchPass::input) forms[done_[input]] = form;
  sequence.push_back(cell_class(stage, pass));
  ++done_[sequence.back()];
  while (done_[weight] < done_[input] && (!of.splits || (forms[done_[weight]] & whole_form) != 0)) {
    sequence.push_back(weight);
    ++done_[weight];
  }
}

std::vector<std::vector<std::uint32_t>> stages_by_rank(const OrderProblem& problem) {
  std::vector<std::vector<std::uint32_t>> stages(problem.ranks());
  for (std::uint32_t s = 0; s < problem.stage_count(); ++s) {
    stages[problem.stages[s].rank].push_back(s);
  }
  return stages;
}

std::vector<SearchTime> work_by_rank(const OrderProblem& problem) {
  std::vector<SearchTime> work(problem.ranks(), 0);
  for (const OrderStage& stage : problem.stages) {
    work[stage.rank] +=
        std::accumulate(stage.duration.begin(), stage.duration.end(), SearchTime{0}) *
        problem.microbatches;
  }
  return work;
}

std::vector<SearchTime> work_and_updates(const OrderProblem& problem) {
  std::vector<SearchTime> work = work_by_rank(problem);
  for (std::uint32_t rank = 0; rank < problem.ranks(); ++rank) work[rank] += problem.update(rank);
  return work;
}

bool fits_memory(const OrderProblem& problem, std::uint32_t rank,
                 std::span<const CellClass> sequence) {
  std::int64_t held = 0;
  for (const CellClass cell : sequence) {
    const OrderStage& stage = problem.stages[cell / SearchPass::count];
    const std::uint32_t pass = cell % SearchPass::count;
    if (held + stage.during[pass] > problem.capacity[rank]) return false;
    held += stage.change[pass];
  }
  return true;
}

}  // namespace penstock
