#pragma once

#include <cstddef>
#include <vector>

namespace penstock {

/// Asks the system to back fresh memory with large pages, where it can: an array that is written
/// once costs about as much in page faults as in work otherwise. Changes no content.
void prefer_large_pages(void* memory, std::size_t bytes);

/// Allocates room for so many items once, in large pages.
template <class Item>
void reserve_large(std::vector<Item>& items, std::size_t count) {
  items.reserve(count);
  prefer_large_pages(items.data(), count * sizeof(Item));
}

/// Sets the number of items; those of a vector that grows come into large pages.
template <class Item>
void resize_large(std::vector<Item>& items, std::size_t count) {
  if (items.capacity() < count) reserve_large(items, count);
  items.resize(count);
}

}  // namespace penstock
