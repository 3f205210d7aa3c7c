#pragma once

#include <cstdint>
#include <vector>

#include "validate/launch/launch_environment.hpp"
#include "validate/wire/sockets.hpp"

namespace penstock {

/// Connects rank 0 of a launch with every other rank, over TCP. The other rank greets first, with
/// the name of the job and the hash of its plan; others are turned away without an answer.
/// $PENSTOCK_TOKEN, if set for all, is part of the greeting. In a build with MPI, processes of
/// Open MPI learn address, port and token from rank 0 by MPI, once.
///
/// Rank 0 gets the connections by rank, none to itself; every other rank its connection at index 0.
/// Throws SocketError when ranks are missing after the time limit, or have another plan.
std::vector<Descriptor> meet(const Launch& launch, std::uint64_t plan, Moment end,
                             const Variables& variables = environment_variable);

}  // namespace penstock
