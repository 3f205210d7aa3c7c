#include "schedules/patterns/building_block.hpp"

#include <algorithm>
#include <deque>
#include <stdexcept>
#include <vector>

namespace penstock {
namespace {

constexpr std::uint32_t period = 6;

struct Slotted {
  std::uint32_t slot;
  Action action;
};

/// Runs all ranks slot by slot; each pass takes one slot.
class Growth {
 public:
  Growth(const BuildingBlock& block, std::uint32_t ranks, std::uint32_t microbatches)
      : block_(block),
        stages_(2 * ranks),
        microbatches_(microbatches),
        done_(std::size_t{2} * stages_ * microbatches),
        rows_(ranks),
        schedule_(ranks) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) plan_row(rank);
  }

  Schedule run() {
    std::size_t left = std::size_t{3} * stages_ * microbatches_;
    for (std::uint32_t slot = 1; left > 0; ++slot) {
      std::vector<Action> ran;
      for (std::uint32_t rank = 0; rank < rows_.size(); ++rank) step(Rank{rank}, ran);
      // Results of this slot are ready from the next slot on.
      for (const Action& action : ran) mark(action);
      if (ran.empty()) throw std::logic_error("building block does not end");
      left -= ran.size();
    }
    return std::move(schedule_);
  }

 private:
  struct Row {
    std::deque<Action> planned;  // F and I in the order of the block
    std::deque<Action> weights;  // pending W
    std::uint32_t held = 0;
  };

  void plan_row(std::uint32_t rank) {
    const auto ranks = static_cast<std::uint32_t>(rows_.size());
    const BlockOffsets offsets = block_.offsets(ranks, rank);
    const Stage first{rank}, second{2 * ranks - 1 - rank};
    std::vector<Slotted> all;
    for (Microbatch m : Numbers<Microbatch>(microbatches_)) {
      const std::uint32_t start = period * index(m);
      all.push_back({start + offsets[0], {Pass::forward, first, m}});
      all.push_back({start + offsets[1], {Pass::forward, second, m}});
      all.push_back({start + offsets[2], {Pass::backward_input, second, m}});
      all.push_back({start + offsets[3], {Pass::backward_input, first, m}});
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Slotted& a, const Slotted& b) { return a.slot < b.slot; });
    for (const Slotted& entry : all) rows_[rank].planned.push_back(entry.action);
  }

  void step(Rank rank, std::vector<Action>& ran) {
    Row& row = rows_[index(rank)];
    const std::size_t reach = std::min<std::size_t>(block_.look_ahead, row.planned.size());
    for (std::size_t k = 0; k < reach; ++k) {
      const Action action = row.planned[k];
      const bool is_forward = action.pass == Pass::forward;
      if (!ready(action) || (is_forward && row.held >= block_.cap)) continue;
      row.planned.erase(row.planned.begin() + static_cast<std::ptrdiff_t>(k));
      if (is_forward) {
        ++row.held;
      } else {
        row.weights.emplace_back(Pass::backward_weight, action.stage, action.microbatch);
      }
      return add(rank, action, ran);
    }
    if (row.weights.empty()) return;
    const Action weight = row.weights.front();
    row.weights.pop_front();
    --row.held;
    add(rank, weight, ran);
  }

  void add(Rank rank, const Action& action, std::vector<Action>& ran) {
    schedule_.on(rank).push_back(action);
    ran.push_back(action);
  }

  std::size_t at(Pass pass, std::uint32_t stage, Microbatch microbatch) const {
    const std::size_t row = stage + (pass == Pass::forward ? 0 : stages_);
    return row * microbatches_ + index(microbatch);
  }
  void mark(const Action& action) {
    if (action.pass == Pass::backward_weight) return;
    done_[at(action.pass, index(action.stage), action.microbatch)] = true;
  }
  bool ready(const Action& action) const {
    const std::uint32_t stage = index(action.stage);
    const Microbatch m = action.microbatch;
    if (action.pass == Pass::forward) return stage == 0 || done_[at(action.pass, stage - 1, m)];
    return done_[at(Pass::forward, stage, m)] &&
           (stage + 1 == stages_ || done_[at(action.pass, stage + 1, m)]);
  }

  BuildingBlock block_;
  std::uint32_t stages_;
  std::uint32_t microbatches_;
  std::vector<bool> done_;
  std::vector<Row> rows_;
  Schedule schedule_;
};

}  // namespace

Schedule grow(const BuildingBlock& block, std::uint32_t ranks, const ScheduleOptions& options) {
  return Growth(block, ranks, options.microbatch_count).run();
}

}  // namespace penstock
