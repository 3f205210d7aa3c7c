#pragma once

#include <cstddef>
#include <vector>

namespace penstock {

/// A queue in one array. Taken items are dropped in batches, so it rarely allocates.
template <class Item>
class Fifo {
 public:
  bool empty() const { return first_ == items_.size(); }
  const Item& front() const { return items_[first_]; }
  const Item& back() const { return items_.back(); }
  void push(const Item& item) { items_.push_back(item); }
  void pop() {
    ++first_;
    if (empty()) {
      items_.clear();
      first_ = 0;
    } else if (first_ >= most_dropped && 2 * first_ >= items_.size()) {
      items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
  }

 private:
  static constexpr std::size_t most_dropped = 256;

  std::vector<Item> items_;
  std::size_t first_ = 0;
};

}  // namespace penstock
