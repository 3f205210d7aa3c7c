#include "schedules/policies/choosing/zero_bubble_search.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace penstock {
namespace {

constexpr Time never = max_time;

/// The shortest wait that is filled with a W: any, half a W, or a whole W.
enum class Wait : std::uint8_t { any, half, whole };

/// The settings in which attempts differ.
struct SearchSettings {
  std::uint32_t reach;  // microbatches in flight: this times p-r,
  std::uint32_t less;   // minus this
  Wait wait;
};

constexpr SearchSettings all_settings[] = {
    {1, 0, Wait::any}, {1, 0, Wait::half}, {1, 0, Wait::whole},
    {2, 1, Wait::any}, {2, 1, Wait::half}, {2, 1, Wait::whole},
    {2, 0, Wait::any}, {2, 0, Wait::half}, {2, 0, Wait::whole},
};

Time shortest_wait(Time weight, Wait wait) {
  if (wait == Wait::any) return {};
  return wait == Wait::whole ? weight : Time{weight.picoseconds / 2};
}

/// The most bytes that a rank may hold.
std::uint64_t bytes_of(std::uint32_t activations, const StagePrice& price) {
  const std::uint64_t one = std::max(price.activation_bytes, price.pending_bytes);
  return activations > UINT64_MAX / one ? UINT64_MAX : one * activations;
}

/// The progress of a stage through its microbatches.
struct Row {
  StagePrice price;
  std::uint32_t most_in_flight = 1;
  std::uint64_t most_bytes = 0;
  Time shortest_wait{};

  std::vector<Pass> passes;
  std::vector<Time> activations;  // arrival time of each, as far as known
  std::vector<Time> gradients;
  std::uint32_t forwards = 0;
  std::uint32_t inputs = 0;
  std::uint32_t weights = 0;
  std::uint64_t bytes = 0;
  std::uint64_t peak = 0;
  Time free_at{};
  Time began = never;
  Time wakes = never;  // time of its next decision
};

/// The quality of rows, lower is better: longest busy span of a rank, makespan, bytes held.
using Score = std::tuple<Time, Time, std::uint64_t>;

/// One greedy run through the work.
class Attempt {
 public:
  Attempt(std::span<const StagePrice> prices, std::uint32_t microbatches, std::uint32_t activations,
          const SearchSettings& settings)
      : microbatches_(microbatches), rows_(prices.size()) {
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      const auto behind = static_cast<std::uint32_t>(rows_.size() - r);
      rows_[r].price = prices[r];
      rows_[r].most_in_flight = settings.reach * behind - settings.less;
      rows_[r].most_bytes = bytes_of(activations, prices[r]);
      rows_[r].shortest_wait = shortest_wait(prices[r].weight, settings.wait);
    }
  }

  void run() {
    rows_.front().activations.assign(microbatches_, Time{});
    wake(0, {});
    while (!awake_.empty()) {
      const std::size_t r = rows_.size() - 1 - awake_.begin()->second;
      const Time now = awake_.begin()->first;
      awake_.erase(awake_.begin());
      rows_[r].wakes = never;
      decide(r, now);
    }
  }

  Score score() const {
    Time span{}, end{};
    std::uint64_t peak = 0;
    for (const Row& row : rows_) {
      span = std::max(span, row.free_at - row.began);
      end = std::max(end, row.free_at);
      peak = std::max(peak, row.peak);
    }
    return {span, end, peak};
  }

  std::vector<std::vector<Pass>> take_passes() {
    std::vector<std::vector<Pass>> passes;
    for (Row& row : rows_) passes.push_back(std::move(row.passes));
    return passes;
  }

 private:
  /// The earliest start of the next F, as far as known.
  static Time next_forward(const Row& row) {
    const bool full = row.bytes + row.price.activation_bytes > row.most_bytes;
    const bool far_ahead = row.forwards - row.inputs >= row.most_in_flight;
    if (full || far_ahead || row.forwards >= row.activations.size()) return never;
    return row.activations[row.forwards];
  }
  static Time next_input(const Row& row) {
    return row.inputs < row.gradients.size() ? row.gradients[row.inputs] : never;
  }

  void decide(std::size_t r, Time now) {
    const Row& row = rows_[r];
    const Time forward = next_forward(row), input = next_input(row);
    const Time next = std::min(forward, input);
    if (forward <= now) return start(r, Pass::forward, now);
    if (input <= now) return start(r, Pass::backward_input, now);
    if (row.weights < row.inputs && next - now >= row.shortest_wait) {
      return start(r, Pass::backward_weight, now);
    }
    if (next != never) wake(r, next);
  }

  void start(std::size_t r, Pass pass, Time now) {
    Row& row = rows_[r];
    row.passes.push_back(pass);
    row.began = std::min(row.began, now);
    row.free_at = now;
    if (pass == Pass::forward) {
      finish_forward(r);
    } else if (pass == Pass::backward_input) {
      finish_input(r);
    } else {
      row.free_at += row.price.weight;
      row.bytes -= row.price.pending_bytes;
      ++row.weights;
    }
    wake(r, row.free_at);
  }

