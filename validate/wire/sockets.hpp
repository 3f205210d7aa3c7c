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

/// So long from now.
Moment after(std::chrono::milliseconds length);

/// What is wrong with a connection, in words that follow the name of who is at its other end:
/// "took nothing for too long".
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

/// What others of this computer, and no one else, can connect to.
struct Listener {
  Descriptor socket;
  std::uint16_t port = 0;
};

/// At a port that is free. This and the three below throw SocketError where the system refuses.
Listener listen_on_loopback();
/// Sends at once what is to be sent, however little.
Descriptor connect_on_loopback(std::uint16_t port);
/// The next who connects; nothing when nobody does in time.
std::optional<Descriptor> accept_before(const Listener& listener, Moment end);
/// Two ends of a connection that nobody else can reach.
std::pair<Descriptor, Descriptor> connected_pair();

/// Sends all of it. Throws SocketError: the other end is gone, or takes nothing in time. Never
/// raises SIGPIPE.
void send_all(const Descriptor& socket, std::span<const std::byte> bytes, Moment end);
/// Fills all of it. Says whether anything came before the other end closed; throws SocketError
/// where it closed in the middle, or the rest does not come in time.
bool receive_all(const Descriptor& socket, std::span<std::byte> bytes, Moment end);
/// Waits, for as long as it takes, until there is something to receive or the connection ends.
void await_arrival(const Descriptor& socket);
/// Ends a connection while others may be waiting at it.
void end_connection(const Descriptor& socket);

}  // namespace penstock
