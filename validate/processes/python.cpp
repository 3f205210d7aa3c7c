#include "validate/processes/python.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "validate/processes/program.hpp"

namespace penstock {

std::string torch_python() {
  const char* const given = std::getenv("PENSTOCK_PYTHON");
  return given == nullptr || *given == '\0' ? "python3" : given;
}

std::optional<Obstacle> why_no_torch() {
  constexpr int cannot_start = 127;
  const std::string python = torch_python();
  const auto code = run_program(
      {.words = {python, "-c",
                 "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"},
       .heard = {},
       .asked_to_stop = {}});
  if (code == 0) return std::nullopt;
  constexpr const char* way_on =
      "cmake/setup-torch installs PyTorch and prints the path to set PENSTOCK_PYTHON to";
  if (code == cannot_start) {
    return Obstacle{true, fmt::format("cannot start {}; {}", python, way_on)};
  }
  return Obstacle{true, fmt::format("{} has no PyTorch; {}", python, way_on)};
}

JobLength torch_job_length(std::uint32_t ranks) {
  return {.mean_action_ns = 20'000'000, .most_work_ns = std::int64_t{2'000'000'000} * ranks};
}

}  // namespace penstock
