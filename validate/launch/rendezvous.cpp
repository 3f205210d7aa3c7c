#include "validate/launch/rendezvous.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "sim/base/error.hpp"
#include "sim/base/plain_numbers.hpp"
#include "validate/launch/mpi/meeting_place.hpp"
#include "validate/statistics/bootstrap.hpp"
#include "validate/transports/tcp_frames.hpp"
#include "validate/transports/tcp_peers.hpp"

namespace penstock {
namespace {

Greeting greeting_of(const Launch& launch, std::uint64_t plan, const Variables& variables) {
  const std::string secret = variables("PENSTOCK_TOKEN").value_or("");
  const std::string text = fmt::format("penstock/{}/{}/{}", launch.by, launch.job, secret);
  return {.token = {text_hash(text, 1), text_hash(text, 2)},
          .process = launch.rank,
          .processes = launch.ranks,
          .plan = plan};
}

/// On a network anybody could know the name of a job.
void check_token(const Launch& launch, const Variables& variables) {
  if (is_loopback(launch.address) || variables("PENSTOCK_TOKEN")) return;
  throw UsageError(fmt::format(
      "rank 0 listens at {}:{}, where others may connect too: set PENSTOCK_TOKEN to the "
      "same secret word for all processes",
      launch.address, launch.port));
}

/// Of rank 0.
std::vector<Descriptor> meet_all(const Launch& launch, const Listener& listener,
                                 const Greeting& own, Moment end) {
  std::vector<Descriptor> sockets(launch.ranks);
  const auto missing = [&](std::uint32_t rank) {
    return fmt::format("rank {} did not connect to {}:{} in time", rank, launch.address,
                       launch.port);
  };
  const auto second = [](std::uint32_t rank) {
    return fmt::format("two processes claim to be rank {}", rank);
  };
  accept_peers(listener, own, end, sockets, {missing, second});
  return sockets;
}

/// Changes the place and the token of a launch to those that rank 0 hands out by MPI.
void ask_mpi(const Listener& listener, Launch& launch, Greeting& greeting) {
  MeetingPlace own{.host = {}, .port = listener.port, .token = random_token()};
  launch.address.copy(own.host.data(), own.host.size() - 1);
  const auto place = handed_out(own);
  launch.address = place->host.data();
  launch.port = place->port;
  greeting.token = place->token;
}

constexpr std::uint16_t usual_port = 29501;

/// The variables of one launcher.
struct Names {
  const char* launcher;
  const char* rank;
  const char* ranks;
  const char* local_rank;
  const char* job;
};
constexpr Names torchrun{"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "TORCHELASTIC_RUN_ID"};
constexpr Names open_mpi{open_mpi_launcher, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                         "OMPI_COMM_WORLD_LOCAL_RANK", "PMIX_NAMESPACE"};
constexpr Names slurm{"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID",
                      "SLURM_JOB_ID"};

std::uint32_t number_in(const std::string& value, const char* name, std::uint32_t most) {
  const auto number = whole_number<std::uint32_t>(value);
  if (number && *number <= most) return *number;
  throw UsageError(fmt::format("{}={}: expected a number from 0 to {}", name, value, most));
}

std::uint32_t number_of(const Variables& variables, const Names& names, const char* name) {
  constexpr std::uint32_t most = 65'535;
  const auto value = variables(name);
  if (value) return number_in(*value, name, most);
  throw UsageError(
      fmt::format("{} is not set, though {} set {}", name, names.launcher, names.rank));
}

std::uint16_t port_of(const Variables& variables) {
  constexpr std::uint32_t most = 65'535;
  const auto port = [&](const char* name) -> std::optional<std::uint16_t> {
    const auto value = variables(name);
    if (!value) return std::nullopt;
    return static_cast<std::uint16_t>(number_in(*value, name, most));
  };
  if (const auto own = port("PENSTOCK_PORT")) return *own;
  const auto master = port("MASTER_PORT");
  return master && *master < most ? static_cast<std::uint16_t>(*master + 1) : usual_port;
}

/// Where rank 0 is, if the launcher tells.
std::string address_of(const Variables& variables, const Names& names) {
  if (const auto address = variables("MASTER_ADDR")) return *address;
  if (&names == &slurm) {
    if (const auto hosts = variables("SLURM_STEP_NODELIST")) return first_host(*hosts);
  }
  const auto here = variables("OMPI_COMM_WORLD_LOCAL_SIZE");
  if (&names == &open_mpi && here && here == variables(names.ranks)) return "127.0.0.1";
  if (&names == &open_mpi && has_mpi()) return "";
  throw UsageError(
      fmt::format("{} does not say where rank 0 is: set MASTER_ADDR to the address of its host",
                  names.launcher));
}

Launch launch_by(const Names& names, const Variables& variables) {
  Launch launch;
  launch.by = names.launcher;
  launch.job = variables(names.job).value_or("");
  launch.rank = number_of(variables, names, names.rank);
  launch.ranks = number_of(variables, names, names.ranks);
  launch.local_rank = number_of(variables, names, names.local_rank);
  if (launch.rank >= launch.ranks) {
    throw UsageError(fmt::format("{}={}: expected less than {}={}", names.rank, launch.rank,
                                 names.ranks, launch.ranks));
  }
  return launch;
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> entries;
  std::istringstream all(list);
  for (std::string entry; std::getline(all, entry, ',');) entries.push_back(entry);
  return entries;
}

}  // namespace

std::vector<Descriptor> meet(const Launch& launch_of_all, std::uint64_t plan, Moment end,
                             const Variables& variables) {
  Launch launch = launch_of_all;
  Greeting own = greeting_of(launch, plan, variables);
  const bool by_mpi = has_mpi() && launch.by == open_mpi_launcher;
  if (!by_mpi) check_token(launch, variables);
  Listener listener;
  if (launch.rank == 0) {
    listener = by_mpi ? listen_on_port(0) : listen_as_host(launch.address, launch.port);
  }
  if (by_mpi) ask_mpi(listener, launch, own);
  if (launch.rank == 0) return meet_all(launch, listener, own, end);
  std::vector<Descriptor> sockets(1);
  sockets.front() = connect_to_host(launch.address, launch.port, end);
  send_greeting(sockets.front(), own, end);
  const auto read = greeting_from(sockets.front(), own, end);
  if (read && read->process == 0) return sockets;
  throw SocketError(fmt::format("rank 0 at {}:{} turned this process away: another job or token",
                                launch.address, launch.port));
}

std::optional<std::string> environment_variable(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::optional<Launch> launch_of(const Variables& variables) {
  const Names* names = nullptr;
  if (variables(torchrun.rank) && variables(torchrun.ranks)) {
    names = &torchrun;
  } else if (variables(open_mpi.rank)) {
    names = &open_mpi;
  } else if (variables("SLURM_STEP_ID") && variables(slurm.rank)) {  // not of a batch script
    names = &slurm;
  }
  if (names == nullptr) return std::nullopt;
  Launch launch = launch_by(*names, variables);
  if (launch.ranks == 1) return std::nullopt;
  launch.address = address_of(variables, *names);
  launch.port = port_of(variables);
  return launch;
}

std::string first_host(const std::string& hosts) {
  const std::size_t open = hosts.find('[');
  const std::size_t comma = hosts.find(',');
  if (open == std::string::npos || comma < open) return hosts.substr(0, comma);
  const std::size_t close = hosts.find(']', open);
  const std::string numbers = hosts.substr(open + 1, close - open - 1);
  const std::string rest = close == std::string::npos ? "" : hosts.substr(close + 1);
  return hosts.substr(0, open) + numbers.substr(0, numbers.find_first_of("-,")) +
         rest.substr(0, rest.find(','));
}

std::string gpu_of_rank(const std::optional<std::string>& visible, std::uint32_t local_rank) {
  if (!visible) return fmt::format("{}", local_rank);
  const std::vector<std::string> entries = split(*visible);
  if (entries.size() == 1) return entries.front();
  if (local_rank < entries.size()) return entries[local_rank];
  throw UsageError(
      fmt::format("CUDA_VISIBLE_DEVICES={}: {} GPUs, and this is process {} of its host", *visible,
                  entries.size(), local_rank));
}

}  // namespace penstock
