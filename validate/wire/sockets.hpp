#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
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

/// A listening socket on loopback.
struct Listener {
  Descriptor socket;
  std::uint16_t port = 0;
};

/// Listens at a free port. This and the three below throw SocketError when the system refuses.
Listener listen_on_loopback();
/// Connects without delay of small messages (TCP_NODELAY).
Descriptor connect_on_loopback(std::uint16_t port);
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
/// Waits without limit for data or the end of the connection.
void await_arrival(const Descriptor& socket);
/// Ends a connection that others may be waiting on.
void end_connection(const Descriptor& socket);

}  // namespace penstock
