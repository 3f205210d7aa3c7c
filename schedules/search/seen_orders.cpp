#include "schedules/search/seen_orders.hpp"

#include <algorithm>
#include <functional>

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
    times_.push_back(order.held[rank]);
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
  const auto worse = std::remove_if(kind.begin(), kind.end(),
                                    [&](const auto& seen) { return none_larger(times_, seen); });
  count_ -= static_cast<std::size_t>(kind.end() - worse);
  kind.erase(worse, kind.end());
  if (kind.size() < most_of_one_kind && count_ < most_seen) {
    kind.push_back(times_);
    ++count_;
  }
  return false;
}

}  // namespace penstock
