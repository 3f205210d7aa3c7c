#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/numbers.hpp"
#include "sim/order/communication.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// The op that the name of an annotation marks.
struct OpName {
  Pass pass = Pass::forward;
  std::optional<Stage> stage;            // nothing: the stage of its rank
  std::optional<Microbatch> microbatch;  // nothing: counted in execution order
  friend bool operator==(const OpName&, const OpName&) = default;
};

/// A pattern for names of annotations: a text with the placeholders {stage}, {pass} and
/// {microbatch}, and * for any characters. A pass is a letter or a word, in any case: F, fwd,
/// forward; B, bwd, backward; I, backward_input; W, backward_weight.
class OpPattern {
 public:
  /// Throws UsageError for a text without {pass}, with a repeated placeholder or with other braces.
  explicit OpPattern(std::string_view text);

  const std::string& text() const { return text_; }
  /// The op of a name that the pattern matches completely. Takes time in proportion to the product
  /// of both lengths at most.
  std::optional<OpName> match(std::string_view name) const;

 private:
  enum class Part : std::uint8_t { literal, any, stage, pass, microbatch };
  struct Piece {
    Part part;
    std::string literal;
  };

  /// The end of a piece that starts at `at`; nothing if it does not match.
  static std::optional<std::size_t> take(const Piece& piece, std::string_view name, std::size_t at,
                                         OpName& op);

  std::string text_;
  std::vector<Piece> pieces_;
};

/// The ops that a name marks: one; both parts of "PP:(0F3;3B1)OVERLAP_F_B", which must match as if
/// each stood alone; or none.
std::vector<OpName> ops_of_name(const OpPattern& pattern, std::string_view name);

/// The SEND, RECV or wait for a SEND that a name of torch.distributed.pipelining marks:
/// "PP:2RECV_F3".
std::optional<CommCell> comm_of_name(std::string_view name);

/// A default pattern, and the software that uses such names.
struct KnownPattern {
  std::string_view text;
  std::string_view origin;
};
std::span<const KnownPattern> known_patterns();

}  // namespace penstock
