#include "sim/engines/arrival_order.hpp"

#include <algorithm>
#include <tuple>

namespace penstock {
namespace {

constexpr std::uint64_t second_part = std::uint64_t{1} << 32;
constexpr std::uint64_t one_cell = std::uint64_t{1} << 33;

auto key_of(const Plan& plan, const WorkClass& work) {
  const Link& link = plan.link(work.resource);
  return std::tuple(is_tail(work.pass), work.stage, work.pass, link.from, link.to);
}

}  // namespace

void ArrivalOrder::sort(std::vector<TaskId>& ready) {
  if (ready.size() < 2) return;
  if (place_of_class_.empty()) order_classes();
  arrivals_.clear();
  for (const TaskId transfer : ready) arrivals_.push_back(arrival_of(transfer));
  count_cells();
  // Numbers of tasks decide within one link alone: between links they are no more than the way a
  // plan was made.
  std::sort(arrivals_.begin(), arrivals_.end(), [](const Arrival& a, const Arrival& b) {
    return a.place != b.place ? a.place < b.place : a.transfer < b.transfer;
  });
  for (std::size_t i = 0; i < ready.size(); ++i) ready[i] = arrivals_[i].transfer;
}

/// Classes of equal keys share a place.
void ArrivalOrder::order_classes() {
  std::vector<std::uint32_t> order;
  for (std::uint32_t c = 0; c < plan_.classes.size(); ++c) {
    if (plan_.is_link(plan_.classes[c].resource)) order.push_back(c);
  }
  const auto key = [&](std::uint32_t c) { return key_of(plan_, plan_.classes[c]); };
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  place_of_class_.resize(plan_.classes.size());
  for (std::size_t i = 1; i < order.size(); ++i) {
    const bool shares = key(order[i - 1]) == key(order[i]);
    place_of_class_[order[i]] = place_of_class_[order[i - 1]] + (shares ? 0 : 1);
  }
}

ArrivalOrder::Arrival ArrivalOrder::arrival_of(TaskId transfer) const {
  const TaskId input = plan_.input[transfer];
  const std::uint32_t work = plan_.work[transfer];
  const std::uint64_t place = place_of_class_[work];
  if (plan_.classes[work].pass == Pass::reduce_early) return early_reduction(transfer, place);
  if (input >= plan_.tasks()) {
    return {plan_.classes[work].resource, transfer, input, transfer, place};
  }
  const WorkClass& maker = plan_.class_of(input);
  if (!maker.follows_partner) return {maker.resource, input, input, transfer, place};
  return {maker.resource, input, input - 1, transfer, second_part + place};
}

/// It belongs to the action behind its maker, so it follows what the maker itself sends.
ArrivalOrder::Arrival ArrivalOrder::early_reduction(TaskId transfer, std::uint64_t place) const {
  TaskId maker = transfer;
  plan_.for_each_input(transfer, [&](TaskId input) {
    if (!plan_.is_link(plan_.class_of(input).resource)) maker = input;
  });
  return {plan_.class_of(maker).resource, maker, transfer, transfer, place};
}

/// Adds to places how many cells of the same rank made something before.
void ArrivalOrder::count_cells() {
  std::sort(arrivals_.begin(), arrivals_.end(), [](const Arrival& a, const Arrival& b) {
    return std::tie(a.made_on, a.maker, a.transfer) < std::tie(b.made_on, b.maker, b.transfer);
  });
  std::uint64_t before = 0;
  for (std::size_t i = 1; i < arrivals_.size(); ++i) {
    if (arrivals_[i - 1].made_on != arrivals_[i].made_on) {
      before = 0;
    } else if (arrivals_[i - 1].cell != arrivals_[i].cell) {
      before += one_cell;
    }
    arrivals_[i].place += before;
  }
}

}  // namespace penstock
