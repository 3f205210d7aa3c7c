#include "schedules/search/lengthening.hpp"

#include <algorithm>

namespace penstock {

std::vector<SearchTime> lengthened_starts(const OrderProblem& few,
                                          const std::vector<SearchTime>& starts,
                                          std::uint32_t microbatches, std::uint32_t at) {
  const auto work = work_by_rank(few);
  const SearchTime period = *std::max_element(work.begin(), work.end()) / few.microbatches;
  const std::uint32_t more = microbatches - few.microbatches;
  std::vector<SearchTime> longer;
  longer.reserve(starts.size() / few.microbatches * microbatches);
  for (std::size_t first = 0; first < starts.size(); first += few.microbatches) {
    for (std::uint32_t m = 0; m < microbatches; ++m) {
      const std::uint32_t repeats = m <= at ? 0 : std::min(m - at, more);
      longer.push_back(starts[first + m - repeats] + SearchTime{repeats} * period);
    }
  }
  return longer;
}

RankSequences sequences_of_starts(const OrderProblem& problem,
                                  const std::vector<SearchTime>& starts) {
  struct Start {
    SearchTime time;
    CellClass cell;
  };
  std::vector<std::vector<Start>> by_rank(problem.ranks());
  for (std::size_t number = 0; number < starts.size(); ++number) {
    const auto cell = static_cast<CellClass>(number / problem.microbatches);
    by_rank[problem.stages[cell / SearchPass::count].rank].push_back({starts[number], cell});
  }
  RankSequences sequences(problem.ranks());
  for (std::uint32_t rank = 0; rank < problem.ranks(); ++rank) {
    std::stable_sort(by_rank[rank].begin(), by_rank[rank].end(),
                     [](const Start& a, const Start& b) { return a.time < b.time; });
    for (const Start& start : by_rank[rank]) sequences[rank].push_back(start.cell);
  }
  return sequences;
}

}  // namespace penstock
