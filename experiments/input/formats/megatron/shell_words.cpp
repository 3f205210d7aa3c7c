#include "experiments/input/formats/megatron/shell_words.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/input/files/plain_text.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr std::size_t most_characters = std::size_t{1} << 20;
constexpr int deepest_expansion = 16;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool is_space(char c) { return is_blank(c) || c == '\n'; }
bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool continues_name(char c) { return starts_name(c) || (c >= '0' && c <= '9'); }

/// The longest prefix of a text whose characters all satisfy `rule`.
template <class Rule>
std::string_view front_while(std::string_view text, Rule rule) {
  const auto end = std::ranges::find_if_not(text, rule);
  return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

/// The word of an array that "[3]" selects, or nullptr.
const ShellWord* selected(const ShellWords& words, std::string_view selector) {
  if (selector.empty()) return words.empty() ? nullptr : words.data();
  const auto number = whole_number<std::size_t>(selector.substr(1, selector.size() - 2));
  return number && *number < words.size() ? &words[*number] : nullptr;
}

}  // namespace

std::string line_text(std::size_t line) { return fmt::format("line {}", line); }

std::size_t bytes_of(const ShellWord& word) {
  std::size_t bytes = sizeof(ShellWord) + word.text.size() + word.assumed.size();
  for (const ShellGap& gap : word.gaps) bytes += sizeof(ShellGap) + gap.why.size();
  return bytes;
}

void append(ShellWord& word, const ShellWord& more) {
  for (const ShellGap& gap : more.gaps) {
    word.gaps.push_back({word.text.size() + gap.at, gap.why});
  }
  word.text += more.text;
  if (word.assumed.empty()) word.assumed = more.assumed;
}

void ShellFields::start(std::size_t line) {
  if (!started_) word_.line = line;
  started_ = true;
}

/// Also counts the end of a word and its gaps, so that empty words are limited too.
void ShellFields::count(std::size_t characters) {
  characters_ += characters;
  if (characters_ <= most_characters) return;
  throw InputError(line_text(line_),
                   fmt::format("it expands to more than {} characters", most_characters));
}

void ShellFields::add(char c) {
  start(line_);
  count(1);
  word_.text += c;
}

void ShellFields::add(const ShellWord& value) {
  start(value.line);
  count(value.text.size());
  for (const ShellGap& gap : value.gaps) count(gap.why.size());
  append(word_, value);
}

void ShellFields::add_split(const ShellWord& value) {
  auto gap = value.gaps.begin();
  for (std::size_t at = 0; at < value.text.size() || gap != value.gaps.end();) {
    ShellWord part{.line = value.line, .assumed = value.assumed};
    const std::size_t first = at;
    while (at < value.text.size() && !is_space(value.text[at])) ++at;
    part.text = value.text.substr(first, at - first);
    for (; gap != value.gaps.end() && gap->at <= at; ++gap) {
      part.gaps.push_back({gap->at - first, gap->why});
    }
    if (!part.text.empty() || !part.gaps.empty()) add(part);
    if (at == value.text.size()) continue;
    end_word();
    ++at;
  }
}

void ShellFields::add_each(const ShellWords& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) end_word();
    add(values[i]);
  }
}

void ShellFields::end_word() {
  if (!started_) return;
  count(1);
  words_.push_back(std::move(word_));
  word_ = {};
  started_ = false;
}

ShellWords ShellFields::take() {
  end_word();
  return std::move(words_);
}

ShellWord ShellFields::take_joined() {
  ShellWord joined{.line = line_};
  for (const ShellWord& word : take()) {
    if (!joined.text.empty()) joined.text += ' ';
    append(joined, word);
  }
  return joined;
}

char ShellWordReader::peek(std::size_t ahead) const {
  return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
}

void ShellWordReader::skip(std::size_t count) {
  for (; count > 0 && !at_end(); --count) line_ += text_[at_++] == '\n' ? 1 : 0;
}

void ShellWordReader::skip_blanks() {
  for (;;) {
    if (is_blank(peek()) && !at_end()) {
      skip(1);
    } else if (starts_with("\\\n")) {
      skip(2);
    } else if (starts_with("\\\r\n")) {
      skip(3);
    } else {
      return;
    }
  }
}

