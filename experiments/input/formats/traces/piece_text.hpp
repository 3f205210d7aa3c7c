#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "experiments/input/files/output_file.hpp"
#include "sim/base/time.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// Text that grows by short pieces and goes to a sink, which must outlive it, in large ones. A
/// large trace is millions of numbers and names: fmt would take most of the time to write it.
class PieceText {
 public:
  explicit PieceText(const TextSink& sink) : sink_(sink) {}

  /// Numbers, text, and times in microseconds: exact, without trailing zeros, as text_us.
  template <class... Pieces>
  void add(const Pieces&... pieces) {
    constexpr std::size_t most = std::size_t{1} << 18;
    (put(pieces), ...);
    if (text_.size() > most) flush();
  }
  void flush() {
    sink_(text_);
    text_.clear();
  }

 private:
  void put(std::string_view piece) { text_ += piece; }
  void put(char piece) { text_ += piece; }
  void put(Time time) {
    constexpr std::int64_t per_us = 1'000'000;
    if (time.picoseconds < 0) return put(std::string_view(text_us(time)));
    put(time.picoseconds / per_us);
    std::int64_t rest = time.picoseconds % per_us;
    if (rest == 0) return;
    char digits[] = {'.', '0', '0', '0', '0', '0', '0'};
    std::size_t length = sizeof digits;
    for (; rest % 10 == 0; rest /= 10) --length;
    for (std::size_t at = length - 1; rest != 0; rest /= 10) {
      digits[at--] = static_cast<char>('0' + rest % 10);
    }
    text_.append(digits, length);
  }
  template <std::integral Number>
  requires(!std::same_as<Number, char>) void put(Number number) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    text_.append(digits, end);
  }

  const TextSink& sink_;
  std::string text_;
};

/// The number of a rank, or the name of any other end of a link, as JSON.
inline std::string end_json(Rank end) {
  return is_rank(end) ? end_text(end) : '"' + end_text(end) + '"';
}

}  // namespace penstock
