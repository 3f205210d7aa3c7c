#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace penstock {

/// A set of small numbers that lists them as CPython's `set` does: by place in its hash table. The
/// lowerings of PyTorch before 2.15 go through such a set, so their cells follow that order.
class PythonSet {
 public:
  void insert(std::uint32_t value);
  void erase(std::uint32_t value);
  bool contains(std::uint32_t value) const;
  std::vector<std::uint32_t> values() const;

 private:
  enum class Use : std::uint8_t { unused, erased, used };
  struct Slot {
    Use use = Use::unused;
    std::uint32_t value = 0;
  };

  struct Places {
    std::size_t at;                     // holds the value, or is the first unused one on its way
    std::optional<std::size_t> erased;  // the last erased one on its way: taken first
  };
  Places places_of(std::uint32_t value) const;
  void grow();

  std::vector<Slot> slots_ = std::vector<Slot>(8);
  std::size_t filled_ = 0;  // slots used or erased
};

}  // namespace penstock