void ShellWordReader::skip_line() {
  while (!at_end() && peek() != '\n') skip(1);
}

std::string_view ShellWordReader::name_ahead() const {
  if (!starts_name(peek())) return {};
  return front_while(text_.substr(at_), continues_name);
}

ShellWords ShellWordReader::read_word() {
  ShellFields fields(line_);
  read_into(fields);
  return fields.take();
}

ShellWord ShellWordReader::read_value() {
  ShellFields fields(line_);
  read_into(fields);
  return fields.take_joined();
}

/// Bars and parentheses inside a word belong to it: some printed commands have lost the quotes
/// around their values.
bool ShellWordReader::ends_word(bool started, int open) const {
  const char c = peek();
  if (at_end() || is_space(c) || c == ';') return true;
  if (c == '&') return at_ == 0 || text_[at_ - 1] != '>';
  if (c == '|') return !started;
  return c == ')' && open == 0;
}

void ShellWordReader::read_into(ShellFields& fields) {
  int open = 0;
  while (!ends_word(fields.started(), open)) {
    open += peek() == '(' ? 1 : peek() == ')' ? -1 : 0;
    read_piece(fields, false);
  }
}

/// Reads one character, or a quote, backslash or dollar expression.
void ShellWordReader::read_piece(ShellFields& fields, bool quoted) {
  switch (const char c = peek()) {
    case '\\':
      return read_escaped(fields, quoted);
    case '\'':
      return read_single_quoted(fields);
    case '"':
      return read_double_quoted(fields);
    case '$':
      return read_dollar(fields, quoted);
    case '`':
      return read_backquoted(fields);
    default:
      fields.add(c);
      skip(1);
  }
}

void ShellWordReader::read_escaped(ShellFields& fields, bool quoted) {
  skip(1);
  if (starts_with("\r\n")) skip(1);
  const char c = peek();
  if (at_end() || c == '\n') return skip(1);
  if (quoted && c != '"' && c != '\\' && c != '$' && c != '`') fields.add('\\');
  fields.add(c);
  skip(1);
}

void ShellWordReader::read_single_quoted(ShellFields& fields) {
  const std::size_t end = text_.find('\'', at_ + 1);
  if (end == std::string_view::npos) fail("the quote ' that opens here never closes");
  fields.start(line_);
  for (skip(1); at_ < end; skip(1)) fields.add(peek());
  skip(1);
}

void ShellWordReader::read_double_quoted(ShellFields& fields) {
  const std::size_t opened = line_;
  fields.start(line_);
  for (skip(1); !at_end() && peek() != '"';) {
    if (peek() == '\'') {
      fields.add('\'');
      skip(1);
    } else {
      read_piece(fields, true);
    }
  }
  if (at_end()) throw InputError(line_text(opened), "the quote \" that opens here never closes");
  skip(1);
}

void ShellWordReader::read_dollar(ShellFields& fields, bool quoted) {
  const char next = peek(1);
  if (next == '(') return read_parenthesized(fields);
  if (next == '{') return read_braces(fields, quoted);
  skip(1);
  if (starts_name(next)) {
    const std::string name(name_ahead());
    skip(name.size());
    return add_variable(fields, name, "", quoted);
  }
  if ((next >= '0' && next <= '9') || std::string_view("@*#?$!").find(next) != std::string::npos) {
    skip(1);
    return add_unknown(fields, fmt::format("${} is only known when the script runs", next));
  }
  fields.add('$');
}

/// ${NAME}, ${NAME[@]}, ${NAME[3]}, ${NAME:-default} and so on.
void ShellWordReader::read_braces(ShellFields& fields, bool quoted) {
  const std::size_t end = closing('{', '}', at_ + 1);
  const std::string_view inside = text_.substr(at_ + 2, end - at_ - 2);
  const std::string_view name = front_while(inside, continues_name);
  std::string_view rest = inside.substr(name.size());
  if (rest.empty() || (rest.front() == '[' && rest.back() == ']')) {
    skip(inside.size() + 3);
    return add_variable(fields, std::string(name), rest, quoted);
  }
  for (const std::string_view sign : {":-", ":=", "-", "="}) {
    if (!rest.starts_with(sign) || name.empty()) continue;
    add_default(fields, std::string(name), rest.substr(sign.size()), quoted);
    return skip(inside.size() + 3);
  }
  skip(inside.size() + 3);
  add_unknown(fields, fmt::format("${{{}}} is not worked out here", shortened(inside)));
}

