#pragma once

#include <map>
#include <string>

namespace penstock {

/// What rows are compared with: the present environment, build and date.
struct Today {
  std::map<std::string, std::string> environment;
  std::string build;  // hash of the kernels that this program measures; empty: unknown
  std::string date;   // UTC, "2026-11-21T18:40:00Z"
};

}  // namespace penstock
