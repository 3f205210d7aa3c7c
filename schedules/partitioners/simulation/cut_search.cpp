#include "schedules/partitioners/simulation/cut_search.hpp"

#include <algorithm>
#include <limits>

#include "sim/base/random.hpp"

namespace penstock {
namespace {

using Cuts = std::vector<std::uint32_t>;

/// Branches on the end of each stage, from the front.
class Branches {
 public:
  Branches(const StageTimes& times, std::uint32_t microbatches, CutJudge& judge,
           SimulatedCuts& best)
      : size_(times.size()), judge_(judge), best_(best), cuts_(judge.stages() + 1, times.size()) {
    cuts_[0] = 0;
    if (judge.is_one_f_one_b()) bounds_.emplace(times, judge.stages(), microbatches);
  }

  void descend(std::uint32_t stage, double sent) {
    const std::uint32_t stages = judge_.stages();
    if (stage + 1 == stages) return leaf(stage, sent);
    for (std::uint32_t end = cuts_[stage] + 1; end + (stages - stage - 1) <= size_; ++end) {
      if (!judge_.fits(cuts_[stage], end, stage)) return;
      const StepBounds::Known known{stage, cuts_[stage], end, sent};
      if (bounds_ && beaten(bounds_->of_rank(known))) return;
      if (bounds_ && (beaten(bounds_->of_rest(known)) || beaten(bounds_->of_path(known)))) continue;
      cuts_[stage + 1] = end;
      descend(stage + 1, bounds_ ? sent + bounds_->sent_at(end) : 0);
    }
  }

 private:
  /// Cuts come in the order of their positions, so of equals the first stays once it is found here.
  bool beaten(double bound) const {
    const auto best = double(best_.time.picoseconds);
    return found_ ? bound >= best : bound > best;
  }

  void leaf(std::uint32_t stage, double sent) {
    const StepBounds::Known known{stage, cuts_[stage], size_, sent};
    if (bounds_ && (beaten(bounds_->of_rank(known)) || beaten(bounds_->of_path(known)))) return;
    if (judge_.take(cuts_, !found_, best_)) found_ = true;
  }

  std::uint32_t size_;
  CutJudge& judge_;
  SimulatedCuts& best_;
  std::optional<StepBounds> bounds_;
  Cuts cuts_;
  bool found_ = false;
};

/// Local search from one cut.
class Neighbours {
 public:
  Neighbours(std::uint32_t size, std::uint64_t evaluations, CutJudge& judge)
      : size_(size), left_(evaluations), judge_(judge) {}

  bool is_spent() const { return left_ == 0; }

  /// Moves boundaries by ever smaller steps while that helps.
  void improve(SimulatedCuts& cuts) {
    std::uint32_t step = std::max(1U, size_ / (2 * judge_.stages()));
    while (step > 0 && !is_spent()) {
      if (!moved(step, cuts)) step /= 2;
    }
  }

 private:
  bool moved(std::uint32_t step, SimulatedCuts& best) {
    bool any = false;
    for (std::size_t s = 1; s + 1 < best.cuts.size(); ++s) {
      for (const bool back : {true, false}) {
        while (left_ > 0 && tried(s, step, back, best)) any = true;
      }
    }
    return any;
  }

  bool tried(std::size_t s, std::uint32_t step, bool back, SimulatedCuts& best) {
    Cuts cuts = best.cuts;
    if (back ? cuts[s] < cuts[s - 1] + 1 + step : cuts[s] + 1 + step > cuts[s + 1]) return false;
    cuts[s] = back ? cuts[s] - step : cuts[s] + step;
    --left_;
    return judge_.take(cuts, false, best);
  }

