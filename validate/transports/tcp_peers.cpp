#include "validate/transports/tcp_peers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "validate/machine/host.hpp"

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

/// Nothing for a stranger.
std::optional<Greeting> checked(const std::array<std::byte, greeting_bytes>& bytes,
                                const Greeting& own) {
  Greeting read;
  const HandshakeResult found = check_greeting(bytes, own, read);
  if (found == HandshakeResult::stranger) return std::nullopt;
  if (found != HandshakeResult::peer) throw SocketError(fault_of(found, own, read));
  return read;
}

/// Of an incoming connection: errors of strangers are ignored, and slow ones too.
std::optional<Greeting> greeting_of_arrival(const Descriptor& socket, const Greeting& own,
                                            Moment end) {
  std::array<std::byte, greeting_bytes> bytes{};
  try {
    if (!receive_all(socket, bytes, std::min(end, after(greeting_limit)))) return std::nullopt;
  } catch (const SocketError&) {
    return std::nullopt;
  }
  return checked(bytes, own);
}

/// A box is filled once per run, so each round trip has two of its own.
std::vector<BoxSpec> boxes_for(std::uint32_t round_trips, std::size_t words) {
  std::vector<BoxSpec> boxes;
  for (std::uint32_t i = 0; i < round_trips; ++i) {
    boxes.push_back({0, 1, words});
    boxes.push_back({1, 0, words});
  }
  return boxes;
}

void pass(Transport& transport, std::size_t from, std::size_t to, bool begins,
          std::vector<std::uint64_t>& words) {
  if (begins) transport.post(to, {}, words);
  if (!transport.take(from, words)) throw std::runtime_error("the measured link broke");
  if (!begins) transport.post(to, {}, words);
}

/// The time of each round trip; the first one is cold.
std::vector<double> round_trips_ns(const std::vector<std::unique_ptr<TcpLinks>>& ends,
                                   std::uint32_t count, std::size_t size) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> ns(count);
  for (const auto& end : ends) end->clear();
  const auto walk = [&](std::uint32_t rank) {
    std::vector<std::uint64_t> words(size);
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto begin = Clock::now();
      pass(*ends[rank], 2 * i + 1 - rank, 2 * i + rank, rank == 0, words);
      const std::chrono::duration<double, std::nano> took = Clock::now() - begin;
      if (rank == 0) ns[i] = took.count();
    }
    ends[rank]->finish(rank);
  };
  on_all_ranks(2, walk, [&] {
    for (const auto& end : ends) end->halt();
  });
  return ns;
}

}  // namespace

void send_greeting(const Descriptor& socket, const Greeting& own, Moment end) {
  const ByteWriter greeting = bytes_of(own);
  send_all(socket, greeting.bytes(), end);
}

std::optional<Greeting> greeting_from(const Descriptor& socket, const Greeting& own, Moment end) {
  std::array<std::byte, greeting_bytes> bytes{};
  if (!receive_all(socket, bytes, end)) return std::nullopt;
  return checked(bytes, own);
}

void accept_peers(const Listener& listener, const Greeting& own, Moment end,
                  std::vector<Descriptor>& sockets, const PeerFaults& faults) {
  std::uint32_t strangers = 0;
  for (std::uint32_t next = own.process + 1; next < own.processes;) {
    if (sockets[next]) {
      ++next;
      continue;
    }
    auto arrival = accept_before(listener, end);
    if (!arrival) {
      throw SocketError(fmt::format("{}; {} turned away", faults.missing(next), strangers));
    }
    const auto read = greeting_of_arrival(*arrival, own, end);
    if (!read) {
      ++strangers;
      continue;
    }
    if (read->process <= own.process || sockets[read->process]) {
      throw SocketError(faults.second(read->process));
    }
    send_greeting(*arrival, own, end);
    sockets[read->process] = std::move(*arrival);
  }
}

std::vector<Descriptor> connect_peers(const Listener& listener,
                                      const std::vector<std::uint16_t>& ports, const Greeting& own,
                                      Moment end) {
  std::vector<Descriptor> sockets(own.processes);
  for (std::uint32_t process = 0; process < own.process; ++process) {
    sockets[process] = connect_to(process, ports[process], own, end);
  }
  accept_peers(
      listener, own, end, sockets,
      {.missing = [](auto one) { return fmt::format("process {} did not connect in time", one); },
       .second =
           [](auto one) { return fmt::format("unexpected connection from process {}", one); }});
  return sockets;
}

std::vector<std::unique_ptr<TcpLinks>> tcp_links_here(const std::vector<BoxSpec>& boxes,
                                                      const std::vector<RankGroup>& groups) {
  constexpr std::chrono::seconds patience(30);
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

std::vector<double> measure_link(std::size_t bytes, std::uint32_t repeats) {
  constexpr std::size_t room = std::size_t{1} << 25;
  const std::size_t words = (bytes + 7) / 8;
  const auto fit = static_cast<std::uint32_t>(room / std::max<std::size_t>(16 * words, 1));
  const std::uint32_t at_once = std::clamp<std::uint32_t>(fit, 1, 64) + 1;
  const auto ends = tcp_links_here(boxes_for(at_once, words), {{0, 1}, {1, 2}});
  std::vector<double> samples;
  while (samples.size() < repeats) {
    const std::vector<double> round_trips = round_trips_ns(ends, at_once, words);
    for (std::size_t i = 1; i < round_trips.size() && samples.size() < repeats; ++i) {
      samples.push_back(round_trips[i] / 2);
    }
  }
  return samples;
}

}  // namespace penstock
