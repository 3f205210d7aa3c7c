#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/engines/standstill.hpp"
#include "validate/job/recorder.hpp"
#include "validate/job/trained_numbers.hpp"
#include "validate/transports/tcp.hpp"
#include "validate/wire/bytes.hpp"
#include "validate/wire/sockets.hpp"

namespace penstock {

/// What the process that the user started and one that it started say to each other.
enum class Word : std::uint32_t {
  // To the one that was started:
  ports,       // where the others listen
  profile,     // answered with `profiled`
  run,         // answered with `ran` or `fault`
  total,       // answered with `totalled`: what its layers came to in the last run
  describe,    // answered with `described`: the environment
  report,      // answered with `standing`, also while it runs
  halt,        // the run, which then ends with a fault
  halt_stuck,  // the same, since all ranks of all processes wait for ever
  quit,
  // From it:
  port,   // where it listens
  ready,  // connected with the others
  profiled,
  ran,
  totalled,
  described,
  fault,
  standing,
  broken,  // it cannot go on: why
};

struct ControlMessage {
  Word word;
  std::vector<std::byte> body;
};

/// One end of the connection between the two.
class Control {
 public:
  explicit Control(Descriptor socket) : socket_(std::move(socket)) {}

  const Descriptor& socket() const { return socket_; }
  /// From any thread. Throws SocketError when the other end is gone or takes nothing.
  void send(Word word, const ByteWriter& body = {});
  /// Waits until something comes, and no longer than some seconds for the rest of it. Nothing when
  /// the other end is closed; throws SocketError or std::runtime_error for what is no message.
  std::optional<ControlMessage> receive();

 private:
  Descriptor socket_;
  std::mutex mutex_;  // guards sending
};

/// A task with when it ran.
struct TaskSpan {
  TaskId task;
  Span span;
};

/// What became of a part of a run.
struct PartRun {
  std::vector<TaskSpan> spans;
  std::vector<std::string> disturbances;
};

// The bodies of messages. Readers throw std::runtime_error for what is none.
ByteWriter body_of(const std::vector<std::uint16_t>& ports);
std::vector<std::uint16_t> ports_in(const ControlMessage& message);
ByteWriter body_of(const std::map<std::string, std::string>& environment);
std::map<std::string, std::string> environment_in(const ControlMessage& message);
ByteWriter body_of(const std::vector<Time>& profile);
std::vector<Time> profile_in(const ControlMessage& message);
ByteWriter body_of(const PartRun& run);
PartRun run_in(const ControlMessage& message);
ByteWriter body_of(const std::optional<TrainedNumbers>& numbers);
std::optional<TrainedNumbers> numbers_in(const ControlMessage& message);
ByteWriter body_of(const Standstill& standstill);
Standstill standstill_in(const ControlMessage& message);
ByteWriter body_of(const Standing& standing);
Standing standing_in(const ControlMessage& message);
ByteWriter body_of(const std::string& text);
std::string text_in(const ControlMessage& message);

}  // namespace penstock
