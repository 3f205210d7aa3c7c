#include "validate/wire/sockets.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <string>
#include <system_error>
#include <thread>

namespace penstock {
namespace {

using std::chrono::milliseconds;

std::string system_reason(const char* doing) {
  return fmt::format("{}: {}", doing, std::generic_category().message(errno));
}

void check(int result, const char* doing) {
  if (result < 0) throw SocketError(system_reason(doing));
}

/// For poll; rounded up, so that it does not spin through the last millisecond.
int milliseconds_until(Moment end) {
  if (end == Moment::max()) return -1;
  const auto left = std::chrono::ceil<milliseconds>(end - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<milliseconds::rep>(left.count(), 0, 60'000));
}

/// Returns whether a descriptor became ready in time.
bool await(const Descriptor& socket, short what, Moment end) {
  pollfd one{socket.number(), what, 0};
  while (true) {
    const int ready = poll(&one, 1, milliseconds_until(end));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) throw SocketError(system_reason("poll"));
    if (std::chrono::steady_clock::now() >= end) return false;
  }
}

sockaddr_in at_interface(in_addr_t interface, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(interface);
  return address;
}

void send_without_delay(const Descriptor& socket) {
  const int yes = 1;
  check(setsockopt(socket.number(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes), "TCP_NODELAY");
}

Listener listen_at(sockaddr_in address) {
  Listener listener{Descriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)), 0};
  check(listener.socket.number(), "socket");
  const int yes = 1;
  check(setsockopt(listener.socket.number(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes),
        "SO_REUSEADDR");
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  check(bind(listener.socket.number(), any, size), "bind");
  check(listen(listener.socket.number(), SOMAXCONN), "listen");
  check(getsockname(listener.socket.number(), any, &size), "getsockname");
  listener.port = ntohs(address.sin_port);
  return listener;
}

/// A connection to one of the addresses of a host; none if nobody listens there.
Descriptor try_to_connect(const addrinfo* addresses) {
  for (const addrinfo* one = addresses; one != nullptr; one = one->ai_next) {
    Descriptor made(socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol));
    if (made && connect(made.number(), one->ai_addr, one->ai_addrlen) == 0) return made;
  }
  return {};
}

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses addresses_of(const std::string& host, std::uint16_t port) {
  addrinfo wanted{};
  wanted.ai_family = AF_INET;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), fmt::format("{}", port).c_str(), &wanted, &found);
  if (error != 0) throw SocketError(fmt::format("{}: {}", host, gai_strerror(error)));
  return {found, freeaddrinfo};
}

bool is_for_later(ssize_t result) {
  return result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

}  // namespace

Moment after(milliseconds length) { return std::chrono::steady_clock::now() + length; }

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

Descriptor::~Descriptor() {
  if (number_ >= 0) close(number_);
}

Listener listen_on_loopback() { return listen_at(at_interface(INADDR_LOOPBACK, 0)); }

Listener listen_on_port(std::uint16_t port) { return listen_at(at_interface(INADDR_ANY, port)); }

bool is_loopback(const std::string& host) {
  return host == "localhost" || host.starts_with("127.");
}

Listener listen_as_host(const std::string& host, std::uint16_t port) {
  const Addresses addresses = addresses_of(host, port);
  const sockaddr_in first = *reinterpret_cast<const sockaddr_in*>(addresses->ai_addr);
  const bool loopback = ntohl(first.sin_addr.s_addr) >> 24U == IN_LOOPBACKNET;
  if (loopback && !is_loopback(host)) return listen_on_port(port);
  try {
    return listen_at(first);
  } catch (const SocketError& error) {
    throw SocketError(fmt::format("{}:{}: {}; MASTER_ADDR must be an address of this host", host,
                                  port, error.what()));
  }
}

Descriptor connect_on_loopback(std::uint16_t port) {
  Descriptor one(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  check(one.number(), "socket");
  const sockaddr_in address = at_interface(INADDR_LOOPBACK, port);
  check(connect(one.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
        "connect");
  send_without_delay(one);
  return one;
}

Descriptor connect_to_host(const std::string& host, std::uint16_t port, Moment end) {
  constexpr milliseconds pause{100};
  const Addresses addresses = addresses_of(host, port);
  while (true) {
    Descriptor made = try_to_connect(addresses.get());
    if (made) {
      send_without_delay(made);
      return made;
    }
    if (std::chrono::steady_clock::now() + pause > end) {
      throw SocketError(system_reason(fmt::format("connecting to {}:{}", host, port).c_str()));
    }
    std::this_thread::sleep_for(pause);
  }
}

std::optional<Descriptor> accept_before(const Listener& listener, Moment end) {
  while (await(listener.socket, POLLIN, end)) {
    Descriptor one(accept4(listener.socket.number(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!one && (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED)) continue;
    check(one.number(), "accept");
    send_without_delay(one);
    return one;
  }
  return std::nullopt;
}

std::pair<Descriptor, Descriptor> connected_pair() {
  std::array<int, 2> ends{};
  check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), "socketpair");
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

void send_all(const Descriptor& socket, std::span<const std::byte> bytes, Moment end) {
  while (!bytes.empty()) {
    const ssize_t sent =
        send(socket.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    } else if (!is_for_later(sent)) {
      throw SocketError(system_reason("cannot be sent to"));
    } else if (!await(socket, POLLOUT, end)) {
      throw SocketError("stopped receiving");
    }
  }
}

bool receive_all(const Descriptor& socket, std::span<std::byte> bytes, Moment end) {
  const std::size_t wanted = bytes.size();
  while (!bytes.empty()) {
    const ssize_t came = recv(socket.number(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (came > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(came));
    } else if (came == 0) {
      if (bytes.size() == wanted) return false;
      throw SocketError("closed its connection within a message");
    } else if (!is_for_later(came)) {
      throw SocketError(system_reason("cannot be read"));
    } else if (!await(socket, POLLIN, end)) {
      throw SocketError("fell silent within a message");
    }
  }
  return true;
}

bool await_arrival(const Descriptor& socket, Moment end) { return await(socket, POLLIN, end); }

void end_connection(const Descriptor& socket) { shutdown(socket.number(), SHUT_RDWR); }

}  // namespace penstock