  std::uint32_t size_;
  std::uint64_t left_;
  CutJudge& judge_;
};

/// Boundaries moved by chance between their neighbours, about a third of them.
Cuts changed_by_chance(const Cuts& cuts, std::uint64_t seed, std::uint32_t number) {
  Cuts changed = cuts;
  for (std::uint32_t s = 1; s + 1 < cuts.size(); ++s) {
    const auto bits = philox({s, number, 0, 0}, {static_cast<std::uint32_t>(seed),
                                                 static_cast<std::uint32_t>(seed >> 32)});
    if (bits[0] % 3 != 0) continue;
    const std::uint32_t room = changed[s + 1] - changed[s - 1] - 1;
    changed[s] = changed[s - 1] + 1 + bits[1] % room;
  }
  return changed;
}

}  // namespace

std::uint64_t cuts_to_try(std::uint32_t size, std::uint32_t stages, std::uint64_t most) {
  double count = 1;
  for (std::uint32_t i = 1; i < stages; ++i) {
    count = count * (size - i) / i;
    if (count > double(most) * 2) return most + 1;
  }
  return static_cast<std::uint64_t>(count + 0.5);
}

void search_near(const StageTimes& times, std::uint64_t evaluations, std::uint64_t seed,
                 CutJudge& judge, SimulatedCuts& best) {
  Neighbours neighbours(times.size(), evaluations, judge);
  neighbours.improve(best);
  constexpr std::uint32_t most_restarts = 100'000;
  for (std::uint32_t r = 0; r < most_restarts && !neighbours.is_spent(); ++r) {
    SimulatedCuts other{changed_by_chance(best.cuts, seed, r), max_time};
    if (!judge.take(Cuts(other.cuts), true, other)) continue;
    neighbours.improve(other);
    if (other.time < best.time) best = other;
  }
}

void search_all(const StageTimes& times, std::uint32_t microbatches, CutJudge& judge,
                SimulatedCuts& best) {
  Branches(times, microbatches, judge, best).descend(0, 0);
}

StepBounds::StepBounds(const StageTimes& times, std::uint32_t stages, std::uint32_t microbatches)
    : times_(times),
      stages_(stages),
      microbatches_(microbatches),
      slack_(4.0 * (stages + 1) * (microbatches + 1)),
      least_slowness_(times.slowness(Rank{0})),
      links_(times.links_of_boundaries(stages)),
      work_(times.size() + 1),
      cheapest_(times.size() + 1, 0) {
  double greatest = 1;
  for (std::uint32_t s = 0; s < stages; ++s) {
    least_slowness_ = std::min(least_slowness_, times.slowness(Rank{s}));
    greatest = std::max(greatest, times.slowness(Rank{s}));
  }
  for (std::uint32_t i = 0; i <= times.size(); ++i) {
    const Time both = times.of(Pass::forward, 0, i) + times.of(Pass::backward, 0, i);
    work_[i] = least_slowness_ * double(both.picoseconds);
  }
  slack_ *= greatest;
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
  const auto takes = [&](const CutLink* link) {
    return double((times_.transfer(position, link) + times_.latency(link)).picoseconds);
  };
  double least = std::numeric_limits<double>::infinity();
  for (const LinksOfBoundary& links : links_)
    least = std::min(least, takes(links.there) + takes(links.back));
  return links_.empty() ? 2 * takes(nullptr) : least;
}

double StepBounds::of_rank(const Known& known) const {
  const double slower = times_.slowness(Rank{known.stage}) / least_slowness_;
  return work_[known.begin] + known.sent + microbatches_ * slower * work(known.begin, known.end) -
         slack_;
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
    const CutLink* const own = links_[known.stage].there;
    link = (microbatches_ - 1) * double(times_.transfer(known.end, own).picoseconds);
  }
  // Before its first backward a rank has run its warm-up and one more forward; as many backwards
  // follow its last forward.
  const auto takes = [&](Pass pass) {
    return times_.slowness(Rank{known.stage}) *
           double(times_.of(pass, known.begin, known.end).picoseconds);
  };
  const double forward = takes(Pass::forward), backward = takes(Pass::backward);
  const double between = std::max(0.0, microbatches_ - 1 - std::min(microbatches_, double(later)));
  const double turn = std::max((microbatches_ - 1) * backward + between * forward,
                               (microbatches_ - 1) * forward + between * backward);
  return path + std::max(turn, link) - slack_;
}

}  // namespace penstock
