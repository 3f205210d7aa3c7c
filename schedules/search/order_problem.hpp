#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace penstock {

/// Times of a search in picoseconds. Sums of all durations stay far below `never`.
using SearchTime = std::int64_t;
constexpr SearchTime never = std::numeric_limits<SearchTime>::max() / 4;

/// The passes that a search orders, as indices: F, I and W. A backward that is not split has its B
/// in place of I, and a W that takes no time and no memory.
struct SearchPass {
  static constexpr std::uint32_t forward = 0;
  static constexpr std::uint32_t input = 1;
  static constexpr std::uint32_t weight = 2;
  static constexpr std::uint32_t count = 3;
};

/// How one activation goes through its backward, as flags: recomputed, and as one B instead of I
/// and W.
using ActivationForm = std::uint8_t;
constexpr ActivationForm recomputed_form = 1, whole_form = 2;

/// What follows the last pass of a stage: its gradients are reduced on a link of the rank, one
/// stage after the other, then its weights are updated.
struct StageTail {
  SearchTime whole = 0;  // from the end of the pass until all has ended, on a free link
  SearchTime link = 0;   // how long the reduction takes on the link, some of it beside the pass
  SearchTime rest = 0;   // from the end of the reduction

  bool operator==(const StageTail&) const = default;
  /// When the reduction ends; `free` is the link before.
  SearchTime reduced(SearchTime end, SearchTime free) const {
    return std::max(end + whole - rest, free + link);
  }
};

/// Times and bytes of the passes of a stage in one form. Bytes are those of activations; `change`
/// is what a pass leaves behind on its rank, `during` what it needs while it runs.
struct FormCosts {
  std::array<SearchTime, SearchPass::count> duration{};
  std::array<std::int64_t, SearchPass::count> during{};
  std::array<std::int64_t, SearchPass::count> change{};
  StageTail tail = {};  // where it is the form of the stage's last activation
};

/// A stage as a search sees it. Without flags an activation has the costs of the stage itself; the
/// forms that a search may choose besides have their own.
struct OrderStage {
  std::uint32_t rank = 0;
  std::array<SearchTime, SearchPass::count> duration{};
  SearchTime to_after = 0;   // transfer of the output; 0 on the same rank
  SearchTime to_before = 0;  // transfer of the gradient
  std::array<std::int64_t, SearchPass::count> during{};
  std::array<std::int64_t, SearchPass::count> change{};
  StageTail tail = {};
  bool splits = true;
  std::optional<FormCosts> recomputed = {};        // nothing: no choice
  std::optional<FormCosts> whole = {};             // the same
  std::optional<FormCosts> whole_recomputed = {};  // where both may be chosen

  /// Flags without costs of their own count as not set.
  FormCosts costs(ActivationForm form) const;
};

/// One chain of stages with equal microbatches: which rank runs which stage, for how long, and how
/// much memory each rank has for activations.
///
/// Microbatches are interchangeable, so an order that runs each pass of a stage in ascending
/// microbatches is as short as any other; a search decides on nothing else. So it does where the
/// engine knows microbatches that differ, and may miss a shorter order.
struct OrderProblem {
  std::uint32_t microbatches = 0;
  std::vector<OrderStage> stages;      // in the order of the chain
  std::vector<std::int64_t> capacity;  // by rank, in bytes
  std::vector<SearchTime> updates{};   // by rank, behind its last pass; empty: none

  std::uint32_t ranks() const { return static_cast<std::uint32_t>(capacity.size()); }
  std::uint32_t stage_count() const { return static_cast<std::uint32_t>(stages.size()); }
  SearchTime update(std::uint32_t rank) const { return updates.empty() ? 0 : updates[rank]; }
  /// From the end of a stage's last pass to the end of what follows it on its rank.
  SearchTime ending(const OrderStage& stage) const {
    return std::max(stage.tail.whole, update(stage.rank));
  }
  /// All passes of all microbatches.
  std::size_t cells() const { return stages.size() * SearchPass::count * microbatches; }
};

/// A pass of a stage: SearchPass::count * stage + pass. Its k-th run is that of microbatch k.
using CellClass = std::uint32_t;
constexpr CellClass cell_class(std::uint32_t stage, std::uint32_t pass) {
  return SearchPass::count * stage + pass;
}

constexpr CellClass no_class = UINT32_MAX;

/// Which way time runs: backwards, an order ends with its F's, each pass comes before what it
/// reads, and the last microbatch is the first.
enum class TimeDirection : std::uint8_t { forwards, backwards };

/// What a pass reads and who reads it, of the same microbatch.
struct PassLinks {
  CellClass source = no_class;
  SearchTime transfer = 0;  // from the end of the source
  CellClass reader = no_class;
};

/// By class.
std::vector<PassLinks> pass_links(const OrderProblem& problem,
                                  TimeDirection direction = TimeDirection::forwards);

/// By rank: its passes in order.
using RankSequences = std::vector<std::vector<CellClass>>;

/// The forms of an order's activations, by stage * microbatches + microbatch; empty: no flags.
using ActivationForms = std::vector<ActivationForm>;

/// An order as a search finds it.
struct SearchedOrder {
  RankSequences sequences;
  ActivationForms forms = {};
};

/// Writes an order pass by pass; a B counts as I in its form, and its W, which takes no time, is
/// added where it comes in ascending microbatches.
class OrderWriter {
 public:
  explicit OrderWriter(const OrderProblem& problem);

  void add(std::uint32_t stage, std::uint32_t pass, ActivationForm form = 0);
  SearchedOrder order;

 private:
  const OrderProblem& problem_;
  std::vector<std::uint32_t> done_;  // by class
};

/// By rank: its stages in the order of the chain.
std::vector<std::vector<std::uint32_t>> stages_by_rank(const OrderProblem& problem);

/// By rank: the time of all its passes.
std::vector<SearchTime> work_by_rank(const OrderProblem& problem);
/// The same with the rank's updates.
std::vector<SearchTime> work_and_updates(const OrderProblem& problem);

/// Whether a rank's sequence stays within its memory, all activations without flags.
bool fits_memory(const OrderProblem& problem, std::uint32_t rank,
                 std::span<const CellClass> sequence);

/// A makespan that no order of the problem is below: the longest of
/// - the path of one microbatch,
/// - for each rank, its work after the first input can arrive. Before its first I it runs at most
///   the F's that fit its memory, and after its last I at most the W's that fit, while the gradient
///   still has to reach the first stage,
/// - for each rank, the memory-time that its activations need over its capacity, of which it cannot
///   use all while it fills up and empties again.
/// Each ends with the updates of its last rank, and the tail of its last stage.
SearchTime shortest_possible(const OrderProblem& problem);

/// By cell class: the least time from the end of that pass of a microbatch until everything that
/// depends on it has ended.
std::vector<SearchTime> shortest_tails(const OrderProblem& problem);

}  // namespace penstock
