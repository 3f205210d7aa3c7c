#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/base/time.hpp"
#include "tests/support/chakra_reader.hpp"

namespace penstock::testing {

/// How long a message occupies a link, and its latency.
struct Carriage {
  Time occupies;
  Time latency;
};

/// Links between the devices of a replay: one for every ordered pair, and one for the collectives
/// of each device.
struct ReplayNetwork {
  std::function<Carriage(std::uint64_t bytes)> message;
  std::function<Carriage(const ReadNode& collective)> collective;
};

struct Replayed {
  Time makespan;
  std::uint32_t hops = 0;  // longest chain of messages
};

/// Replays traces, one per device, by longest path over dependencies, messages and links. Each link
/// serves first come, first served, in the order of its sender's nodes. Does not use plans. Throws
/// std::runtime_error if some node never runs.
Replayed replay(const std::vector<ReadTrace>& devices, const ReplayNetwork& network);

/// Errors of traces: duplicate node numbers, missing dependencies, messages without a counterpart
/// of the same size. Empty if there are none.
std::string trace_fault(const std::vector<ReadTrace>& devices);

}  // namespace penstock::testing
