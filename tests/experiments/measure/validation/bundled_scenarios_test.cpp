#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <string>

#include "experiments/measure/validation/validation.hpp"
#include "sim/base/error.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/scratch.hpp"

namespace penstock::testing {
namespace {

using Reasons = std::map<std::string, std::string>;  // by scenario

/// One iteration of short actions, without layers.
Validation run_once(const std::string& file) {
  ValidationOptions options{
      .measuring = {.iterations = 1, .steady = 1e9}, .action_us = 2, .bodies = Bodies::busy};
  return validate(read_scenario(file), cpu_logical(), options);
}

/// Why a scenario does not run, or "".
std::string why_not_run(const std::string& file) {
  try {
    const Validation result = run_once(file);
    if (result.fault) return result.fault->kind;
    REQUIRE(result.measured.iterations.size() == 1);
    CHECK(result.errors.structure == 0);
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

// Both machines among them, and what is refused with its reason.
TEST_CASE("validation: every scenario of the repository runs as it is simulated") {
  Reasons left_out;
  for (const char* folder : {"/experiments/scenarios", "/tests/scenarios"}) {
    for (const std::string& file : paths_in(std::string(PENSTOCK_ROOT) + folder, ".json")) {
      CAPTURE(file);
      const std::string reason = why_not_run(file);
      if (!reason.empty()) left_out[std::filesystem::path(file).stem().string()] = reason;
    }
  }
  const std::string phases =
      "cpu_logical does not run formats that change over a training; /codec with one phase runs";
  CHECK(left_out == Reasons{{"a_format_gets_finer_when_the_metric_stands_still", phases},
                            {"phases_of_formats_are_as_they_are_given", phases}});
}

}  // namespace penstock::testing
