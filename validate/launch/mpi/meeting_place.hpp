#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace penstock {

/// Where rank 0 waits for the other processes of a launch, and the token of their greetings.
struct MeetingPlace {
  std::array<char, 256> host = {};  // empty: that of rank 0 by MPI
  std::uint16_t port = 0;
  std::array<std::uint64_t, 2> token = {};
};

/// Whether this build asks MPI.
bool has_mpi();

/// The place of rank 0, which MPI hands out to all: called once by every process of an mpirun. MPI
/// is over when it returns, so that a process may end at any time. Nothing in a build without MPI.
std::optional<MeetingPlace> handed_out(const MeetingPlace& own);

}  // namespace penstock