  void finish_forward(std::size_t r) {
    Row& row = rows_[r];
    row.free_at += row.price.forward;
    row.bytes += row.price.activation_bytes;
    row.peak = std::max(row.peak, row.bytes);
    ++row.forwards;
    if (r + 1 == rows_.size()) {
      row.gradients.push_back(row.free_at);
    } else {
      hand_over(r + 1, rows_[r + 1].activations, row.free_at + row.price.to_next);
    }
  }

  void finish_input(std::size_t r) {
    Row& row = rows_[r];
    row.free_at += row.price.input;
    row.bytes += row.price.pending_bytes;
    row.bytes -= row.price.activation_bytes;
    row.peak = std::max(row.peak, row.bytes);
    ++row.inputs;
    if (r > 0) hand_over(r - 1, rows_[r - 1].gradients, row.free_at + row.price.to_previous);
  }

  /// Announces an arrival time to a neighbour.
  void hand_over(std::size_t r, std::vector<Time>& arrivals, Time arrival) {
    arrivals.push_back(arrival);
    wake(r, std::max(arrival, rows_[r].free_at));
  }

  void wake(std::size_t r, Time moment) {
    Row& row = rows_[r];
    if (row.weights == microbatches_ || row.wakes <= moment) return;
    awake_.erase({row.wakes, rows_.size() - 1 - r});
    row.wakes = moment;
    awake_.emplace(moment, rows_.size() - 1 - r);
  }

  std::uint32_t microbatches_;
  std::vector<Row> rows_;
  std::set<std::pair<Time, std::size_t>> awake_;  // at equal times the last stage comes first
};

/// Whether an activation holds the buffer (not a transfer, not the whole run).
bool is_of_activation(BufferKind kind) {
  return kind == BufferKind::stash || kind == BufferKind::input_stash ||
         kind == BufferKind::recomputed || kind == BufferKind::pending_weight;
}

/// Memory that actions of a class allocate, minus what they free.
std::int64_t taken_by(const WorkClass& work, const Plan& plan, const Costs& costs) {
  std::int64_t bytes = 0;
  for (const MemoryEffect& effect : work.effects) {
    if (!is_of_activation(plan.buffers[effect.buffer].kind)) continue;
    const auto size = static_cast<std::int64_t>(costs.bytes[effect.buffer]);
    bytes += effect.takes ? size : -size;
  }
  return bytes;
}

/// The field for the time of a pass; null for other passes.
Time* time_of(Pass pass, StagePrice& price) {
  switch (pass) {
    case Pass::forward:
      return &price.forward;
    case Pass::recompute:
    case Pass::backward_input:
      return &price.input;
    case Pass::backward_weight:
      return &price.weight;
    case Pass::send_activation:
      return &price.to_next;
    case Pass::send_gradient:
      return &price.to_previous;
    default:
      return nullptr;
  }
}

}  // namespace

std::vector<std::vector<Pass>> zero_bubble_rows(std::span<const StagePrice> prices,
                                                std::uint32_t microbatches,
                                                std::uint32_t activations) {
  std::vector<std::vector<Pass>> best;
  Score best_score{};
  for (const SearchSettings& settings : all_settings) {
    Attempt attempt(prices, microbatches, activations, settings);
    attempt.run();
    const Score score = attempt.score();
    if (!best.empty() && score >= best_score) continue;
    best_score = score;
    best = attempt.take_passes();
  }
  return best;
}

std::vector<StagePrice> stage_prices(const Plan& plan, const Costs& costs) {
  std::vector<StagePrice> prices(plan.model_stage.size());
  std::vector<std::int64_t> kept(prices.size()), pending(prices.size());
  std::map<std::pair<std::size_t, Pass>, Time> longest_of;
  for (std::size_t c = 0; c < plan.classes.size(); ++c) {
    const WorkClass& work = plan.classes[c];
    const std::size_t stage = index(work.stage);
    if (Time* time = time_of(work.pass, prices[stage])) {
      // Recomputed microbatches have work classes of their own, so a pass may have several.
      Time& longest = longest_of[{stage, work.pass}];
      const Time takes = costs.duration[c] + costs.latency[c];
      if (takes > longest) *time += takes - longest;
      longest = std::max(longest, takes);
    }
    if (work.pass == Pass::forward) {
      kept[stage] = std::max(kept[stage], taken_by(work, plan, costs));
    }
    if (work.pass == Pass::backward_weight) {
      pending[stage] = std::max(pending[stage], -taken_by(work, plan, costs));
    }
  }
  for (std::size_t stage = 0; stage < prices.size(); ++stage) {
    // What R restores lives briefly: no reason to delay forwards.
    if (kept[stage] <= 0) continue;
    prices[stage].activation_bytes = static_cast<std::uint64_t>(kept[stage]);
    prices[stage].pending_bytes =
        static_cast<std::uint64_t>(std::max<std::int64_t>(0, pending[stage]));
  }
  return prices;
}

}  // namespace penstock
