#include "schedules/partitioners/simulation/one_f_one_b_times.hpp"

#include <algorithm>

namespace penstock {
namespace {

/// How far each stage is in its order.
struct Progress {
  std::uint32_t forwards = 0;
  std::uint32_t backwards = 0;
};

/// Whether the next action of a stage is a backward: warm-up, then both in turn.
bool backward_is_next(const Progress& of, std::uint32_t warm_up, std::uint32_t microbatches) {
  return of.forwards == microbatches || of.forwards > warm_up + of.backwards;
}

}  // namespace

OneFOneBTimes::OneFOneBTimes(const StageTimes& times, std::uint32_t stages,
                             std::uint32_t microbatches)
    : times_(times),
      stages_(stages),
      microbatches_(microbatches),
      state_(stages),
      arrivals_(std::size_t{stages} * microbatches) {
  std::vector<Progress> progress(stages);
  const std::size_t all = std::size_t{2} * stages * microbatches;
  while (steps_.size() < all) {
    for (std::uint32_t s = 0; s < stages; ++s) {
      Progress& own = progress[s];
      const std::uint32_t warm_up = std::min(microbatches, stages - s - 1);
      while (own.backwards < microbatches) {
        const bool backward = backward_is_next(own, warm_up, microbatches);
        if (backward && s + 1 < stages && progress[s + 1].backwards <= own.backwards) break;
        if (!backward && s > 0 && progress[s - 1].forwards <= own.forwards) break;
        std::uint32_t& count = backward ? own.backwards : own.forwards;
        steps_.push_back({s, count++, backward});
      }
    }
  }
}

void OneFOneBTimes::forward(const Step& step) {
  Stage& own = state_[step.stage];
  std::int64_t& arrived = arrival(step);
  const std::int64_t end = std::max(own.free, arrived) + own.forward;
  own.free = end;
  arrived = end;  // of the last stage: its gradient is there
  if (step.stage + 1 == stages_) return;
  own.forward_link_free = std::max(own.forward_link_free, end) + own.transfer;
  arrivals_[(step.stage + 1) * microbatches_ + step.microbatch] =
      own.forward_link_free + times_.latency().picoseconds;
}

void OneFOneBTimes::backward(const Step& step) {
  Stage& own = state_[step.stage];
  const std::int64_t end = std::max(own.free, arrival(step)) + own.backward;
  own.free = end;
  if (step.stage == 0) return;
  own.backward_link_free = std::max(own.backward_link_free, end) + state_[step.stage - 1].transfer;
  arrivals_[(step.stage - 1) * microbatches_ + step.microbatch] =
      own.backward_link_free + times_.latency().picoseconds;
}

Time OneFOneBTimes::operator()(std::span<const std::uint32_t> cuts) {
  for (std::uint32_t s = 0; s < stages_; ++s) {
    state_[s] = {.forward = times_.forward(cuts[s], cuts[s + 1]).picoseconds,
                 .backward = times_.backward(cuts[s], cuts[s + 1]).picoseconds,
                 .transfer = times_.transfer(cuts[s + 1]).picoseconds,
                 .free = 0,
                 .forward_link_free = 0,
                 .backward_link_free = 0};
  }
  std::fill_n(arrivals_.begin(), microbatches_, 0);
  for (const Step& step : steps_) step.backward ? backward(step) : forward(step);
  std::int64_t last = 0;
  for (const Stage& stage : state_) last = std::max(last, stage.free);
  return {last};
}

}  // namespace penstock
