#pragma once

#include <string>
#include <vector>

namespace penstock::testing {

/// What the program did.
struct ProgramRun {
  int code = 0;  // 128 and the signal, where one ended it
  std::string output;
  std::string errors;
};

/// Runs the program with some arguments in a folder, in a process of its own.
ProgramRun run_penstock(const std::vector<std::string>& arguments, const std::string& folder);

}  // namespace penstock::testing
