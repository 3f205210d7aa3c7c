#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "validate/transports/tcp.hpp"
#include "validate/transports/tcp_frames.hpp"
#include "validate/wire/sockets.hpp"

namespace penstock {

// Greetings over a connection. All throw SocketError for a process of the same job with another
// version, plan or number of processes.

void send_greeting(const Descriptor& socket, const Greeting& own, Moment end);
/// The greeting from the other end; nothing from a stranger.
std::optional<Greeting> greeting_from(const Descriptor& socket, const Greeting& own, Moment end);

/// What is wrong with a process: it did not connect in time, or a second time.
struct PeerFaults {
  std::function<std::string(std::uint32_t process)> missing;
  std::function<std::string(std::uint32_t process)> second;
};
/// Accepts and answers the connections of all later processes; others are turned away.
void accept_peers(const Listener& listener, const Greeting& own, Moment end,
                  std::vector<Descriptor>& sockets, const PeerFaults& faults);

/// Connects one of several processes with all others: to earlier ones at their ports; later ones
/// connect to it. The connecting side greets first and is answered only if it has the token, so
/// strangers learn nothing; they are turned away.
///
/// Returns the connections by process, none for itself. Throws SocketError when processes are
/// missing after the time limit, or have another version or plan.
std::vector<Descriptor> connect_peers(const Listener& listener,
                                      const std::vector<std::uint16_t>& ports, const Greeting& own,
                                      Moment end);

/// Connected ends of several processes, all in this process; each is used by its own threads. For
/// measuring and testing connections.
std::vector<std::unique_ptr<TcpLinks>> tcp_links_here(const std::vector<BoxSpec>& boxes,
                                                      const std::vector<RankGroup>& groups);

/// Times of a tensor from one thread to another, in nanoseconds of real time: half of each round
/// trip, in order. Includes the wake-up of a waiting thread. Bytes are rounded up to words of 8.
/// Uses sockets of two ends on loopback, as between processes, but in one address space. Throws
/// std::runtime_error when this computer refuses.
std::vector<double> measure_link(std::size_t bytes, std::uint32_t repeats);

}  // namespace penstock
