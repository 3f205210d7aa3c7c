#include "validate/wire/sockets.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <system_error>

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

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

void send_without_delay(const Descriptor& socket) {
  const int yes = 1;
  check(setsockopt(socket.number(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes), "TCP_NODELAY");
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

Listener listen_on_loopback() {
  Listener listener{Descriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)), 0};
  check(listener.socket.number(), "socket");
  sockaddr_in address = loopback(0);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  check(bind(listener.socket.number(), any, size), "bind");
  check(listen(listener.socket.number(), SOMAXCONN), "listen");
  check(getsockname(listener.socket.number(), any, &size), "getsockname");
  listener.port = ntohs(address.sin_port);
  return listener;
}

Descriptor connect_on_loopback(std::uint16_t port) {
  Descriptor one(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  check(one.number(), "socket");
  const sockaddr_in address = loopback(port);
  check(connect(one.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
        "connect");
  send_without_delay(one);
  return one;
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

void await_arrival(const Descriptor& socket) { await(socket, POLLIN, Moment::max()); }

void end_connection(const Descriptor& socket) { shutdown(socket.number(), SHUT_RDWR); }

}  // namespace penstock
