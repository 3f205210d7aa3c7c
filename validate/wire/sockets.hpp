#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

namespace penstock {

using Moment = std::chrono::steady_clock::time_point;

/// A moment this long from now.
Moment after(std::chrono::milliseconds length);

/// What is wrong with a connection, in words that follow the name of the other end: "stopped
/// receiving".
class SocketError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Owns a file descriptor, or none.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();

  int number() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

/// A listening socket.
struct Listener {
  Descriptor socket;
  std::uint16_t port = 0;
};

/// Listens on loopback at a free port. This and those below that connect throw SocketError when the
/// system refuses.
Listener listen_on_loopback();
/// Listens on all interfaces; port 0: at a free one.
Listener listen_on_port(std::uint16_t port);
/// Whether a host is this one alone, by its name: "localhost" or an address of loopback.
bool is_loopback(const std::string& host);
/// Listens on the interface that has the address of a host, which is this one. On all interfaces
/// where its name means loopback here, as hosts files of Debian have it.
Listener listen_as_host(const std::string& host, std::uint16_t port);
/// Connects without delay of small messages (TCP_NODELAY).
Descriptor connect_on_loopback(std::uint16_t port);
/// Connects to another computer, and tries again until somebody listens there or time is up.
Descriptor connect_to_host(const std::string& host, std::uint16_t port, Moment end);
/// The next connection; nothing if none comes in time.
std::optional<Descriptor> accept_before(const Listener& listener, Moment end);
/// Two connected ends, private to this process.
std::pair<Descriptor, Descriptor> connected_pair();

/// Sends everything. Throws SocketError when the other end is gone or not receiving in time. Never
/// raises SIGPIPE.
void send_all(const Descriptor& socket, std::span<const std::byte> bytes, Moment end);
/// Fills the whole buffer. Returns false if the other end closed before the first byte; throws
/// SocketError if it closed later or the rest is late.
bool receive_all(const Descriptor& socket, std::span<std::byte> bytes, Moment end);
/// Waits for data or the end of the connection; returns whether there is any before `end`.
bool await_arrival(const Descriptor& socket, Moment end = Moment::max());
/// Ends a connection that others may be waiting on.
void end_connection(const Descriptor& socket);

}  // namespace penstock
