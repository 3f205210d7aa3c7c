#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/base/time.hpp"
#include "tests/support/system.hpp"

namespace penstock::testing {

/// Start and end of a task; a transfer ends when it has arrived.
struct Span {
  Time begin;
  Time end;
  friend bool operator==(const Span&, const Span&) = default;
};

/// The result of a run by the documented rules.
struct NaiveRun {
  bool finished = false;             // false: the order deadlocks
  std::map<std::string, Span> span;  // by text: "2F5", "2SEND_F5"
  Time makespan{};
  std::vector<std::uint64_t> peak_bytes;  // by rank
};

/// Deviations of a run from the costs of its system.
struct Disturbance {
  std::map<std::string, Time> duration;  // of tasks, by text; the second half of a fused cell has 0
  std::map<std::string, Time> latency;   // of transfers
  Time issue{};                          // see Costs
  Time launch{};
};

/// Runs a system event by event, directly from the rules and slowly. Shares neither plan nor engine
/// with the program, so that their results can be compared.
NaiveRun run_naively(const System& system, const Disturbance& disturbance = {});

}  // namespace penstock::testing
