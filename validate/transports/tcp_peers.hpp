#pragma once

#include <cstdint>
#include <vector>

#include "validate/transports/tcp_frames.hpp"
#include "validate/wire/sockets.hpp"

namespace penstock {

/// Connects one of several processes with each of the others: to those before it at their ports,
/// and the rest to it. Who connects greets first and is answered only when it knows the token, so
/// that a stranger learns nothing; strangers are turned away and waited past.
///
/// Gives the connections by process, none for itself. Throws SocketError where they are not all
/// there in time, or a process speaks another version or has another plan.
std::vector<Descriptor> connect_peers(const Listener& listener,
                                      const std::vector<std::uint16_t>& ports, const Greeting& own,
                                      Moment end);

}  // namespace penstock
