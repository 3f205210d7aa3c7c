#include "schedules/search/order_problem.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace penstock {
namespace {

/// The earliest starts of the F's and I's of a microbatch.
struct EarliestStarts {
  std::vector<SearchTime> forward;
  std::vector<SearchTime> input;
};

EarliestStarts earliest_starts(const OrderProblem& problem) {
  const std::size_t count = problem.stages.size();
  EarliestStarts starts{std::vector<SearchTime>(count), std::vector<SearchTime>(count)};
  SearchTime time = 0;
  for (std::size_t s = 0; s < count; ++s) {
    starts.forward[s] = time;
    time += problem.stages[s].duration[SearchPass::forward] + problem.stages[s].to_after;
  }
  for (std::size_t s = count; s-- > 0;) {
    starts.input[s] = time;
    time += problem.stages[s].duration[SearchPass::input] + problem.stages[s].to_before;
  }
  return starts;
}

/// The longest time that passes of one kind can take on a rank, if no more of them run than its
/// memory holds activations.
SearchTime longest_held(const OrderProblem& problem, const std::vector<std::uint32_t>& stages,
                        std::uint32_t rank, std::uint32_t pass) {
  std::int64_t least = never;
  std::vector<SearchTime> durations;
  for (const std::uint32_t s : stages) {
    const OrderStage& stage = problem.stages[s];
    // What a W still holds is no more than what F left behind.
    least = std::min(least, pass == SearchPass::forward ? stage.change[SearchPass::forward]
                                                        : -stage.change[SearchPass::weight]);
    durations.push_back(stage.duration[pass]);
  }
  const std::int64_t all = static_cast<std::int64_t>(stages.size()) * problem.microbatches;
  const std::int64_t most = least <= 0 ? all : std::min(all, problem.capacity[rank] / least);
  std::ranges::sort(durations, std::greater<>());
  SearchTime time = 0;
  std::int64_t left = most;
  for (const SearchTime duration : durations) {
    const std::int64_t taken = std::min<std::int64_t>(left, problem.microbatches);
    time += taken * duration;
    left -= taken;
  }
  return time;
}

/// What follows the last pass of a rank at least, whichever of its stages it belongs to.
SearchTime least_ending(const OrderProblem& problem, const std::vector<std::uint32_t>& stages) {
  SearchTime least = never;
  for (const std::uint32_t s : stages) least = std::min(least, problem.ending(problem.stages[s]));
  return least;
}

SearchTime bound_of_rank(const OrderProblem& problem, const EarliestStarts& starts,
                         const std::vector<std::uint32_t>& stages, std::uint32_t rank,
                         SearchTime work) {
  const std::uint32_t first = stages.front();
  const SearchTime head = starts.forward[first];
  const SearchTime backward = starts.input[stages.back()];
  const SearchTime before =
      std::min(backward - head, longest_held(problem, stages, rank, SearchPass::forward));
  SearchTime after_first = 0;  // from the end of the last I of this rank until all has ended
  for (std::uint32_t s = first; s-- > 0;) {
    after_first += problem.stages[s + 1].to_before + problem.stages[s].duration[SearchPass::input];
  }
  if (first > 0) {
    const OrderStage& last = problem.stages[0];
    after_first += last.duration[SearchPass::weight] + problem.ending(last);
  }
  const SearchTime after =
      std::min(after_first, longest_held(problem, stages, rank, SearchPass::weight));
  const SearchTime to_last = backward + work - before;
  return std::max(to_last + least_ending(problem, stages), to_last - after + after_first);
}

/// What an activation holds from its F to the end of its W at least.
std::int64_t least_held(const OrderStage& stage) {
  return std::max<std::int64_t>(
      0, std::min(stage.change[SearchPass::forward], -stage.change[SearchPass::weight]));
}

/// The most bytes that a rank's activations ever hold of these: F needs more while it runs, and
/// where all are equal they hold a whole number.
std::int64_t most_held(const OrderProblem& problem, const std::vector<std::uint32_t>& stages,
                       std::uint32_t rank) {
  std::int64_t beside = never, least = never, most = 0;
  for (const std::uint32_t s : stages) {
    const std::int64_t held = least_held(problem.stages[s]);
    beside = std::min(beside, problem.stages[s].during[SearchPass::forward] - held);
    least = std::min(least, held);
    most = std::max(most, held);
  }
  const std::int64_t room = problem.capacity[rank] - std::max<std::int64_t>(0, beside);
  return least == most && most > 0 ? room / most * most : room;
}

/// Byte-time that a rank leaves unused while it fills up, or empties again: activations come or go
/// one by one, `step` apart.
double unused_at_end(std::int64_t room, std::int64_t bytes, SearchTime step) {
  double unused = 0;
  for (std::int64_t held = bytes; held < room; held += bytes) {
    unused += static_cast<double>(room - held) * static_cast<double>(step);
  }
  return unused;
}

/// From the first F of a rank to the end of its last W: the byte-time of all its activations, and
/// what it leaves unused at both ends, over the most that it holds.
SearchTime memory_bound(const OrderProblem& problem, const EarliestStarts& starts,
                        const std::vector<std::uint32_t>& stages, std::uint32_t rank,
                        SearchTime work) {
  const std::int64_t room = most_held(problem, stages, rank);
  double held = 0;
  std::int64_t largest = 0;
  SearchTime forward = never, weight = never;
  for (const std::uint32_t s : stages) {
    const OrderStage& stage = problem.stages[s];
    forward = std::min(forward, stage.duration[SearchPass::forward]);
    weight = std::min(weight, stage.duration[SearchPass::weight]);
    largest = std::max(largest, least_held(stage));
    const SearchTime time = starts.input[s] + stage.duration[SearchPass::input] +
                            stage.duration[SearchPass::weight] - starts.forward[s];
    held +=
        static_cast<double>(least_held(stage)) * static_cast<double>(time) * problem.microbatches;
  }
  if (room <= 0 || largest == 0) return 0;
  // Only where there is time to fill up before it empties.
  const SearchTime step = forward + weight;
  if (step > 0 && room / largest <= work / step) {
    held += unused_at_end(room, largest, forward) + unused_at_end(room, largest, weight);
  }
  // Rounded down well below the error of the sum.
  return static_cast<SearchTime>(held / static_cast<double>(room) * (1 - 1e-12));
}

}  // namespace

