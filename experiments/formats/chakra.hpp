#pragma once

#include <cstdint>
#include <string>

#include "experiments/formats/traces/execution_trace.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// The device that is a rank of a data replica, as traces number them: replica * ranks + rank.
constexpr std::uint64_t trace_device(const ExecutionTrace& trace, std::uint32_t replica,
                                     Rank rank) {
  return std::uint64_t{replica} * trace.ranks.size() + index(rank);
}

/// What one device runs, as a Chakra execution trace: length-delimited protobuf messages, first one
/// GlobalMetadata, then the Nodes.
///
/// The schema is schema/protobuf/et_def.proto of github.com/mlcommons/chakra at commit 6dc63e14;
/// the version written is the one that Chakra's own generator writes, 0.0.4. Everything that a node
/// waits for is one of its `data_deps`: there are feeders that read no others. Attributes have the
/// types that ASTRA-sim reads: `is_cpu_op` (never), of messages `comm_src`, `comm_dst`, `comm_tag`
/// and `comm_size`, of collectives `comm_type`, `comm_size` and `pg_name`, of moves to and from the
/// host `tensor_size`; beside these every node has `stage` and `microbatch`. Names are those of
/// tasks: "2F5", and "2SEND_F5" with "2RECV_F5".
std::string chakra_trace(const Plan& plan, const ExecutionTrace& trace, std::uint32_t replica,
                         Rank rank);

/// The process groups that collectives name, as ASTRA-sim's --comm-group-configuration: rank r and
/// its copies in all replicas are group r + 1, since 0 is everyone.
std::string chakra_groups(const ExecutionTrace& trace);

}  // namespace penstock
