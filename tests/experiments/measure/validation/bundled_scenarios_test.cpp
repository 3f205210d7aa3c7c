#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "experiments/measure/validation/validation.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

namespace penstock::testing {
namespace {

using Reasons = std::map<std::string, std::string>;  // by scenario

/// Their files, in order.
std::vector<std::string> scenarios_in(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(PENSTOCK_ROOT + folder)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// One iteration of short actions, without layers.
Validation run_once(const std::string& file) {
  ValidationOptions options;
  options.measuring = {.iterations = 1, .steady = 1e9};
  options.action_us = 2;
  options.bodies = Bodies::busy;
  return validate(read_scenario(file), *find_named(backend_entries(), "cpu_logical"), options);
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
    for (const std::string& file : scenarios_in(folder)) {
      CAPTURE(file);
      const std::string reason = why_not_run(file);
      if (!reason.empty()) left_out[std::filesystem::path(file).stem().string()] = reason;
    }
  }
  const std::string phases =
      "cpu_logical does not run formats that change over a training; /codec with one phase runs";
  const auto written = [](const std::string& task, const std::string& cell = "RECV") {
    return "cpu_logical does not run communication as written (" + task + " waits for its " + cell +
           " or its stream); it runs orders with /schedule/communication=implicit";
  };
  CHECK(left_out ==
        Reasons{{"a_format_gets_finer_when_the_metric_stands_still", phases},
                {"a_late_receive_holds_up_its_tensor", written("0SEND_F1")},
                {"a_stage_waits_for_the_weights_of_its_unshard", written("0GATHER0", "UNSHARD")},
                {"an_eager_tensor_does_not_wait_for_its_receive", written("0SEND_F1")},
                {"late_receives", written("0SEND_F1")},
                {"llama_8b_sharded_in_four_stages", written("0GATHER0", "UNSHARD")},
                {"phases_of_formats_are_as_they_are_given", phases},
                {"streams_of_messages_are_not_those_of_a_pair", written("1SEND_B0")}});
}

}  // namespace penstock::testing
