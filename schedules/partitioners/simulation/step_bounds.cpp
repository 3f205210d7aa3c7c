#include "schedules/partitioners/simulation/step_bounds.hpp"

#include <algorithm>
#include <limits>

namespace penstock {

StepBounds::StepBounds(const StageTimes& times, std::uint32_t stages, std::uint32_t microbatches)
    : times_(times),
      stages_(stages),
      microbatches_(microbatches),
      slack_(4.0 * (stages + 1) * (microbatches + 1)),
      work_(times.size() + 1),
      cheapest_(times.size() + 1, 0) {
  for (std::uint32_t i = 0; i <= times.size(); ++i) {
    work_[i] = double((times.forward(0, i) + times.backward(0, i)).picoseconds);
  }
  double least = std::numeric_limits<double>::infinity();
  for (std::uint32_t i = times.size(); i-- > 1;) {
    cheapest_[i] = least == std::numeric_limits<double>::infinity() ? 0 : least;
    least = std::min(least, sent_at(i));
  }
  find_shortest_rests();
}

/// Both sides of a last beginning move one way, so a binary search finds it.
void StepBounds::find_shortest_rests() {
  const std::uint32_t size = times_.size();
  rest_.assign(stages_, std::vector<double>(size + 1, 0));
  for (std::uint32_t i = 0; i <= size; ++i) {
    if (stages_ > 1) rest_[1][i] = work(i, size);
  }
  for (std::uint32_t count = 2; count < stages_; ++count) {
    for (std::uint32_t begin = 0; begin + count <= size; ++begin) {
      std::uint32_t low = begin + 1;
      std::uint32_t high = size - count + 1;
      while (low < high) {
        const std::uint32_t end = low + (high - low) / 2;
        if (work(begin, end) < rest_[count - 1][end]) {
          low = end + 1;
        } else {
          high = end;
        }
      }
      double best = std::max(work(begin, low), rest_[count - 1][low]);
      if (low > begin + 1) {
        best = std::min(best, std::max(work(begin, low - 1), rest_[count - 1][low - 1]));
      }
      rest_[count][begin] = best;
    }
  }
}

double StepBounds::sent_at(std::uint32_t position) const {
  return 2.0 * double((times_.transfer(position) + times_.latency()).picoseconds);
}

double StepBounds::of_rank(const Known& known) const {
  return work_[known.begin] + known.sent + microbatches_ * work(known.begin, known.end) - slack_;
}

double StepBounds::of_rest(const Known& known) const {
  const std::uint32_t later = stages_ - known.stage - 1;
  if (later == 0) return 0;
  return work_[known.end] + known.sent + sent_at(known.end) +
         microbatches_ * rest_[later][known.end] - slack_;
}

double StepBounds::of_path(const Known& known) const {
  const std::uint32_t later = stages_ - known.stage - 1;
  double path = work_.back() + known.sent;
  double link = 0;
  if (later > 0) {
    path += sent_at(known.end) + (later - 1) * cheapest_[known.end];
    link = (microbatches_ - 1) * double(times_.transfer(known.end).picoseconds);
  }
  // Before its first backward a rank has run its warm-up and one more forward; as many backwards
  // follow its last forward.
  const double forward = double(times_.forward(known.begin, known.end).picoseconds);
  const double backward = double(times_.backward(known.begin, known.end).picoseconds);
  const double between = std::max(0.0, microbatches_ - 1 - std::min(microbatches_, double(later)));
  const double turn = std::max((microbatches_ - 1) * backward + between * forward,
                               (microbatches_ - 1) * forward + between * backward);
  return path + std::max(turn, link) - slack_;
}

}  // namespace penstock
