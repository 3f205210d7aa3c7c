#pragma once

#include <memory>

#include "validate/job/backend.hpp"
#include "validate/job/job.hpp"
#include "validate/job/rank_group.hpp"
#include "validate/machine/wall_clock.hpp"
#include "validate/transports/transport.hpp"

namespace penstock {

/// What one of several processes has of a run.
struct RunPart {
  RankGroup ranks;
  Transport& transport;  // for their tensors
  StartLine& line;       // where all ranks of all processes meet
};

/// What makes the backend of a part, which must outlive it as the job must. Its runs have the spans
/// of what its ranks do and send, and nothing for other tasks.
using MakePart = std::unique_ptr<Backend> (*)(const Job& job, const RunPart& part);

}  // namespace penstock
