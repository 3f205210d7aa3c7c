#include "experiments/starter/layout_search.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "experiments/planner/space/degrees.hpp"

namespace penstock {
namespace {

/// An order with its chunks per rank.
struct StudiedOrder {
  const char* schedule;
  std::uint32_t chunks;
};

/// Number of combinations of degrees whose other settings are varied.
constexpr std::size_t most_varied = 8;

/// Tries a layout with more and more recomputation, each step slower, until it fits. Stops if the
/// weights alone do not fit.
std::optional<std::size_t> lightest_that_fits(LayoutChoice choice, Trials& trials) {
  for (const char* mode : {"none", "selective", "full"}) {
    choice.recompute = mode;
    const auto tried = trials.simulate(choice);
    if (!tried || !trials[*tried].weights_fit) return std::nullopt;
    if (trials[*tried].fits()) return tried;
  }
  return std::nullopt;
}

/// Replaces the present layout if the other one is faster.
void take_faster(std::optional<std::size_t> other, const Trials& trials, std::size_t& present) {
  if (other && trials[*other].samples_per_s > trials[present].samples_per_s) present = *other;
}

void vary_microbatch(const TrainingTask& task, Trials& trials, std::size_t& present) {
  if (task.microbatch_given) return;
  for (const std::uint32_t times : {2U, 4U}) {
    LayoutChoice choice = trials[present].layout;
    choice.microbatch = times * task.microbatch;
    if (share_batch(task, choice)) take_faster(lightest_that_fits(choice, trials), trials, present);
  }
}

/// Orders that are tried instead of 1F1B, by bubble; scenarios refuse those that do not fit the
/// microbatches.
constexpr std::array other_orders{StudiedOrder{"interleaved-1f1b", 2},
                                  StudiedOrder{"interleaved-1f1b", 4},
                                  StudiedOrder{"interleaved-1f1b", 8},
                                  StudiedOrder{"zb-h1", 1},
                                  StudiedOrder{"zb-v", 2},
                                  StudiedOrder{"interleaved-zb", 2},
                                  StudiedOrder{"interleaved-zb", 4},
                                  StudiedOrder{"interleaved-zb", 8}};

/// Tries other orders in place of the present one. Twice as many chunks are tried only if half of
/// them were faster than the present order.
void vary_schedule(const TrainingTask& task, Trials& trials, std::size_t& present) {
  const LayoutChoice plain = trials[present].layout;
  if (plain.pipeline == 1) return;
  for (const auto& [schedule, chunks] : other_orders) {
    const LayoutChoice& best = trials[present].layout;
    const bool few_helped = best.schedule == schedule && best.chunks * 2 == chunks;
    if (chunks > 2 && !few_helped) continue;
    if (!cuts_evenly(task.layers, std::uint64_t{plain.pipeline} * chunks)) continue;
    LayoutChoice other = plain;
    other.schedule = schedule;
    other.chunks = chunks;
    take_faster(lightest_that_fits(other, trials), trials, present);
  }
}

void leave_out_zero(Trials& trials, std::size_t& present) {
  LayoutChoice choice = trials[present].layout;
  if (choice.zero == 0) return;
  choice.zero = 0;
  const auto tried = trials.simulate(choice);
  if (tried && trials[*tried].fits()) take_faster(tried, trials, present);
}

/// Varies the other settings of a layout one at a time, and keeps improvements.
void vary(const TrainingTask& task, Trials& trials, std::size_t present) {
  vary_microbatch(task, trials, present);
  vary_schedule(task, trials, present);
  leave_out_zero(trials, present);
}

/// Tries each layout with full recomputation, which needs the least memory.
void find_least_memory(const std::vector<LayoutChoice>& degrees, Trials& trials) {
  for (LayoutChoice choice : degrees) {
    choice.recompute = "full";
    trials.simulate(choice);
  }
}

}  // namespace

void search_layouts(const TrainingTask& task, Trials& trials) {
  const std::vector<LayoutChoice> degrees = possible_degrees(task);
  std::vector<std::size_t> fitting;
  for (const LayoutChoice& choice : degrees) {
    if (const auto tried = lightest_that_fits(choice, trials)) fitting.push_back(*tried);
  }
  if (fitting.empty()) return find_least_memory(degrees, trials);
  std::stable_sort(fitting.begin(), fitting.end(), [&](std::size_t a, std::size_t b) {
    return trials[a].samples_per_s > trials[b].samples_per_s;
  });
  fitting.resize(std::min(fitting.size(), most_varied));
  for (const std::size_t tried : fitting) vary(task, trials, tried);
}

}  // namespace penstock
