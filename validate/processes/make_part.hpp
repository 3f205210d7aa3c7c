#pragma once

#include <memory>

#include "validate/backend.hpp"
#include "validate/job.hpp"
#include "validate/processes/rank_group.hpp"
#include "validate/transport.hpp"

namespace penstock {

/// What makes the backend of some ranks of a job, whose tensors go by a given transport. Its runs
/// have the spans of what these ranks do and send, and nothing for other tasks.
using MakePart = std::unique_ptr<Backend> (*)(const Job& job, const RankGroup& ranks,
                                              Transport& transport);

}  // namespace penstock
