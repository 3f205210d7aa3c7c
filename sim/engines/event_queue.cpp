#include "sim/engines/event_queue.hpp"

namespace penstock {
namespace {

constexpr std::uint32_t nowhere = UINT32_MAX;

/// Ranks at even numbers, links at odd ones.
std::uint32_t number_of(Event event) {
  return 2 * event.id() + (event.kind() == EventKind::leaves ? 1 : 0);
}

}  // namespace

void ResourceEvents::set(Event event) {
  const std::uint32_t number = number_of(event);
  if (number >= place_.size()) place_.resize(std::size_t{number} + 1, nowhere);
  if (place_[number] == nowhere) {
    heap_.push_back(event);
    return sift_up(static_cast<std::uint32_t>(heap_.size()) - 1, event);
  }
  const std::uint32_t place = place_[number];
  if (event < heap_[place]) return sift_up(place, event);
  sift_down(place, event);
}

void ResourceEvents::pop() {
  const Event last = heap_.back();
  place_[number_of(heap_.front())] = nowhere;
  heap_.pop_back();
  if (!heap_.empty()) sift_down(0, last);
}

void ResourceEvents::put(std::uint32_t place, Event event) {
  heap_[place] = event;
  place_[number_of(event)] = place;
}

/// Puts an event at a place or, past later ones, further up.
void ResourceEvents::sift_up(std::uint32_t place, Event event) {
  for (; place > 0 && event < heap_[(place - 1) / 2]; place = (place - 1) / 2) {
    put(place, heap_[(place - 1) / 2]);
  }
  put(place, event);
}

/// Puts an event at a place or, past earlier ones, further down.
void ResourceEvents::sift_down(std::uint32_t place, Event event) {
  const auto size = static_cast<std::uint32_t>(heap_.size());
  for (std::uint32_t child = 2 * place + 1; child < size; child = 2 * place + 1) {
    if (child + 1 < size && heap_[child + 1] < heap_[child]) ++child;
    if (!(heap_[child] < event)) break;
    put(place, heap_[child]);
    place = child;
  }
  put(place, event);
}

}  // namespace penstock
