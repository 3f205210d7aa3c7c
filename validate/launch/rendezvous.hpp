#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "validate/wire/sockets.hpp"

namespace penstock {

/// What `Launch::by` says of Open MPI's mpirun.
constexpr const char* open_mpi_launcher = "Open MPI";

/// This process among those that a launcher started for one job, one per rank.
struct Launch {
  std::string by;   // "torchrun", "Open MPI" or "Slurm"
  std::string job;  // the launcher's name for it; may be empty
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;
  std::uint32_t local_rank = 0;  // among those on this host
  std::string address;           // of rank 0; empty: MPI says it
  std::uint16_t port = 0;        // where rank 0 listens
};

/// The value of an environment variable; nothing if unset or empty.
using Variables = std::function<std::optional<std::string>(const char* name)>;
std::optional<std::string> environment_variable(const char* name);

/// What torchrun, mpirun of Open MPI or srun says about this process; nothing without a launcher,
/// or for a job of one process. $PENSTOCK_PORT is the port of rank 0; without it, torchrun's
/// $MASTER_PORT + 1 (the port itself is torchrun's), else 29501. Throws UsageError for values that
/// make no sense or are missing.
std::optional<Launch> launch_of(const Variables& variables = environment_variable);

/// The first host of Slurm's "gpu[003-006,009],login1".
std::string first_host(const std::string& hosts);

/// The GPU of a process for CUDA_VISIBLE_DEVICES: entry `local_rank` of the `visible` ones, the
/// only one if there is one, or the number itself if all are visible. Throws UsageError if there
/// are fewer.
std::string gpu_of_rank(const std::optional<std::string>& visible, std::uint32_t local_rank);

/// Connects rank 0 of a launch with every other rank, over TCP. The other rank greets first, with
/// the name of the job and the hash of its plan; others are turned away without an answer.
/// $PENSTOCK_TOKEN is part of the greeting; rank 0 listens at the launch's address alone. In a
/// build with MPI, processes of Open MPI learn address, port and token from rank 0 by MPI, once.
///
/// Rank 0 gets the connections by rank, none to itself; every other rank its connection at index 0.
/// Throws SocketError when ranks are missing after the time limit, or have another plan, and
/// UsageError beyond loopback without a token.
std::vector<Descriptor> meet(const Launch& launch, std::uint64_t plan, Moment end,
                             const Variables& variables = environment_variable);

}  // namespace penstock
