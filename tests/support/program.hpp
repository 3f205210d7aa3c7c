#pragma once

#include <string>
#include <vector>

namespace penstock::testing {

/// The result of a program run.
struct ProgramRun {
  int code = 0;  // 128 plus the signal if one ended it
  std::string output;
  std::string errors;
};

/// Runs the program with arguments in a folder, as a separate process.
ProgramRun run_penstock(const std::vector<std::string>& arguments, const std::string& folder);

}  // namespace penstock::testing
