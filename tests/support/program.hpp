#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tests/support/scratch.hpp"

namespace penstock::testing {

/// The result of a program run.
struct ProgramRun {
  int code = 0;  // 128 plus the signal if one ended it
  std::string output;
  std::string errors;
};

/// A file as standard input, of this process and those that it starts, while this lives.
class StandardInput {
 public:
  explicit StandardInput(const std::string& path);
  StandardInput(const StandardInput&) = delete;
  StandardInput& operator=(const StandardInput&) = delete;
  ~StandardInput();

 private:
  int former_;
};

/// The words of a command line, and more of them.
std::vector<std::string> with_words(std::vector<std::string> words,
                                    const std::vector<std::string>& more);

/// Runs the program with arguments in a folder, as a separate process.
ProgramRun run_penstock(const std::vector<std::string>& arguments, const std::string& folder);

/// A temporary folder in which the program runs.
struct Desk : Scratch {
  ProgramRun run(const std::vector<std::string>& arguments) const {
    return run_penstock(arguments, path(""));
  }
  /// What a command prints with --json; it must end with this exit code.
  nlohmann::json json_of(std::vector<std::string> arguments, int code = 0) const;
  bool has(const std::string& file) const;
};

}  // namespace penstock::testing
