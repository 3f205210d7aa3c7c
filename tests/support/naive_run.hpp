#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/base/time.hpp"
#include "tests/support/system.hpp"

namespace penstock::testing {

/// When something began and ended; a transfer ends when it has arrived.
struct Span {
  Time begin;
  Time end;
  friend bool operator==(const Span&, const Span&) = default;
};

/// What a run comes to by the rules of the contract.
struct NaiveRun {
  bool finished = false;             // false: the order deadlocks
  std::map<std::string, Span> span;  // by text: "2F5", "2SEND_F5"
  Time makespan{};
  std::vector<std::uint64_t> peak_bytes;  // by rank
};

/// How a run differs from what the stages and links of its system cost.
struct Disturbance {
  std::map<std::string, Time> duration;  // of tasks, by text; the second part of a fused cell has 0
  std::map<std::string, Time> latency;   // of transfers
  Time issue{};                          // see Costs
  Time launch{};
};

/// Runs a system event by event, straight from the rules and as slowly as that is: it shares
/// neither plan nor engine with the program, so that the two can be held against each other.
NaiveRun run_naively(const System& system, const Disturbance& disturbance = {});

}  // namespace penstock::testing
