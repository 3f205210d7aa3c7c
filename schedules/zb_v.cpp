#include <algorithm>
#include <limits>
#include <vector>

#include "schedules/patterns/rules.hpp"
#include "schedules/registry.hpp"

namespace penstock::zb_v_file {
namespace {

/// Builds the row of one rank, which holds stage a on the way down and stage z on the way back.
class Row {
 public:
  Row(std::uint32_t ranks, std::uint32_t rank, std::uint32_t microbatches)
      : ranks_(ranks),
        rank_(rank),
        microbatches_(microbatches),
        a_{Stage{rank}},
        z_{Stage{2 * ranks - 1 - rank}} {}

  std::vector<Action> build() {
    for (std::uint32_t k = 0; k < 2 * (ranks_ - rank_) - 1; ++k) forward(a_);
    for (std::uint32_t k = 0; k < rank_; ++k) forward(z_), forward(a_);
    for (std::uint32_t k = rank_; k < ranks_; ++k) forward(z_), input(z_), weight(z_);
    while (a_.forwards < microbatches_ || z_.forwards < microbatches_) {
      if (a_.forwards < microbatches_) forward(a_);
      input(a_), weight(a_);
      forward(z_), input(z_), weight(z_);
    }
    for (std::uint32_t k = 0; k < rank_; ++k) input(a_), input(z_);
    for (std::uint32_t k = rank_; k < ranks_; ++k) input(a_), weight(a_);
    while (z_.weights < microbatches_) weight(z_);
    while (a_.weights < microbatches_) weight(a_);
    return std::move(order_);
  }

 private:
  /// A stage and the number of microbatches finished per pass.
  struct Progress {
    Stage stage;
    std::uint32_t forwards = 0;
    std::uint32_t inputs = 0;
    std::uint32_t weights = 0;
  };

  void forward(Progress& on) { add(Pass::forward, on.stage, on.forwards++); }
  void input(Progress& on) { add(Pass::backward_input, on.stage, on.inputs++); }
  void weight(Progress& on) { add(Pass::backward_weight, on.stage, on.weights++); }
  void add(Pass pass, Stage stage, std::uint32_t microbatch) {
    order_.emplace_back(pass, stage, Microbatch{microbatch});
  }

  std::uint32_t ranks_;
  std::uint32_t rank_;
  std::uint32_t microbatches_;
  Progress a_;
  Progress z_;
  std::vector<Action> order_;
};

/// The closed form needs 2p-1 microbatches. With fewer, the order is made for 2p-1 and the surplus
/// cells are dropped (PyTorch's ScheduleZBVZeroBubble).
Schedule make(const Placement& placement, const ScheduleOptions& options) {
  require_vee("zb-v", placement);
  const std::uint32_t ranks = placement.ranks();
  const std::uint32_t microbatches = std::max(options.microbatch_count, 2 * ranks - 1);
  Schedule schedule(ranks);
  for (Rank rank : Numbers<Rank>(ranks)) {
    auto& order = schedule.on(rank);
    order = Row(ranks, index(rank), microbatches).build();
    std::erase_if(order, [&](const Action& action) {
      return index(action.microbatch) >= options.microbatch_count;
    });
  }
  return schedule;
}

/// No gaps inside a rank, but each starts one slot after the previous one: p-1 idle slots, 6m busy
/// ones.
double bubble(std::uint32_t ranks, std::uint32_t /*chunks*/, std::uint32_t microbatches) {
  if (microbatches < 2 * ranks - 1) return std::numeric_limits<double>::quiet_NaN();
  return share_idle(ranks - 1.0, 6.0 * microbatches);
}

}  // namespace

constinit extern const ScheduleEntry zb_v_entry{
    .name = "zb-v",
    .summary = "zero bubble in the memory of 1f1b: two chunks per rank in a V",
    .bubble = "p-1 of makespan, 0 of the span at f = i = w = 1, for m >= 2p-1",
    .peak = "at most min(2m, 2p)",
    .default_chunks = 2,
    .place = vee_of_two,
    .make = make,
    .bubble_of_makespan = bubble,
};

}  // namespace penstock::zb_v_file
