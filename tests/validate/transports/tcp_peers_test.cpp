#include "validate/transports/tcp_peers.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <future>
#include <string>
#include <vector>

#include "tests/support/refusal.hpp"

namespace penstock::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Greeting first{.token = {11, 22}, .process = 0, .processes = 2, .plan = 33};
constexpr Greeting second{.token = {11, 22}, .process = 1, .processes = 2, .plan = 33};

/// What becomes of process 0, to which somebody connects who greets like this. After a stranger
/// comes the right one.
std::string outcome(const Greeting& greeting, bool then_the_right_one = false) {
  const Listener listener = listen_on_loopback();
  const auto greet = [&](const Greeting& own) {
    Descriptor socket = connect_on_loopback(listener.port);
    send_all(socket, bytes_of(own).bytes(), after(seconds(10)));
    return socket;
  };
  const Descriptor caller = greet(greeting);
  Descriptor right;
  if (then_the_right_one) right = greet(second);
  try {
    const auto sockets = connect_peers(listener, {listener.port, 0}, first,
                                       after(then_the_right_one ? seconds(20) : seconds(1)));
    return sockets.size() == 2 && !sockets[0] && sockets[1] ? "connected" : "wrongly connected";
  } catch (const SocketError& error) {
    return error.what();
  }
}

Greeting changed(const std::function<void(Greeting&)>& change) {
  Greeting greeting = second;
  change(greeting);
  return greeting;
}

}  // namespace

TEST_CASE("tcp peers: processes connect each with each") {
  constexpr std::uint32_t count = 4;
  std::vector<Listener> listeners;
  std::vector<std::uint16_t> ports;
  for (std::uint32_t process = 0; process < count; ++process) {
    listeners.push_back(listen_on_loopback());
    ports.push_back(listeners.back().port);
  }
  std::vector<std::future<std::vector<Descriptor>>> all;
  for (std::uint32_t process = 0; process < count; ++process) {
    all.push_back(std::async(std::launch::async, [&, process] {
      const Greeting own{.token = {1, 2}, .process = process, .processes = count};
      return connect_peers(listeners[process], ports, own, after(seconds(20)));
    }));
  }
  std::vector<std::vector<Descriptor>> sockets;
  for (auto& one : all) sockets.push_back(one.get());
  for (std::uint32_t a = 0; a < count; ++a) {
    CHECK_FALSE(sockets[a][a]);
    for (std::uint32_t b = 0; b < count; ++b) {
      if (a == b) continue;
      const std::array sent{static_cast<std::byte>(16 * a + b)};
      std::array<std::byte, 1> received{};
      send_all(sockets[a][b], sent, after(seconds(10)));
      CHECK(receive_all(sockets[b][a], received, after(seconds(10))));
      CHECK(received == sent);
    }
  }
}

TEST_CASE("tcp peers: who does not know the token is turned away, whatever else is right") {
  const Greeting stranger = changed([](Greeting& one) { one.token[1] ^= 1; });
  CHECK(outcome(second) == "connected");
  CHECK(outcome(stranger) == "process 1 did not connect in time; 1 turned away");
  CHECK(outcome(stranger, true) == "connected");
}

TEST_CASE("tcp peers: a stranger is told nothing") {
  const Listener listener = listen_on_loopback();
  const Descriptor stranger = connect_on_loopback(listener.port);
  const std::array<std::byte, greeting_bytes> guess{};
  send_all(stranger, guess, after(seconds(10)));
  CHECK_THROWS_AS(connect_peers(listener, {listener.port, 0}, first, after(milliseconds(300))),
                  SocketError);
  std::array<std::byte, 1> received{};
  bool told = true;
  try {
    told = receive_all(stranger, received, after(seconds(10)));
  } catch (const SocketError&) {
    told = false;  // reset
  }
  CHECK_FALSE(told);
}

TEST_CASE("tcp peers: another version, plan or number of processes is refused in words") {
  CHECK(outcome(changed([](Greeting& one) { one.version = 9; })) ==
        "a process has version 9; expected 1");
  CHECK(outcome(changed([](Greeting& one) { one.plan = 34; })) == "process 1 has another plan");
  CHECK(outcome(changed([](Greeting& one) { one.processes = 3; })) ==
        "a process claims to be 1 of 3; this is 0 of 2");
  CHECK(outcome(changed([](Greeting& one) { one.process = 7; })) ==
        "a process claims to be 7 of 2; this is 0 of 2");
  CHECK(outcome(changed([](Greeting& one) { one.process = 0; })) ==
        "unexpected connection from process 0");
}

// Nobody comes, somebody comes and says nothing, somebody hangs up.
TEST_CASE("tcp peers: nobody is waited for for ever") {
  const Listener listener = listen_on_loopback();
  const auto outcome_of = [&] {
    return refused_with<SocketError>([&] {
      connect_peers(listener, {listener.port, 0}, first, after(milliseconds(200)));
    });
  };
  CHECK(outcome_of() == "process 1 did not connect in time; 0 turned away");
  const Descriptor silent = connect_on_loopback(listener.port);
  CHECK(outcome_of() == "process 1 did not connect in time; 1 turned away");
  { const Descriptor gone = connect_on_loopback(listener.port); }
  CHECK(outcome_of() == "process 1 did not connect in time; 1 turned away");
}

TEST_CASE("tcp peers: one that listens for something else is no process") {
  const Listener other = listen_on_loopback();
  const Listener own = listen_on_loopback();
  CHECK_THROWS_AS(connect_peers(own, {other.port, own.port}, second, after(milliseconds(200))),
                  SocketError);
  auto answering = std::async(std::launch::async, [&] {
    auto caller = accept_before(other, after(seconds(10)));  // left over from the first
    caller = accept_before(other, after(seconds(10)));
    const std::array<std::byte, greeting_bytes> nonsense{};
    if (caller) send_all(*caller, nonsense, after(seconds(10)));
    return caller;
  });
  CHECK_THROWS_WITH_AS(connect_peers(own, {other.port, own.port}, second, after(seconds(10))),
                       "process 0 did not answer a greeting", SocketError);
}

// How long it takes is a matter of the machine; that it takes some time, and 4 MiB more than 8
// bytes at best, is not.
TEST_CASE("link probe: tensors go to and fro over a link, large ones for longer") {
  const auto small = measure_link(8, 200);
  const auto large = measure_link(std::size_t{1} << 22, 9);
  REQUIRE(small.size() == 200);
  REQUIRE(large.size() == 9);
  CHECK(*std::min_element(small.begin(), small.end()) > 0);
  CHECK(*std::min_element(large.begin(), large.end()) >
        *std::min_element(small.begin(), small.end()));
  CHECK(measure_link(0, 1).size() == 1);
  CHECK(measure_link(8, 0).empty());
}

}  // namespace penstock::testing
