#pragma once

#include <cstdint>
#include <string>

#include "experiments/input/formats/traces/execution_trace.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// The device that runs a rank of a data replica, as traces number it: replica * ranks + rank.
constexpr std::uint64_t trace_device(const ExecutionTrace& trace, std::uint32_t replica,
                                     Rank rank) {
  return std::uint64_t{replica} * trace.ranks.size() + index(rank);
}

/// The Chakra execution trace of one device: length-delimited protobuf messages, first one
/// GlobalMetadata, then the Nodes.
///
/// The schema is schema/protobuf/et_def.proto of github.com/mlcommons/chakra at commit 6dc63e14.
/// The version field is 0.0.4, as in Chakra's own generator. All dependencies are `data_deps`,
/// since some feeders read no others. Attributes have the types that ASTRA-sim reads: `is_cpu_op`
/// (always false); `comm_src`, `comm_dst`, `comm_tag` and `comm_size` of messages; `comm_type`,
/// `comm_size` and `pg_name` of collectives; `tensor_size` of moves to and from the host. A
/// compute node has its length in whole microseconds for replay, and in nanoseconds for the
/// roofline of `astra_system`: `num_ops` of 1,000 each, and a `tensor_size` of 1. Every node also
/// has `stage` and `microbatch`. Names are those of tasks: "2F5", "2SEND_F5", "2RECV_F5".
std::string chakra_trace(const Plan& plan, const ExecutionTrace& trace, std::uint32_t replica,
                         Rank rank);

/// The process groups of collectives, for ASTRA-sim's --comm-group-configuration: rank r of all
/// replicas is group r + 1, since group 0 is all devices.
std::string chakra_groups(const ExecutionTrace& trace);

}  // namespace penstock
