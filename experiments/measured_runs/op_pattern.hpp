#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/numbers.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// What the name of an annotation says of the op that it marks.
struct OpName {
  Pass pass = Pass::forward;
  std::optional<Stage> stage;            // nothing: the stage of its rank
  std::optional<Microbatch> microbatch;  // nothing: they are counted in the order they ran
  friend bool operator==(const OpName&, const OpName&) = default;
};

/// How names of annotations are read: a text in which {stage}, {pass} and {microbatch} stand for
/// what differs, and * for any characters. A pass is a letter of an order or a word for it,
/// whatever its case: F, fwd, forward; B, bwd, backward; I, backward_input; W, backward_weight.
class OpPattern {
 public:
  /// Throws UsageError for a text without {pass}, with something twice, or with other braces.
  explicit OpPattern(std::string_view text);

  const std::string& text() const { return text_; }
  /// What a name says, if it is like this from its first to its last character. Takes time with the
  /// product of both lengths at most.
  std::optional<OpName> match(std::string_view name) const;

 private:
  enum class Part : std::uint8_t { literal, any, stage, pass, microbatch };
  struct Piece {
    Part part;
    std::string literal;
  };

  /// Where a piece that starts at `at` ends; nothing where there is none.
  static std::optional<std::size_t> take(const Piece& piece, std::string_view name, std::size_t at,
                                         OpName& op);

  std::string text_;
  std::vector<Piece> pieces_;
};

/// A pattern that is tried where the user gives none, and where its names come from.
struct KnownPattern {
  std::string_view text;
  std::string_view origin;
};
std::span<const KnownPattern> known_patterns();

}  // namespace penstock
