#pragma once

#include <string>
#include <vector>

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/run.hpp"
#include "sim/base/error.hpp"

namespace penstock::testing {

/// Two stages of f = 1, b = 2: 1f1b with 4 microbatches takes (4 + 1) * 3 = 15.
inline const std::string scenario_plain = R"({
  "model":    { "stages": [ {"forward_us": 1, "backward_us": 2},
                            {"forward_us": 1, "backward_us": 2} ] },
  "schedule": { "name": "1f1b", "microbatches": 4 }
})";

/// The error of a scenario called s.json after some settings; "makespan 15" when there is none.
inline std::string outcome_of(const std::string& text,
                              const std::vector<std::string>& settings = {}) {
  try {
    const RunResult result = run(parse_scenario(text, "s.json", settings));
    return "makespan " + (result.report ? text_us(result.report->makespan) : "none");
  } catch (const InputError& error) {
    return error.what();
  } catch (const UsageError& error) {
    return std::string("usage: ") + error.what();
  }
}

}  // namespace penstock::testing
