#include "validate/launch/rendezvous.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "validate/launch/mpi/meeting_place.hpp"
#include "validate/transports/tcp_frames.hpp"
#include "validate/transports/tcp_peers.hpp"

namespace penstock {
namespace {

/// FNV-1a, from another start for each half of a token.
std::uint64_t hash_of(std::string_view text, std::uint64_t start) {
  std::uint64_t hash = 0xcbf29ce484222325 ^ start;
  for (const char one : text) {
    hash = (hash ^ static_cast<unsigned char>(one)) * 0x100000001b3;
  }
  return hash;
}

Greeting greeting_of(const Launch& launch, std::uint64_t plan, const Variables& variables) {
  const std::string secret = variables("PENSTOCK_TOKEN").value_or("");
  const std::string text = fmt::format("penstock/{}/{}/{}", launch.by, launch.job, secret);
  return {.token = {hash_of(text, 1), hash_of(text, 2)},
          .process = launch.rank,
          .processes = launch.ranks,
          .plan = plan};
}

SocketError missing_rank(const std::vector<Descriptor>& sockets, const Launch& launch,
                         std::uint32_t strangers) {
  std::uint32_t rank = 1;
  while (rank + 1 < sockets.size() && sockets[rank]) ++rank;
  return SocketError(fmt::format("rank {} did not connect to {}:{} in time; {} turned away", rank,
                                 launch.address, launch.port, strangers));
}

/// Of rank 0.
std::vector<Descriptor> meet_all(const Launch& launch, const Listener& listener,
                                 const Greeting& own, Moment end) {
  std::vector<Descriptor> sockets(launch.ranks);
  std::uint32_t strangers = 0;
  for (std::uint32_t awaited = launch.ranks - 1; awaited > 0;) {
    auto arrival = accept_before(listener, end);
    if (!arrival) throw missing_rank(sockets, launch, strangers);
    const auto read = greeting_of_arrival(*arrival, own, end);
    if (!read) {
      ++strangers;
      continue;
    }
    if (read->process == 0 || sockets[read->process]) {
      throw SocketError(fmt::format("two processes claim to be rank {}", read->process));
    }
    send_greeting(*arrival, own, end);
    sockets[read->process] = std::move(*arrival);
    --awaited;
  }
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

}  // namespace

std::vector<Descriptor> meet(const Launch& launch_of_all, std::uint64_t plan, Moment end,
                             const Variables& variables) {
  Launch launch = launch_of_all;
  Greeting own = greeting_of(launch, plan, variables);
  const bool by_mpi = has_mpi() && launch.by == open_mpi_launcher;
  Listener listener;
  if (launch.rank == 0) listener = listen_on_port(by_mpi ? 0 : launch.port);
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

}  // namespace penstock
