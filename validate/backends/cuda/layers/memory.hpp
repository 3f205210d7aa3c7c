#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

/// Gives out parts of a block of memory, one after the other, each aligned as the GPU's allocations
/// are. Without a block it counts how large one must be.
class Carver {
 public:
  explicit Carver(std::byte* block = nullptr) : block_(block) {}

  template <class Number>
  Number* take(std::uint64_t count) {
    constexpr std::uint64_t alignment = 256;
    const std::uint64_t begin = bytes_;
    bytes_ += (count * sizeof(Number) + alignment - 1) / alignment * alignment;
    return block_ == nullptr ? nullptr : reinterpret_cast<Number*>(block_ + begin);
  }
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::byte* block_;
  std::uint64_t bytes_ = 0;
};

/// The bytes of a value that carves itself out.
template <class Value, class Shape>
std::uint64_t carved_bytes(const Shape& shape) {
  Carver carver;
  [[maybe_unused]] const Value value(shape, carver);
  return carver.bytes();
}
/// The value, in a block of as many.
template <class Value, class Shape>
Value carved(const Shape& shape, std::byte* block) {
  Carver carver(block);
  return Value(shape, carver);
}

/// What goes through a layer, and back.
template <class Number>
struct LayerEnds {
  const Number* in;
  Number* out;
  const Number* out_gradient;
  Number* in_gradient;
};

}  // namespace penstock
