#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "schedules/patterns/rules.hpp"
#include "schedules/registry.hpp"
#include "sim/base/error.hpp"

namespace penstock::hanayo_file {
namespace {

constexpr std::array<ScheduleOption, 1> takes{
    {{"waves",
      "how often the stages snake down and up the ranks, default 1; 2 × waves stages per rank"}}};

/// Hanayo's wave pipeline. The paper (Liu et al., SC 2023) gives the placement (W waves, 2W stages
/// per rank in a snake) and draws orders, but publishes no generator. The rule here: a free rank
/// runs the ready action that is furthest along: backwards before forwards, the lowest stage first
/// among backwards, the deepest first among forwards. The first stage admits a microbatch only
/// while fewer than 2p-1 are between first forward and last backward, the limit of eager-1f1b.
/// Times assume F = 1 and B = 2.
class Waves {
 public:
  Waves(const Placement& placement, std::uint32_t microbatches)
      : placement_(placement),
        stages_(placement.stage_count()),
        microbatches_(microbatches),
        forward_end_(std::size_t{stages_} * microbatches, never),
        backward_end_(std::size_t{stages_} * microbatches, never),
        progress_(stages_),
        free_at_(placement.ranks()),
        schedule_(placement.ranks()) {
    for (Rank rank : Numbers<Rank>(placement.ranks()))
      stages_of_.push_back(placement.stages_of(rank));
  }

  Schedule run() {
    std::uint64_t left = std::uint64_t{2} * stages_ * microbatches_;
    for (now_ = 0; left > 0; ++now_) {
      for (Rank rank : Numbers<Rank>(placement_.ranks())) {
        if (free_at_[index(rank)] <= now_ && start_next(rank)) --left;
      }
    }
    return std::move(schedule_);
  }

 private:
  static constexpr std::uint32_t never = std::numeric_limits<std::uint32_t>::max();
  struct Progress {
    std::uint32_t forwards = 0;
    std::uint32_t backwards = 0;
  };

  std::uint32_t& end_of(bool forward, std::uint32_t stage, std::uint32_t microbatch) {
    return (forward ? forward_end_
                    : backward_end_)[std::size_t{stage} * microbatches_ + microbatch];
  }
  bool there(bool forward, std::uint32_t stage, std::uint32_t microbatch) {
    return end_of(forward, stage, microbatch) <= now_;
  }
  bool backward_ready(std::uint32_t s) {
    const std::uint32_t m = progress_[s].backwards;
    return m < microbatches_ && there(true, s, m) && (s + 1 == stages_ || there(false, s + 1, m));
  }
  bool forward_ready(std::uint32_t s) {
    const std::uint32_t m = progress_[s].forwards;
    if (m == microbatches_) return false;
    if (s > 0) return there(true, s - 1, m);
    return m - progress_[0].backwards < 2 * placement_.ranks() - 1;
  }

  /// Starts the action that the rule picks for a rank; false when none is ready.
  bool start_next(Rank rank) {
    const auto& stages = stages_of_[index(rank)];
    const auto back =
        std::ranges::find_if(stages, [&](Stage stage) { return backward_ready(index(stage)); });
    if (back != stages.end()) {
      start(rank, Pass::backward, *back, progress_[index(*back)].backwards++);
      return true;
    }
    const auto ahead = std::find_if(stages.rbegin(), stages.rend(),
                                    [&](Stage stage) { return forward_ready(index(stage)); });
    if (ahead == stages.rend()) return false;
    start(rank, Pass::forward, *ahead, progress_[index(*ahead)].forwards++);
    return true;
  }

  void start(Rank rank, Pass pass, Stage stage, std::uint32_t microbatch) {
    const bool forward = pass == Pass::forward;
    const std::uint32_t end = now_ + (forward ? 1 : 2);
    end_of(forward, index(stage), microbatch) = free_at_[index(rank)] = end;
    schedule_.on(rank).emplace_back(pass, stage, Microbatch{microbatch});
  }

  const Placement& placement_;
  std::uint32_t stages_;
  std::uint32_t microbatches_;
  std::uint32_t now_ = 0;
  std::vector<std::uint32_t> forward_end_;
  std::vector<std::uint32_t> backward_end_;
  std::vector<Progress> progress_;
  std::vector<std::uint32_t> free_at_;
  std::vector<std::vector<Stage>> stages_of_;
  Schedule schedule_;
};

std::uint32_t chunks_for(const ScheduleOptions& options) { return 2 * options.number("waves", 1); }

Placement place(std::uint32_t ranks, std::uint32_t chunks) {
  if (chunks % 2 != 0) {
    throw RuleError(fmt::format("needs 2 chunks per rank for each wave, got {}", chunks));
  }
  return Placement::vee(ranks, chunks);
}

Schedule make(const Placement& placement, const ScheduleOptions& options) {
  const std::uint32_t chunks = placement.stage_count() / placement.ranks();
  const std::uint32_t waves = options.number("waves", std::max(1U, chunks / 2));
  require_vee("hanayo", placement, 2 * waves);
  return Waves(placement, options.microbatch_count).run();
}

}  // namespace

constinit extern const ScheduleEntry hanayo_entry{
    .name = "hanayo",
    .summary = "waves: stages snake down and up the ranks, so that the pipeline fills sooner",
    .needs = "2 × waves chunks per rank",
    .bubble = "no closed form; the paper draws about (2p-2)/(3pW+p-1) of makespan at m = p, b = 2f",
    .peak = "at most v min(m, 2p-1)",
    .default_chunks = 2,
    .chunks_for = chunks_for,
    .options = takes,
    .place = place,
    .make = make,
};

}  // namespace penstock::hanayo_file
