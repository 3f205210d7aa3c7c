#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// A place where text known only at run time is missing.
struct ShellGap {
  std::size_t at = 0;  // before this character
  std::string why;
};

/// A word as a shell passes it to a command.
struct ShellWord {
  std::string text = {};
  std::size_t line = 1;
  std::vector<ShellGap> gaps = {};  // in order; none: the text is complete
  std::string assumed = {};         // assumed, such as a variable's default
};
using ShellWords = std::vector<ShellWord>;

/// A plain variable has one word, with any content; an array has any number.
struct ShellVariable {
  ShellWords words;
  bool is_array = false;
};
using ShellVariables = std::map<std::string, ShellVariable, std::less<>>;

/// Memory of a word, for limits.
std::size_t bytes_of(const ShellWord& word);

/// Appends a text and its gaps to a word.
void append(ShellWord& word, const ShellWord& more);

/// Builds words from literal text and the values of variables.
class ShellFields {
 public:
  explicit ShellFields(std::size_t line) : line_(line) {}

  void add(char c);
  /// Adds a value unchanged.
  void add(const ShellWord& value);
  /// Adds an unquoted value: its blanks end words. A gap stays in its word.
  void add_split(const ShellWord& value);
  /// Adds the values of a quoted array, each as a word.
  void add_each(const ShellWords& values);
  /// Begins a word, even an empty one, as a pair of quotes does.
  void start(std::size_t line);
  void end_word();

  bool started() const { return started_; }
  ShellWords take();
  /// Everything as one word, as in an assignment.
  ShellWord take_joined();

 private:
  void count(std::size_t characters);

  std::size_t line_;
  std::size_t characters_ = 0;
  bool started_ = false;
  ShellWord word_;
  ShellWords words_;
};

/// Reads words as a shell does, with quotes, variables and integer arithmetic. Nothing is run: the
/// output of a command is a gap. Throws InputError with a line as its place, for a quote or brace
/// that never closes and for variables that grow too large.
class ShellWordReader {
 public:
  ShellWordReader(std::string_view text, std::size_t line, ShellVariables& variables, int depth = 0)
      : text_(text), line_(line), variables_(variables), depth_(depth) {}

  bool at_end() const { return at_ >= text_.size(); }
  char peek(std::size_t ahead = 0) const;
  bool starts_with(std::string_view word) const { return text_.substr(at_).starts_with(word); }
  std::size_t line() const { return line_; }

  void skip(std::size_t count);
  /// Skips blanks, and line ends after a backslash.
  void skip_blanks();
  void skip_line();
  /// The variable name at the current position, without taking it.
  std::string_view name_ahead() const;

  /// The words of one shell word: several if an unquoted variable contains blanks, none if it is
  /// empty.
  ShellWords read_word();
  ShellWord read_value();

 private:
  void read_into(ShellFields& fields);
  void read_piece(ShellFields& fields, bool quoted);
  bool ends_word(bool started, int open) const;
  void read_escaped(ShellFields& fields, bool quoted);
  void read_single_quoted(ShellFields& fields);
  void read_double_quoted(ShellFields& fields);
  void read_dollar(ShellFields& fields, bool quoted);
  void read_braces(ShellFields& fields, bool quoted);
  void read_backquoted(ShellFields& fields);
  void read_parenthesized(ShellFields& fields);
  void add_arithmetic(ShellFields& fields, std::string_view expression);
  void add_default(ShellFields& fields, const std::string& name, std::string_view value,
                   bool quoted);
  ShellWord expanded(std::string_view text) const;
  void add_variable(ShellFields& fields, const std::string& name, std::string_view selector,
                    bool quoted);
  void add_unknown(ShellFields& fields, const std::string& why);
  std::size_t closing(char open, char close, std::size_t from) const;
  [[noreturn]] void fail(const std::string& what) const;

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_;
  ShellVariables& variables_;
  int depth_;
};

/// "line 12".
std::string line_text(std::size_t line);

/// The value of $((…)): integers, known variables, + - * / % and parentheses. Throws InputError
/// without a place for anything else, for a variable that is no number, for division by zero and
/// for results beyond 64 bits.
ShellWord shell_number(const ShellWord& expression, const ShellVariables& variables);

/// The commands that a shell script would run, as far as known without running it.
struct ShellScript {
  std::vector<ShellWords> commands;  // each with its arguments, variables expanded
  std::vector<ShellWords> arrays;    // final values, sorted by name
  ShellVariables variables;          // likewise, all of them
  std::vector<std::string> notes;    // conditional text that was left out
};

/// Follows assignments and arrays from top to bottom and runs nothing. Conditions and loops are not
/// evaluated: a variable assigned there becomes a gap, and a conditional addition to a variable is
/// left out with a note. Throws InputError with a line as its place.
ShellScript read_shell_script(std::string_view text);

}  // namespace penstock
