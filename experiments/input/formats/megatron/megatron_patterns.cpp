#include "experiments/input/formats/megatron/megatron_patterns.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/formats/transformers/transformer_shape.hpp"
#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"

namespace penstock {
namespace {

constexpr std::size_t largest_count = 100'000;
constexpr std::size_t most_letters = 2 * Limits::stages;
constexpr int deepest_product = 16;

[[noreturn]] void fail_at(std::string_view text, std::size_t at, const std::string& what) {
  const std::string seen = at == text.size() ? "the end" : fmt::format("character {}", at + 1);
  throw InputError(fmt::format("at {} of \"{}\": {}", seen, shortened(text), what));
}

/// Reads a text from left to right and skips ignored characters.
class Reader {
 public:
  Reader(std::string_view text, std::string_view ignored) : text_(text), ignored_(ignored) {
    skip_ignored();
  }

  bool at_end() const { return at_ == text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[at_]; }
  char take() {
    const char c = text_[at_++];
    skip_ignored();
    return c;
  }
  bool take_if(char wanted) {
    if (at_end() || peek() != wanted) return false;
    take();
    return true;
  }
  void need(char wanted) {
    if (!take_if(wanted)) fail(fmt::format("'{}' should stand here", wanted));
  }

  std::size_t take_number() {
    if (peek() < '0' || peek() > '9') fail("a whole number should stand here");
    std::size_t number = 0;
    while (peek() >= '0' && peek() <= '9') {
      number = 10 * number + static_cast<std::size_t>(peek() - '0');
      if (number > largest_count) fail(fmt::format("no number is above {}", largest_count));
      take();
    }
    return number;
  }

  std::size_t at() const { return at_; }
  [[noreturn]] void fail(const std::string& what) const { fail_at(text_, at_, what); }

 private:
  void skip_ignored() {
    while (!at_end() && ignored_.find(peek()) != std::string_view::npos) ++at_;
  }

  std::string_view text_;
  std::string_view ignored_;
  std::size_t at_ = 0;
};

constexpr const char* layout_help =
    "a layout holds E, t, m, L, |, groups in parentheses, and *N behind any of them";

/// A layer or the end of a stage, and its position in the layout.
struct Letter {
  char letter;
  std::size_t at;
};
using Letters = std::vector<Letter>;

/// The letters of a group, without its parentheses. Megatron-LM does not nest groups.
Letters take_group(Reader& reader) {
  Letters group;
  for (reader.take(); reader.peek() != ')';) {
    if (std::string_view("EtmL|").find(reader.peek()) == std::string_view::npos ||
        reader.at_end()) {
      reader.fail(reader.peek() == '(' ? "a group cannot stand in a group" : layout_help);
    }
    const Letter letter{reader.peek(), reader.at()};
    reader.take();
    const std::size_t count = reader.take_if('*') ? reader.take_number() : 1;
    if (group.size() + count > most_letters) reader.fail("there are too many layers");
    group.insert(group.end(), count, letter);
  }
  reader.take();
  if (reader.peek() != '*') reader.fail("a group needs a count behind it, as in (tt|)*3");
  return group;
}

Letters take_letter(Reader& reader) {
  const Letter letter{reader.peek(), reader.at()};
  reader.take();
  return {letter};
}

Letters unrolled(std::string_view layout) {
  Reader reader(layout, ", \t\r\n");
  Letters letters;
  while (!reader.at_end()) {
    const char c = reader.peek();
    if (std::string_view("EtmL|(").find(c) == std::string_view::npos) reader.fail(layout_help);
    const Letters group = c == '(' ? take_group(reader) : take_letter(reader);
    const std::size_t count = reader.take_if('*') ? reader.take_number() : 1;
    if (letters.size() + count * group.size() > most_letters) {
      reader.fail("there are too many layers");
    }
    for (std::size_t i = 0; i < count; ++i) {
      letters.insert(letters.end(), group.begin(), group.end());
    }
  }
  return letters;
}

using List = std::vector<std::size_t>;

List take_sum(Reader& reader, int depth);

List take_items(Reader& reader) {
  List list;
  reader.need('[');
  if (reader.take_if(']')) return list;
  do {
    list.push_back(reader.take_number());
  } while (reader.take_if(','));
  reader.need(']');
  return list;
}

List take_product(Reader& reader, int depth) {
  List list;
  if (reader.take_if('(')) {
    if (depth == deepest_product) reader.fail("parentheses are nested too deep");
    list = take_sum(reader, depth + 1);
    reader.need(')');
  } else {
    list = take_items(reader);
  }
  while (reader.take_if('*')) {
    const std::size_t count = reader.take_number();
    if (static_cast<double>(list.size() * count) > TransformerLimits::layers) {
      reader.fail(fmt::format("there are more than {} layers", TransformerLimits::layers));
    }
    const List once = std::move(list);
    list.clear();
    for (std::size_t i = 0; i < count; ++i) list.insert(list.end(), once.begin(), once.end());
  }
  return list;
}

List take_sum(Reader& reader, int depth) {
  List list = take_product(reader, depth);
  while (reader.take_if('+')) {
    const List more = take_product(reader, depth);
    list.insert(list.end(), more.begin(), more.end());
  }
  return list;
}

}  // namespace

std::vector<std::string> pipeline_layout_stages(std::string_view layout) {
  constexpr const char* needed =
      "a stage without a layer ends here; each stage needs one, so take a bar away";
  std::vector<std::string> stages{""};
  for (const Letter& each : unrolled(layout)) {
    if (each.letter != '|') {
      stages.back() += each.letter;
      continue;
    }
    if (stages.back().empty()) fail_at(layout, each.at, needed);
    stages.emplace_back();
  }
  if (stages.back().empty()) fail_at(layout, layout.size(), needed);
  if (stages.size() > Limits::stages) {
    throw InputError(fmt::format("it has more than {} stages", Limits::stages));
  }
  return stages;
}

std::vector<std::size_t> python_list(std::string_view text) {
  Reader reader(text, " \t\r\n");
  const List list = take_sum(reader, 0);
  if (!reader.at_end()) reader.fail("a list should end here");
  return list;
}

}  // namespace penstock