void ShellWordReader::read_parenthesized(ShellFields& fields) {
  const std::size_t end = closing('(', ')', at_ + 1);
  const std::string_view inside = text_.substr(at_ + 2, end - at_ - 2);
  if (inside.starts_with('(') && closing('(', ')', at_ + 2) == end - 1) {
    add_arithmetic(fields, inside.substr(1, inside.size() - 2));
  } else {
    add_unknown(fields, "$(…) is not run here");
  }
  skip(end + 1 - at_);
}

/// Variables with a dollar are expanded as text, others by the rules of arithmetic.
void ShellWordReader::add_arithmetic(ShellFields& fields, std::string_view expression) {
  const ShellWord filled = expanded(expression);
  if (!filled.gaps.empty()) return add_unknown(fields, filled.gaps.front().why);
  try {
    fields.add(shell_number(filled, variables_));
  } catch (const InputError& error) {
    add_unknown(fields,
                fmt::format("$(({})) in line {}: {}", shortened(expression), line_, error.what()));
  }
}

void ShellWordReader::read_backquoted(ShellFields& fields) {
  const std::size_t end = text_.find('`', at_ + 1);
  if (end == std::string_view::npos) fail("the quote ` that opens here never closes");
  skip(end + 1 - at_);
  add_unknown(fields, "`…` is not run here");
}

void ShellWordReader::add_default(ShellFields& fields, const std::string& name,
                                  std::string_view value, bool quoted) {
  const auto found = variables_.find(name);
  const bool set = found != variables_.end() && !found->second.words.empty() &&
                   !found->second.words.front().text.empty();
  if (set) return add_variable(fields, name, "", quoted);
  ShellWord word = expanded(value);
  if (word.assumed.empty()) {
    word.assumed = fmt::format("{} is taken to be {}, its default", name, shortened(word.text));
  }
  quoted ? fields.add(word) : fields.add_split(word);
}

/// A text inside braces or parentheses, its variables expanded as in double quotes.
ShellWord ShellWordReader::expanded(std::string_view text) const {
  if (depth_ == deepest_expansion)
    fail(fmt::format("expansions are nested more than {} deep", deepest_expansion));
  ShellFields inner(line_);
  ShellWordReader reader(text, line_, variables_, depth_ + 1);
  while (!reader.at_end()) reader.read_piece(inner, true);
  return inner.take_joined();
}

void ShellWordReader::add_variable(ShellFields& fields, const std::string& name,
                                   std::string_view selector, bool quoted) {
  const auto found = variables_.find(name);
  if (found == variables_.end()) {
    return add_unknown(fields,
                       fmt::format("{} has no value here", name.empty() ? "${}" : "$" + name));
  }
  const ShellWords& words = found->second.words;
  if (selector == "[@]" || selector == "[*]") {
    if (quoted) return fields.add_each(words);
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (i > 0) fields.end_word();
      fields.add_split(words[i]);
    }
    return;
  }
  const ShellWord* word = selected(words, selector);
  if (word == nullptr && selector.empty()) return;
  if (word == nullptr) {
    return add_unknown(fields,
                       fmt::format("${{{}{}}} is not known here", name, shortened(selector)));
  }
  quoted ? fields.add(*word) : fields.add_split(*word);
}

void ShellWordReader::add_unknown(ShellFields& fields, const std::string& why) {
  fields.add(ShellWord{.line = line_, .gaps = {{0, why}}});
}

/// The position of the matching closing character.
std::size_t ShellWordReader::closing(char open, char close, std::size_t from) const {
  std::size_t depth = 0;
  for (std::size_t at = from; at < text_.size(); ++at) {
    if (text_[at] == open) ++depth;
    if (text_[at] == close && --depth == 0) return at;
  }
  fail(fmt::format("the ${} that opens here never closes", open));
}

void ShellWordReader::fail(const std::string& what) const {
  throw InputError(line_text(line_), what);
}

}  // namespace penstock
