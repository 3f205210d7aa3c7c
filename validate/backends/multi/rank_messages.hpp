#pragma once

#include "validate/backends/multi/rank_executor.hpp"
#include "validate/processes/control.hpp"

namespace penstock {

// Bodies of messages between rank 0's process and the ranks. Readers throw std::runtime_error for
// invalid ones.

ByteWriter body_of(const RankRun& run);
RankRun rank_run_in(const ControlMessage& message);
ByteWriter body_of(const NcclId& id);
NcclId nccl_id_in(const ControlMessage& message);
ByteWriter body_of(std::int64_t ns);
std::int64_t ns_in(const ControlMessage& message);

}  // namespace penstock