FormCosts OrderStage::costs(ActivationForm form) const {
  const bool again = (form & recomputed_form) != 0 && recomputed;
  if ((form & whole_form) != 0 && whole)
    return again && whole_recomputed ? *whole_recomputed : *whole;
  return again ? *recomputed : FormCosts{duration, during, change, tail};
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

std::vector<PassLinks> pass_links(const OrderProblem& problem, TimeDirection direction) {
  std::vector<PassLinks> links(problem.stages.size() * SearchPass::count);
  const auto connect = [&](CellClass from, CellClass to, SearchTime transfer) {
    if (direction == TimeDirection::backwards) std::swap(from, to);
    links[to].source = from;
    links[to].transfer = transfer;
    links[from].reader = to;
  };
  const std::uint32_t count = problem.stage_count();
  for (std::uint32_t s = 0; s < count; ++s) {
    const OrderStage& stage = problem.stages[s];
    const CellClass f = cell_class(s, SearchPass::forward), i = f + SearchPass::input;
    connect(f, s + 1 == count ? i : cell_class(s + 1, SearchPass::forward), stage.to_after);
    if (s > 0) connect(i, cell_class(s - 1, SearchPass::input), stage.to_before);
  }
  return links;
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

std::vector<SearchTime> shortest_tails(const OrderProblem& problem) {
  std::vector<SearchTime> tails(problem.stages.size() * SearchPass::count, 0);
  for (std::uint32_t s = 0; s < problem.stage_count(); ++s) {
    const OrderStage& stage = problem.stages[s];
    SearchTime& tail = tails[cell_class(s, SearchPass::input)];
    tail = stage.duration[SearchPass::weight] + problem.ending(stage);
    if (s > 0) {
      tail = std::max(tail, stage.to_before + problem.stages[s - 1].duration[SearchPass::input] +
                                tails[cell_class(s - 1, SearchPass::input)]);
    }
  }
  for (std::uint32_t s = problem.stage_count(); s-- > 0;) {
    const bool last = s + 1 == problem.stage_count();
    tails[cell_class(s, SearchPass::forward)] =
        last ? problem.stages[s].duration[SearchPass::input] +
                   tails[cell_class(s, SearchPass::input)]
             : problem.stages[s].to_after + problem.stages[s + 1].duration[SearchPass::forward] +
                   tails[cell_class(s + 1, SearchPass::forward)];
  }
  return tails;
}

SearchTime shortest_possible(const OrderProblem& problem) {
  const EarliestStarts starts = earliest_starts(problem);
  const auto stages = stages_by_rank(problem);
  const auto work = work_by_rank(problem);
  SearchTime bound = problem.stages[0].duration[SearchPass::forward] +
                     shortest_tails(problem)[cell_class(0, SearchPass::forward)];
  for (std::uint32_t rank = 0; rank < problem.ranks(); ++rank) {
    if (stages[rank].empty()) continue;
    const SearchTime ending = least_ending(problem, stages[rank]);
    const SearchTime head = starts.forward[stages[rank].front()];
    bound =
        std::max({bound, head + work[rank] + ending,
                  bound_of_rank(problem, starts, stages[rank], rank, work[rank]),
                  head + memory_bound(problem, starts, stages[rank], rank, work[rank]) + ending});
  }
  return bound;
}

}  // namespace penstock
