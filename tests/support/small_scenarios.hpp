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

/// Two stages of f = 1, b = 2 that send each other 4 kB in 2 us.
inline const std::string scenario_with_link = R"({
  "model": { "stages": [
    { "forward_us": 1, "backward_us": 2, "activation_bytes": 4096 },
    { "forward_us": 1, "backward_us": 2, "activation_bytes": 4096 } ] },
  "hardware": { "name": "ideal", "devices": 2, "latency_us": 1, "bandwidth_bytes_per_s": 4.096e9 },
  "schedule": { "name": "1f1b", "microbatches": 2 }
})";

/// Two layers of a few thousand FLOP, which backends really run.
inline const std::string scenario_two_mlps = R"({
  "model": { "sequence": 4, "microbatch": 1, "layers": [
    { "kind": "mlp", "hidden": 4, "intermediate": 8 },
    { "kind": "mlp", "hidden": 4, "intermediate": 8 } ] },
  "hardware": { "name": "roofline", "device": "a100-sxm4-80gb", "link": "nvlink-3", "devices": 2 },
  "schedule": { "name": "1f1b", "microbatches": 2 }
})";

/// Two data replicas, of which one has a rank that is three times as slow.
inline const std::string scenario_with_slow_replica = R"({
  "model":    { "stages": [ {"forward_us": 40, "backward_us": 80, "parameter_bytes": 1},
                            {"forward_us": 40, "backward_us": 80, "parameter_bytes": 1} ] },
  "hardware": { "name": "ideal", "devices": 4 },
  "parallel": { "pipeline": 2, "data": 2 },
  "schedule": { "name": "1f1b", "microbatches": 4 },
  "chance":   { "stragglers": [ {"rank": 1, "factor": 3, "replica": 1} ] } })";

/// Twelve ranks and one microbatch: eleven wait 1e12 us for the first, together longer than the
/// clock.
inline std::string scenario_idle_beyond_clock() {
  std::string stages = R"({"forward_us": 1e12, "backward_us": 0})";
  for (int rank = 1; rank < 12; ++rank) stages += R"(, {"forward_us": 0, "backward_us": 0})";
  return R"({"model": {"stages": [)" + stages +
         R"(]}, "schedule": {"name": "gpipe", "microbatches": 1}})";
}

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
