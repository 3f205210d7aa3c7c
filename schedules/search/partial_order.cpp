#include "schedules/search/partial_order.hpp"

#include <algorithm>
#include <functional>

#include "schedules/search/form_choice.hpp"

namespace penstock {
namespace {

constexpr std::size_t most_seen = 400'000;
constexpr std::size_t most_of_one_kind = 24;

bool none_larger(const std::vector<SearchTime>& a, const std::vector<SearchTime>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), std::less_equal<>());
}

}  // namespace

void SeenOrders::describe(const PartialOrder& order) {
  key_.clear();
  times_.assign({order.sum_of_starts});
  const std::uint32_t count = problem_.stage_count(), microbatches = problem_.microbatches;
  for (std::uint32_t rank = 0; rank < problem_.ranks(); ++rank) {
    times_.push_back(order.floor(rank));
    times_.push_back(order.ranks[rank].held);
    times_.push_back(order.ranks[rank].reduced);
    times_.push_back(order.ranks[rank].ended);
  }
  const auto add = [&](SearchTime arrival, std::uint32_t stage) {
    times_.push_back(std::max(arrival, order.floor(problem_.stages[stage].rank)));
  };
  for (std::uint32_t s = 0; s < count; ++s) {
    const StageProgress& own = order.stages[s];
    for (const std::uint32_t done : {own.forwards, own.gradients, own.pending}) {
      key_.push_back(static_cast<char>(done));
    }
    const std::size_t first = std::size_t{s} * microbatches;
    if (s + 1 < count) {
      for (std::uint32_t m = order.stages[s + 1].forwards; m < own.forwards; ++m) {
        add(order.forward_end[first + m] + problem_.stages[s].to_after, s + 1);
      }
    } else {
      for (std::uint32_t m = own.gradients; m < own.forwards; ++m) {
        add(order.forward_end[first + m] + problem_.stages[s].to_after, s);
      }
    }
    if (s == 0) continue;
    for (std::uint32_t m = order.stages[s - 1].gradients; m < own.gradients; ++m) {
      add(order.gradient_end[first + m] + problem_.stages[s].to_before, s - 1);
    }
  }
}

bool SeenOrders::covers(const PartialOrder& order) {
  describe(order);
  auto& kind = seen_[key_];
  for (const auto& seen : kind) {
    if (none_larger(seen, times_)) return true;
  }
  count_ -= std::erase_if(kind, [&](const auto& seen) { return none_larger(times_, seen); });
  if (kind.size() < most_of_one_kind && count_ < most_seen) {
    kind.push_back(times_);
    ++count_;
  }
  return false;
}

NodeBound::NodeBound(const OrderProblem& problem)
    : least_(with_least_costs(problem)),
      forward_tail_(problem.stages.size() * problem.microbatches, 0),
      gradient_tail_(forward_tail_),
      forward_head_(forward_tail_),
      gradient_head_(forward_tail_),
      jobs_(problem.ranks()) {
  for (const OrderStage& stage : problem.stages) {
    weights_.push_back(stage.duration[SearchPass::weight]);
  }
  find_tails();
}

/// From the end of a pass to the end of the step, passes of one kind one after the other.
void NodeBound::find_tails() {
  const std::uint32_t count = least_.stage_count(), microbatches = least_.microbatches;
  for (std::uint32_t s = 0; s < count; ++s) {
    const OrderStage& stage = least_.stages[s];
    for (std::uint32_t m = microbatches; m-- > 0;) {
      SearchTime& tail = gradient_tail_[number(s, m)];
      tail = stage.duration[SearchPass::weight] +
             (m + 1 == microbatches ? least_.ending(stage) : least_.update(stage.rank));
      const SearchTime own = stage.duration[SearchPass::input];
      if (m + 1 < microbatches) tail = std::max(tail, own + gradient_tail_[number(s, m + 1)]);
      if (s == 0) continue;
      tail = std::max(tail, stage.to_before + least_.stages[s - 1].duration[SearchPass::input] +
                                gradient_tail_[number(s - 1, m)]);
    }
  }
  for (std::uint32_t s = count; s-- > 0;) {
    const OrderStage& stage = least_.stages[s];
    for (std::uint32_t m = microbatches; m-- > 0;) {
      SearchTime& tail = forward_tail_[number(s, m)];
      tail = s + 1 == count ? stage.duration[SearchPass::input] + gradient_tail_[number(s, m)]
                            : least_.stages[s + 1].duration[SearchPass::forward] +
                                  forward_tail_[number(s + 1, m)];
      tail += stage.to_after;
      if (m + 1 == microbatches) continue;
      const SearchTime next = stage.duration[SearchPass::forward] + forward_tail_[number(s, m + 1)];
      tail = std::max(tail, next);
    }
  }
}

