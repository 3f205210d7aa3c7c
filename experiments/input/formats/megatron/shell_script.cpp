#include <fmt/format.h>

#include <string_view>

#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/formats/megatron/shell_words.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr std::size_t longest_text = std::size_t{1} << 24;
constexpr std::size_t most_expanded = std::size_t{1} << 27;  // bytes

constexpr std::string_view opening = "if, for, while, until, {, select, case";
constexpr std::string_view closing = "fi, done, }, esac";
constexpr std::string_view passing = "then, else, elif, do, time, !, exec, eval";
constexpr std::string_view declaring = "export, local, declare, typeset, readonly";

/// Reads a script command by command.
class ScriptReader {
 public:
  explicit ScriptReader(std::string_view text) : words_(text, 1, variables_) {}

  ShellScript read() {
    while (!words_.at_end()) read_item();
    end_command();
    for (const auto& variable : variables_) {
      if (variable.second.is_array) script_.arrays.push_back(variable.second.words);
    }
    script_.variables = std::move(variables_);
    return std::move(script_);
  }

 private:
  bool conditional() const { return depth_ > 0 || behind_test_; }
  bool at_command() const { return command_.empty(); }

  /// Reads a word, an assignment, a comment or a command separator.
  void read_item() {
    words_.skip_blanks();
    const char c = words_.peek();
    if (words_.at_end()) return;
    if (c == '#') return words_.skip_line();
    if (c == '\n') return end_line();
    if (words_.starts_with("<<") && words_.peek(2) != '<') return open_here_document();
    if (words_.starts_with("&&") || words_.starts_with("||")) return join_commands();
    if (c == ';' || c == '&' || c == '|' || c == ')' || (c == '(' && at_command())) {
      end_command();
      behind_test_ = false;
      return words_.skip(1);
    }
    if (at_command() && read_assignment()) return;
    take(words_.read_word());
  }

  void end_line() {
    words_.skip(1);
    end_command();
    behind_test_ = false;
    if (!here_end_.empty()) skip_here_document();
  }

  /// The command after && or || is conditional if there is one before it.
  void join_commands() {
    words_.skip(2);
    behind_test_ = behind_test_ || !command_.empty();
    end_command();
  }

  void open_here_document() {
    words_.skip(words_.peek(2) == '-' ? 3 : 2);
    words_.skip_blanks();
    here_end_ = words_.read_value().text;
  }

  void skip_here_document() {
    for (bool found = false; !found && !words_.at_end(); words_.skip(1)) {
      while (words_.peek() == '\t') words_.skip(1);
      found = words_.starts_with(here_end_);
      words_.skip_line();
    }
    here_end_.clear();
  }

  void end_command() {
    if (!command_.empty()) script_.commands.push_back(std::move(command_));
    command_.clear();
    declares_ = false;
  }

  void take(ShellWords words) {
    spend(words);
    for (ShellWord& word : words) {
      if (command_.empty() && take_keyword(word)) continue;
      if (declares_ && command_.empty() && word.text.starts_with('-')) continue;
      command_.push_back(std::move(word));
    }
  }

  bool take_keyword(const ShellWord& word) {
    if (is_listed(opening, word.text)) {
      ++depth_;
      if (word.text == "for") forget_variable_ahead();
      return true;
    }
    if (is_listed(closing, word.text)) {
      depth_ -= depth_ > 0 ? 1 : 0;
      return true;
    }
    if (word.text == "function") {
      words_.skip_blanks();
      words_.skip(words_.name_ahead().size());
      return true;
    }
    if (is_listed(declaring, word.text)) return declares_ = true;
    return is_listed(passing, word.text) || word.text.ends_with("()");
  }

  /// The variable of a loop has no known value.
  void forget_variable_ahead() {
    words_.skip_blanks();
    const std::string name(words_.name_ahead());
    if (!name.empty()) set_unknown(name, words_.line(), "loop");
  }

  void set_unknown(const std::string& name, std::size_t line, const char* why) {
    ShellWord word{.line = line,
                   .gaps = {{0, fmt::format("${} changes in a {} in line {}", name, why, line)}}};
    variables_[name] = {.words = {std::move(word)}, .is_array = false};
    spend(variables_[name].words);
  }

  /// Reads NAME=value, NAME+=value, NAME=( … ) or NAME+=( … ), if present.
  bool read_assignment() {
    const std::string name(words_.name_ahead());
    if (name.empty()) return false;
    const bool adds = words_.peek(name.size()) == '+' && words_.peek(name.size() + 1) == '=';
    if (!adds && words_.peek(name.size()) != '=') return false;
    const std::size_t line = words_.line();
    words_.skip(name.size() + (adds ? 2 : 1));
    const bool array = words_.peek() == '(';
    ShellWords value = array ? read_array() : ShellWords{words_.read_value()};
    spend(value);
    assign(name, {.words = std::move(value), .is_array = array}, adds, line);
    return true;
  }

  ShellWords read_array() {
    const std::size_t line = words_.line();
    ShellWords items;
    for (words_.skip(1); words_.peek() != ')';) {
      words_.skip_blanks();
      if (words_.at_end()) {
        throw InputError(line_text(line), "the array that opens here never closes with )");
      }
      if (words_.peek() == '#') {
        words_.skip_line();
      } else if (std::string_view("\n;&|").find(words_.peek()) != std::string_view::npos) {
        words_.skip(1);
      } else if (words_.peek() != ')') {
        const ShellWords more = words_.read_word();
        spend(more);
        items.insert(items.end(), more.begin(), more.end());
      }
    }
    words_.skip(1);
    return items;
  }

  void assign(const std::string& name, ShellVariable value, bool adds, std::size_t line) {
    if (conditional()) {
      if (!adds) return set_unknown(name, line, "condition");
      return script_.notes.push_back(
          fmt::format("line {}: what a condition adds to {} is left out", line, name));
    }
    ShellVariable& variable = variables_[name];
    if (!adds) {
      variable = std::move(value);
    } else if (variable.is_array || value.is_array) {
      variable.is_array = true;
      variable.words.insert(variable.words.end(), value.words.begin(), value.words.end());
    } else {
      if (variable.words.empty()) variable.words.push_back({.line = line});
      append(variable.words.front(), value.words.front());
    }
  }

  void spend(const ShellWords& words) {
    for (const ShellWord& word : words) expanded_ += bytes_of(word);
    if (expanded_ <= most_expanded) return;
    throw InputError(line_text(words_.line()),
                     fmt::format("the script expands to more than {} bytes", most_expanded));
  }

  ShellVariables variables_;
  ShellWordReader words_;
  ShellScript script_;
  ShellWords command_;
  std::string here_end_;
  std::size_t depth_ = 0;
  std::size_t expanded_ = 0;
  bool behind_test_ = false;
  bool declares_ = false;
};

}  // namespace

ShellScript read_shell_script(std::string_view text) {
  if (text.size() > longest_text) {
    throw InputError(fmt::format("a script has at most {} characters", longest_text));
  }
  if (text.find('\0') != std::string_view::npos) {
    throw InputError(
        "it holds bytes that no text has; a script or the words of a command are needed");
  }
  return ScriptReader(text).read();
}

}  // namespace penstock
