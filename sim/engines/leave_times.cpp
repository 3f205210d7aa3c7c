#include "sim/engines/leave_times.hpp"

namespace penstock {
namespace {

constexpr std::uint32_t nowhere = UINT32_MAX;

}  // namespace

void LeaveTimes::set(std::uint32_t link, Time time) {
  if (link >= place_.size()) place_.resize(link + 1, nowhere);
  if (place_[link] == nowhere) {
    place_[link] = static_cast<std::uint32_t>(heap_.size());
    heap_.push_back({time, link});
  }
  heap_[place_[link]].time = time;
  sift_up(place_[link]);
  sift_down(place_[link]);
}

LeaveTimes::Leave LeaveTimes::pop() {
  const Leave first = heap_.front();
  place_[first.link] = nowhere;
  const Leave last = heap_.back();
  heap_.pop_back();
  if (!heap_.empty()) {
    put(0, last);
    sift_down(0);
  }
  return first;
}

void LeaveTimes::put(std::uint32_t place, const Leave& leave) {
  heap_[place] = leave;
  place_[leave.link] = place;
}

void LeaveTimes::sift_up(std::uint32_t place) {
  const Leave leave = heap_[place];
  while (place > 0 && leave < heap_[(place - 1) / 2]) {
    put(place, heap_[(place - 1) / 2]);
    place = (place - 1) / 2;
  }
  put(place, leave);
}

void LeaveTimes::sift_down(std::uint32_t place) {
  const Leave leave = heap_[place];
  const auto size = static_cast<std::uint32_t>(heap_.size());
  for (std::uint32_t child = 2 * place + 1; child < size; child = 2 * place + 1) {
    if (child + 1 < size && heap_[child + 1] < heap_[child]) ++child;
    if (!(heap_[child] < leave)) break;
    put(place, heap_[child]);
    place = child;
  }
  put(place, leave);
}

}  // namespace penstock
