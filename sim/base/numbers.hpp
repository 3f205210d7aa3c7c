#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace penstock {

/// A device of the pipeline, 0-based.
enum class Rank : std::uint32_t {};
/// A stage of the model in a schedule's numbering; with several chunks per rank there are more
/// stages than ranks.
enum class Stage : std::uint32_t {};
/// A microbatch, 0-based; under sequence slicing, a slice of one (microbatch * slices + slice).
enum class Microbatch : std::uint32_t {};
/// A layer of the model graph, in the order it was added.
enum class LayerIndex : std::uint32_t {};

template <class Number>
concept NumberType =
    std::is_enum_v<Number> && std::same_as<std::underlying_type_t<Number>, std::uint32_t>;

/// The plain value, for indexing.
template <NumberType Number>
constexpr std::uint32_t index(Number number) {
  return static_cast<std::uint32_t>(number);
}

/// Ends of links other than ranks: the host memory of the rank at the other end, and that rank's
/// copies in the other data replicas.
constexpr Rank host_memory{UINT32_MAX};
constexpr Rank data_replicas{UINT32_MAX - 1};
/// Whether an end of a link is a rank of the pipeline.
constexpr bool is_rank(Rank end) { return end < data_replicas; }

/// The range first, first + 1, … of one number type, for range-based loops.
template <NumberType Number>
class Numbers {
 public:
  class Iterator {
   public:
    constexpr explicit Iterator(std::uint32_t value) : value_(value) {}
    constexpr Number operator*() const { return Number{value_}; }
    constexpr Iterator& operator++() {
      ++value_;
      return *this;
    }
    constexpr bool operator==(const Iterator&) const = default;

   private:
    std::uint32_t value_;
  };

  constexpr explicit Numbers(std::uint32_t count) : end_(count) {}
  constexpr Numbers(std::uint32_t first, std::uint32_t end) : first_(first), end_(end) {}
  constexpr Iterator begin() const { return Iterator{first_}; }
  constexpr Iterator end() const { return Iterator{end_}; }
  constexpr std::uint32_t size() const { return end_ - first_; }

 private:
  std::uint32_t first_ = 0;
  std::uint32_t end_;
};

}  // namespace penstock
