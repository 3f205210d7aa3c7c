#pragma once

#include <cstddef>
#include <cstdint>
#include <random>

namespace penstock::monkey {

/// Random choices that follow from a seed alone.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : engine_(seed) {}
  /// 0 to `end` - 1; 0 of none.
  std::size_t below(std::size_t end) { return end == 0 ? 0 : engine_() % end; }
  int between(int first, int last) {
    return first + static_cast<int>(below(static_cast<std::size_t>(last - first + 1)));
  }
  bool one_in(std::size_t count) { return below(count) == 0; }
  /// An element of what is not empty.
  template <class Container>
  auto& of(Container& all) {
    return *(all.begin() + static_cast<std::ptrdiff_t>(below(all.size())));
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace penstock::monkey
