#include "validate/transports/tcp_peers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "validate/machine/cores.hpp"

namespace penstock {
namespace {

/// Time limit of a greeting: others may be waiting.
constexpr std::chrono::milliseconds greeting_limit{2'000};

/// Why a process with the token is still not a peer.
std::string fault_of(HandshakeResult result, const Greeting& own, const Greeting& read) {
  switch (result) {
    case HandshakeResult::peer:
      break;
    case HandshakeResult::stranger:
      return "an unknown program answered instead of a process";
    case HandshakeResult::other_version:
      return fmt::format("a process has version {}; expected {}", read.version, own.version);
    case HandshakeResult::other_plan:
      return fmt::format("process {} has another plan", read.process);
    case HandshakeResult::other_processes:
      return fmt::format("a process claims to be {} of {}; this is {} of {}", read.process,
                         read.processes, own.process, own.processes);
  }
  return "";
}

Descriptor connect_to(std::uint32_t process, std::uint16_t port, const Greeting& own, Moment end) {
  Descriptor socket = connect_on_loopback(port);
  send_greeting(socket, own, end);
  const auto read = greeting_from(socket, own, end);
  if (!read) throw SocketError(fmt::format("process {} did not answer a greeting", process));
  if (read->process == process) return socket;
  throw SocketError(fmt::format("process {} answers as process {}", process, read->process));
}

SocketError missing(const std::vector<Descriptor>& sockets, std::uint32_t self,
                    std::uint32_t strangers) {
  for (std::uint32_t process = self + 1; process < sockets.size(); ++process) {
    if (sockets[process]) continue;
    return SocketError(
        fmt::format("process {} did not connect in time; {} turned away", process, strangers));
  }
  return SocketError("a process did not connect in time");
}

}  // namespace

void send_greeting(const Descriptor& socket, const Greeting& own, Moment end) {
  const ByteWriter greeting = bytes_of(own);
  send_all(socket, greeting.bytes(), end);
}

std::optional<Greeting> greeting_from(const Descriptor& socket, const Greeting& own, Moment end) {
  std::array<std::byte, greeting_bytes> bytes{};
  if (!receive_all(socket, bytes, end)) return std::nullopt;
  Greeting read;
  const HandshakeResult found = check_greeting(bytes, own, read);
  if (found == HandshakeResult::stranger) return std::nullopt;
  if (found != HandshakeResult::peer) throw SocketError(fault_of(found, own, read));
  return read;
}

std::optional<Greeting> greeting_of_arrival(const Descriptor& socket, const Greeting& own,
                                            Moment end) {
  std::array<std::byte, greeting_bytes> bytes{};
  try {
    if (!receive_all(socket, bytes, std::min(end, after(greeting_limit)))) return std::nullopt;
  } catch (const SocketError&) {
    return std::nullopt;
  }
  Greeting read;
  const HandshakeResult found = check_greeting(bytes, own, read);
  if (found == HandshakeResult::stranger) return std::nullopt;
  if (found != HandshakeResult::peer) throw SocketError(fault_of(found, own, read));
  return read;
}

std::vector<Descriptor> connect_peers(const Listener& listener,
                                      const std::vector<std::uint16_t>& ports, const Greeting& own,
                                      Moment end) {
  std::vector<Descriptor> sockets(own.processes);
  for (std::uint32_t process = 0; process < own.process; ++process) {
    sockets[process] = connect_to(process, ports[process], own, end);
  }
  std::uint32_t strangers = 0;
  for (std::uint32_t awaited = own.processes - own.process - 1; awaited > 0;) {
    auto arrival = accept_before(listener, end);
    if (!arrival) throw missing(sockets, own.process, strangers);
    const auto read = greeting_of_arrival(*arrival, own, end);
    if (!read) {
      ++strangers;
      continue;
    }
    if (read->process <= own.process || sockets[read->process]) {
      throw SocketError(fmt::format("unexpected connection from process {}", read->process));
    }
    send_greeting(*arrival, own, end);
    sockets[read->process] = std::move(*arrival);
    --awaited;
  }
  return sockets;
}

std::vector<std::unique_ptr<TcpLinks>> tcp_links_here(const std::vector<BoxSpec>& boxes,
                                                      const std::vector<RankGroup>& groups,
                                                      std::chrono::milliseconds patience) {
  std::vector<Listener> listeners;
  std::vector<std::uint16_t> ports;
  for (std::size_t process = 0; process < groups.size(); ++process) {
    listeners.push_back(listen_on_loopback());
    ports.push_back(listeners.back().port);
  }
  const auto count = static_cast<std::uint32_t>(groups.size());
  const auto token = random_token();
  std::vector<std::unique_ptr<TcpLinks>> links(count);
  const auto connect = [&](std::uint32_t process) {
    const Greeting own{.token = token, .process = process, .processes = count};
    auto sockets = connect_peers(listeners[process], ports, own, after(patience));
    links[process] =
        std::make_unique<TcpLinks>(boxes, groups, process, std::move(sockets), patience);
  };
  on_all_ranks(count, connect, [] {});
  return links;
}

}  // namespace penstock
