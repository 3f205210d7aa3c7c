#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/formats/megatron/shell_words.hpp"

namespace penstock {

/// The arguments of a training command of Megatron-LM. All throw InputError, its place a line, for
/// values that are missing, unknown or do not fit; of an argument given twice the last counts.
class MegatronCommand {
 public:
  /// Finds the command in a script, or in its words alone.
  explicit MegatronCommand(std::string_view text);

  bool has(std::string_view name) const { return arguments_.count(name) != 0; }
  std::optional<std::string> word(std::string_view name) const;
  /// All values of an argument that takes several, as they stand.
  std::vector<std::string> words(std::string_view name) const;
  std::optional<double> whole(std::string_view name, double most, double least = 1) const;
  double needed(std::string_view name, double most) const;
  /// Any number from 0 to `most`.
  std::optional<double> rate(std::string_view name, double most) const;
  /// One of some words; throws for any other.
  std::optional<std::string> one_of(std::string_view name,
                                    std::initializer_list<std::string_view> words) const;
  /// Like whole; nothing, and a note, for a value that only a run would know.
  std::optional<double> whole_if_known(std::string_view name, double most);

  /// The place of an argument, "line 12"; "" for one that is absent.
  std::string place(std::string_view name) const;
  [[noreturn]] void fail(std::string_view name, const std::string& what) const;
  /// For an absent argument; names what a condition may have hidden.
  [[noreturn]] void fail_missing(std::string_view name, const std::string& what) const;

  /// What was assumed, left out, or not read.
  std::vector<std::string> notes() const;

 private:
  struct Argument {
    std::size_t line = 1;
    ShellWords values;  // up to the next argument; all but a few take one
  };

  void read(const ShellWords& words);
  void add(const ShellWord& word, ShellWords values);
  void ignore(const std::string& name, const ShellWords& values);
  void leave_out(const ShellWord& word);
  const Argument* find(std::string_view name) const;

  std::map<std::string, Argument, std::less<>> arguments_;
  std::vector<std::string> ignored_;
  std::vector<std::string> notes_;
  std::vector<std::string> left_out_;  // since it depends on a condition
  mutable std::vector<std::string> assumed_;
};

}  // namespace penstock
