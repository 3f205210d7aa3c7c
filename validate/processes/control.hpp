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

/// Messages between the main process and its children.
enum class MessageType : std::uint32_t {
  // To the child:
  ports,       // where the others listen
  profile,     // answered with `profiled`
  run,         // answered with `ran` or `fault`
  total,       // answered with `totalled`: the results of its layers in the last run
  describe,    // answered with `described`: the environment
  report,      // answered with `progress`, also during a run
  halt,        // the run, which then ends with a fault
  halt_stuck,  // the same, since all ranks of all processes wait forever
  unique_id,   // answered with the same; rank 0 puts NCCL's identifier in
  start,       // answered with `ready`: begins with that identifier
  ping,        // answered with `pong` at once: the clock of the host
  quit,
  // From the child:
  port,   // where it listens
  ready,  // connected with the others
  pong,
  profiled,
  ran,
  totalled,
  described,
  fault,
  progress,
  broken,  // it cannot continue: why
};

struct ControlMessage {
  MessageType type;
  std::vector<std::byte> body;
};

/// One end of the connection.
class Control {
 public:
  explicit Control(Descriptor socket) : socket_(std::move(socket)) {}

  const Descriptor& socket() const { return socket_; }
  /// From any thread. Throws SocketError when the other end is gone or not receiving.
  void send(MessageType type, const ByteWriter& body = {});
  /// Waits for the next message, and a few seconds at most for the rest of it. Nothing when the
  /// other end is closed; throws SocketError or std::runtime_error for an invalid message.
  std::optional<ControlMessage> receive();

 private:
  Descriptor socket_;
  std::mutex mutex_;  // guards sending
};

/// The result of one process's part of a run.
struct PartRun {
  std::vector<TaskSpan> spans;
  std::vector<std::string> disturbances;
};

// Bodies of messages. Readers throw std::runtime_error for invalid ones.
ByteWriter body_of(const std::vector<std::uint16_t>& ports);
std::vector<std::uint16_t> ports_in(const ControlMessage& message);
ByteWriter body_of(const std::map<std::string, std::string>& environment);
/// Merges the environments of processes; entries that differ are listed by process.
std::map<std::string, std::string> merged_environment(const std::vector<ControlMessage>& answers);
ByteWriter body_of(const std::vector<Time>& profile);
std::vector<Time> profile_in(const ControlMessage& message);
ByteWriter body_of(const PartRun& run);
PartRun run_in(const ControlMessage& message);
ByteWriter body_of(const std::optional<TrainedNumbers>& numbers);
std::optional<TrainedNumbers> numbers_in(const ControlMessage& message);
ByteWriter body_of(const Standstill& standstill);
Standstill standstill_in(const ControlMessage& message);
ByteWriter body_of(const Progress& progress);
Progress progress_in(const ControlMessage& message);
ByteWriter body_of(const std::string& text);
std::string text_in(const ControlMessage& message);

}  // namespace penstock
