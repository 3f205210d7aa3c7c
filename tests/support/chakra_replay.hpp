#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/base/time.hpp"
#include "tests/support/chakra_reader.hpp"

namespace penstock::testing {

/// How long something holds a link, and how much later it is there.
struct Carriage {
  Time occupies;
  Time latency;
};

/// What the devices of a replay are joined by: a link for every ordered pair, and one for the
/// collectives of each.
struct ReplayNetwork {
  std::function<Carriage(std::uint64_t bytes)> message;
  std::function<Carriage(const ReadNode& collective)> collective;
};

struct Replayed {
  Time makespan;
  std::uint32_t hops = 0;  // the most messages one behind the other
};

/// Runs traces, one a device, by longest path over their dependencies, messages and links, each
/// link first come first served in the order of its sender's nodes. Knows nothing of plans. Throws
/// std::runtime_error when some node never gets to run.
Replayed replay(const std::vector<ReadTrace>& devices, const ReplayNetwork& network);

/// What is wrong with traces: numbers of nodes that come twice, dependencies on nodes that are not
/// there, messages without their other end or with another size there. Empty where nothing is.
std::string trace_fault(const std::vector<ReadTrace>& devices);

}  // namespace penstock::testing
