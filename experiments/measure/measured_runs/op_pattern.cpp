#include "experiments/measure/measured_runs/op_pattern.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/formats/torch_csv.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr std::size_t longest_pattern = 256;

struct PassWord {
  std::string_view word;  // lower case
  Pass pass;
};

/// Longer words come before their prefixes.
constexpr std::array<PassWord, 14> pass_words{{{"backward_weight", Pass::backward_weight},
                                               {"backward_input", Pass::backward_input},
                                               {"full_backward", Pass::backward},
                                               {"backward_w", Pass::backward_weight},
                                               {"backward_b", Pass::backward_input},
                                               {"backward", Pass::backward},
                                               {"forward", Pass::forward},
                                               {"wgrad", Pass::backward_weight},
                                               {"fwd", Pass::forward},
                                               {"bwd", Pass::backward},
                                               {"f", Pass::forward},
                                               {"b", Pass::backward},
                                               {"i", Pass::backward_input},
                                               {"w", Pass::backward_weight}}};

/// From public source code; see the README of this folder.
constexpr std::array<KnownPattern, 2> patterns{
    {{"PP:{stage}{pass}{microbatch}", "torch.distributed.pipelining, schedules of several stages"},
     {"{pass} {microbatch}", "torch.distributed.pipelining and PiPPy, GPipe"}}};

std::optional<std::size_t> take_pass(std::string_view name, std::size_t at, Pass& pass) {
  for (const PassWord& known : pass_words) {
    if (in_small_letters(name.substr(at, known.word.size())) != known.word) continue;
    pass = known.pass;
    return at + known.word.size();
  }
  return std::nullopt;
}

/// Takes a number of at most nine digits.
std::optional<std::size_t> take_number(std::string_view name, std::size_t at,
                                       std::uint32_t& number) {
  constexpr std::ptrdiff_t most_digits = 9;
  const char* const first = name.data() + at;
  const auto [rest, error] = std::from_chars(first, name.data() + name.size(), number);
  if (error != std::errc{} || rest - first > most_digits) return std::nullopt;
  return at + static_cast<std::size_t>(rest - first);
}

}  // namespace

OpPattern::OpPattern(std::string_view text) : text_(text) {
  const auto refuse = [this](const std::string& what) {
    throw UsageError(fmt::format("--pattern \"{}\": {}", text_, what));
  };
  if (text.size() > longest_pattern) refuse(fmt::format("more than {} bytes", longest_pattern));
  const auto count = [this](Part part) { return std::ranges::count(pieces_, part, &Piece::part); };
  while (!text.empty()) {
    std::size_t length = 1;
    if (text.front() == '*') {
      pieces_.push_back({Part::any, ""});
    } else if (text.front() == '{') {
      length = text.find('}') + 1;  // npos + 1 is 0
      const std::string_view word = text.substr(0, length);
      const Part part = word == "{stage}"        ? Part::stage
                        : word == "{pass}"       ? Part::pass
                        : word == "{microbatch}" ? Part::microbatch
                                                 : Part::literal;
      if (part == Part::literal) refuse("in braces stand stage, pass or microbatch");
      if (count(part) > 0) refuse(fmt::format("{} occurs twice", word));
      pieces_.push_back({part, ""});
    } else {
      length = std::min(text.find_first_of("*{"), text.size());
      pieces_.push_back({Part::literal, std::string(text.substr(0, length))});
    }
    text.remove_prefix(length);
  }
  if (count(Part::pass) == 0) refuse("{pass} is missing; it stands for F, backward and the like");
}

std::optional<std::size_t> OpPattern::take(const Piece& piece, std::string_view name,
                                           std::size_t at, OpName& op) {
  std::uint32_t number = 0;
  std::optional<std::size_t> next;
  switch (piece.part) {
    case Part::literal:
      if (name.substr(at).starts_with(piece.literal)) next = at + piece.literal.size();
      break;
    case Part::pass:
      return take_pass(name, at, op.pass);
    case Part::stage:
      next = take_number(name, at, number);
      op.stage = Stage{number};
      break;
    case Part::microbatch:
      next = take_number(name, at, number);
      op.microbatch = Microbatch{number};
      break;
    case Part::any:
      break;
  }
  return next;
}

std::optional<OpName> OpPattern::match(std::string_view name) const {
  OpName op;
  std::size_t piece = 0;
  std::size_t at = 0;
  // On a mismatch, retries the pieces after the last * one character further.
  std::optional<std::size_t> any;
  std::size_t any_at = 0;
  while (piece < pieces_.size() || at < name.size()) {
    if (piece < pieces_.size() && pieces_[piece].part == Part::any) {
      any = ++piece;
      any_at = at;
      continue;
    }
    const auto next = piece < pieces_.size() ? take(pieces_[piece], name, at, op) : std::nullopt;
    if (next) {
      at = *next;
      ++piece;
      continue;
    }
    if (!any || any_at == name.size()) return std::nullopt;
    at = ++any_at;
    piece = *any;
  }
  return op;
}

std::vector<OpName> ops_of_name(const OpPattern& pattern, std::string_view name) {
  constexpr std::string_view suffix = ")OVERLAP_F_B";
  const std::size_t open = name.find('(');
  if (open == std::string_view::npos || !name.ends_with(suffix)) {
    const auto op = pattern.match(name);
    return op ? std::vector{*op} : std::vector<OpName>{};
  }
  const std::string prefix(name.substr(0, open));
  const std::string_view parts = name.substr(open + 1, name.size() - suffix.size() - open - 1);
  const std::size_t middle = parts.find(';');
  if (middle == std::string_view::npos) return {};
  const auto first = pattern.match(prefix + std::string(parts.substr(0, middle)));
  const auto second = pattern.match(prefix + std::string(parts.substr(middle + 1)));
  return first && second ? std::vector{*first, *second} : std::vector<OpName>{};
}

std::optional<CommCell> comm_of_name(std::string_view name) {
  constexpr std::string_view prefix = "PP:";
  const bool may_be = name.find("SEND_") != name.npos || name.find("RECV_") != name.npos;
  if (!may_be || !name.starts_with(prefix)) return std::nullopt;
  try {
    const OrderFile cell = read_torch_csv(name.substr(prefix.size()));
    const bool alone = cell.comms.size() == 1 && cell.comms.front().size() == 1 &&
                       cell.schedule.on(Rank{0}).empty();
    if (alone) return cell.comms.front().front();
  } catch (const InputError&) {
    return std::nullopt;
  }
  return std::nullopt;
}

std::span<const KnownPattern> known_patterns() { return patterns; }

}  // namespace penstock
