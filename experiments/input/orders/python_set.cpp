#include "experiments/input/orders/python_set.hpp"

namespace penstock {

PythonSet::Places PythonSet::places_of(std::uint32_t value) const {
  constexpr std::size_t neighbours = 9;  // looked at before the next jump, within the table
  const std::size_t mask = slots_.size() - 1;
  std::size_t rest = value;
  std::size_t place = value & mask;
  std::optional<std::size_t> erased;
  while (true) {
    const std::size_t last = place + neighbours <= mask ? place + neighbours : place;
    for (std::size_t at = place; at <= last; ++at) {
      const Slot& slot = slots_[at];
      if (slot.use == Use::unused || (slot.use == Use::used && slot.value == value)) {
        return {at, erased};
      }
      if (slot.use == Use::erased) erased = at;
    }
    rest >>= 5;
    place = (place * 5 + 1 + rest) & mask;
  }
}

bool PythonSet::contains(std::uint32_t value) const {
  return slots_[places_of(value).at].use == Use::used;
}

void PythonSet::insert(std::uint32_t value) {
  const Places places = places_of(value);
  if (slots_[places.at].use == Use::used) return;
  slots_[places.erased.value_or(places.at)] = {Use::used, value};
  if (places.erased) return;
  ++filled_;
  if (filled_ * 5 >= (slots_.size() - 1) * 3) grow();
}

void PythonSet::erase(std::uint32_t value) {
  Slot& slot = slots_[places_of(value).at];
  if (slot.use == Use::used) slot.use = Use::erased;
}

std::vector<std::uint32_t> PythonSet::values() const {
  std::vector<std::uint32_t> all;
  for (const Slot& slot : slots_) {
    if (slot.use == Use::used) all.push_back(slot.value);
  }
  return all;
}

void PythonSet::grow() {
  const std::vector<std::uint32_t> all = values();
  std::size_t size = 8;
  while (size <= all.size() * 4) size *= 2;
  slots_.assign(size, {});
  filled_ = all.size();
  for (const std::uint32_t value : all) slots_[places_of(value).at] = {Use::used, value};
}

}  // namespace penstock
