#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/input/formats/megatron/shell_words.hpp"

namespace penstock {

/// The arguments of a Megatron-LM training command. Of a repeated argument the last counts. All
/// functions throw InputError with a line as its place, for values that are missing, unknown or
/// invalid.
class MegatronCommand {
 public:
  /// Finds the command in a script, or in a bare list of arguments.
  explicit MegatronCommand(std::string_view text);

  bool has(std::string_view name) const { return arguments_.count(name) != 0; }
  /// Whether its first value is known to be this.
  bool is(std::string_view name, std::string_view value) const {
    const Argument* argument = find(name);
    return argument != nullptr && !argument->values.empty() &&
           argument->values.front().text == value;
  }
  std::optional<std::string> word(std::string_view name) const;
  /// All values of an argument with several, as written, but for those that are left out.
  std::vector<std::string> words(std::string_view name) const;
  std::optional<double> whole(std::string_view name, double most, double least = 1) const;
  double needed(std::string_view name, double most) const;
  /// Any number from 0 to `most`.
  std::optional<double> rate(std::string_view name, double most) const;
  /// One of some words. Throws for any other.
  std::optional<std::string> one_of(std::string_view name,
                                    std::initializer_list<std::string_view> words) const;
  /// Like whole; nothing, and a note, for a value known only at run time.
  std::optional<double> whole_if_known(std::string_view name, double most);

  /// The place of an argument, "line 12"; "" if absent.
  std::string place(std::string_view name) const;
  [[noreturn]] void fail(std::string_view name, const std::string& what) const;
  /// For an absent argument. Names what a condition may have hidden.
  [[noreturn]] void fail_missing(std::string_view name, const std::string& what) const;

  /// Whether text that may state arguments is left out, with a note.
  bool leaves_out() const { return !left_out_.empty(); }
  /// Assumptions, and arguments that were left out or not read.
  std::vector<std::string> notes() const;

 private:
  struct Argument {
    std::size_t line = 1;
    ShellWords values;  // up to the next argument; most take one
  };

  void read(const ShellWords& words);
  void add(const ShellWord& word, ShellWords values);
  void ignore(const ShellWord& word, const std::string& name, const ShellWords& values);
  void leave_out(const ShellWord& word);
  const Argument* find(std::string_view name) const;
  std::string known(std::string_view name, const ShellWord& value) const;

  bool of_launcher_ = false;  // what is read now, in front of the program
  std::map<std::string, Argument, std::less<>> arguments_;
  std::vector<std::string> ignored_;
  std::vector<std::string> notes_;
  std::vector<std::string> left_out_;  // because only a run tells it
  mutable std::vector<std::string> assumed_;
};

}  // namespace penstock
