#pragma once

#include <memory>

#include "validate/job/backend.hpp"
#include "validate/job/job.hpp"
#include "validate/job/replica_ranks.hpp"
#include "validate/machine/clock.hpp"
#include "validate/transports/transport.hpp"

namespace penstock {

/// One process's part of a run.
struct RunPart {
  RankGroup ranks;
  Transport& transport;  // of tensors
  StartLine& line;       // shared by all ranks of all processes
};

/// Makes the backend of a part; part and job must outlive it. Its runs have only spans of its own
/// ranks and their transfers.
using MakePart = std::unique_ptr<Backend> (*)(const Job& job, const RunPart& part);

/// A backend of this type, of a job or of a part of its run.
template <class Type>
std::unique_ptr<Backend> made(const Job& job) {
  return std::make_unique<Type>(job);
}
template <class Type>
std::unique_ptr<Backend> made(const Job& job, const RunPart& part) {
  return std::make_unique<Type>(job, part);
}

}  // namespace penstock