void NodeBound::add_forwards(const PartialOrder& order) {
  for (std::uint32_t s = 0; s < least_.stage_count(); ++s) {
    const OrderStage& stage = least_.stages[s];
    const SearchTime duration = stage.duration[SearchPass::forward];
    SearchTime head = order.floor(stage.rank);
    for (std::uint32_t m = order.stages[s].forwards; m < least_.microbatches; ++m) {
      if (s > 0) {
        const bool known = m < order.stages[s - 1].forwards;
        const SearchTime end = (known ? order.forward_end : forward_head_)[number(s - 1, m)];
        head = std::max(head, end + least_.stages[s - 1].to_after);
      }
      jobs_[stage.rank].push_back({head, duration, forward_tail_[number(s, m)]});
      head += duration;
      forward_head_[number(s, m)] = head;
    }
  }
}

void NodeBound::add_backwards(const PartialOrder& order) {
  for (std::uint32_t s = least_.stage_count(); s-- > 0;) {
    const OrderStage& stage = least_.stages[s];
    const StageProgress& progress = order.stages[s];
    const bool last = s + 1 == least_.stage_count();
    const SearchTime duration = stage.duration[SearchPass::input];
    const SearchTime update = least_.update(stage.rank), floor = order.floor(stage.rank);
    auto& jobs = jobs_[stage.rank];
    if (progress.pending > 0) jobs.push_back({floor, progress.pending * weights_[s], update});
    SearchTime head = floor;
    for (std::uint32_t m = progress.gradients; m < least_.microbatches; ++m) {
      const bool run = m < progress.forwards;
      const SearchTime own = (run ? order.forward_end : forward_head_)[number(s, m)];
      head = std::max(head, own + (last ? stage.to_after : 0));
      if (!last) {
        const bool known = m < order.stages[s + 1].gradients;
        const SearchTime end = (known ? order.gradient_end : gradient_head_)[number(s + 1, m)];
        head = std::max(head, end + least_.stages[s + 1].to_before);
      }
      jobs.push_back({head, duration, gradient_tail_[number(s, m)]});
      head += duration;
      gradient_head_[number(s, m)] = head;
      jobs.push_back({head, stage.duration[SearchPass::weight], update});
    }
  }
}

/// Of what is ready, the pass with the longest tail runs; one with a longer tail interrupts it.
SearchTime NodeBound::bound_of(std::vector<Job>& jobs) {
  std::ranges::sort(jobs, {}, &Job::head);
  ready_.clear();
  SearchTime time = 0, bound = 0;
  for (std::size_t next = 0; next < jobs.size() || !ready_.empty();) {
    if (ready_.empty()) time = std::max(time, jobs[next].head);
    for (; next < jobs.size() && jobs[next].head <= time; ++next) {
      ready_.emplace_back(jobs[next].tail, jobs[next].duration);
      std::push_heap(ready_.begin(), ready_.end());
    }
    std::pop_heap(ready_.begin(), ready_.end());
    auto& [tail, left] = ready_.back();
    const SearchTime until =
        next < jobs.size() ? std::min(jobs[next].head, time + left) : time + left;
    left -= until - time;
    time = until;
    if (left > 0) {
      std::push_heap(ready_.begin(), ready_.end());
      continue;
    }
    bound = std::max(bound, time + tail);
    ready_.pop_back();
  }
  return bound;
}

SearchTime NodeBound::of(const PartialOrder& order) {
  for (auto& jobs : jobs_) jobs.clear();
  add_forwards(order);
  add_backwards(order);
  SearchTime bound = 0;
  for (std::uint32_t rank = 0; rank < jobs_.size(); ++rank) {
    bound = std::max({bound, order.ranks[rank].free + least_.update(rank), order.ranks[rank].ended,
                      bound_of(jobs_[rank])});
  }
  return bound;
}

}  // namespace penstock
