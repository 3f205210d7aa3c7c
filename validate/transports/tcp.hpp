#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "validate/job/replica_ranks.hpp"
#include "validate/transports/tcp_frames.hpp"
#include "validate/transports/transport.hpp"
#include "validate/wire/bytes.hpp"
#include "validate/wire/sockets.hpp"

namespace penstock {

/// Progress of the ranks of one process. Twice in a row no active rank in any process, some waiting
/// ranks, and as many tensors received as sent mean a deadlock.
struct Progress {
  std::uint32_t run = 0;      // of this run, from 1
  std::uint32_t active = 0;   // ranks that neither wait nor have finished
  std::uint32_t waiting = 0;  // ranks
  std::uint64_t sent = 0;     // tensors, to other processes, over all runs
  std::uint64_t received = 0;
};

/// For the ranks of one of several processes: memory inside the process, one TCP connection to each
/// other process. A thread per connection puts arriving tensors into boxes.
///
/// One process cannot detect a deadlock alone: whoever knows the progress of all calls
/// `halt_stuck`. All processes must finish a run before any starts the next.
class TcpLinks : public Transport {
 public:
  /// `sockets` by process, none for `self`, from `connect_peers`. `patience` limits the wait of a
  /// rank and the time of a tensor on a connection.
  TcpLinks(std::vector<BoxSpec> boxes, std::vector<RankGroup> groups, std::uint32_t self,
           std::vector<Descriptor> sockets,
           std::chrono::milliseconds patience = std::chrono::minutes(10));
  ~TcpLinks() override;

  void clear() override;
  void post(std::size_t box, const Message& message, std::span<const std::uint64_t> words) override;
  std::optional<Message> take(std::size_t box, std::span<std::uint64_t> words) override;
  void finish(std::uint32_t rank) override;
  void halt() override;
  /// Of the ranks of this process, after `halt_stuck`.
  std::vector<std::optional<std::size_t>> deadlock() const override;
  /// The failure of a connection, or the halt of the run.
  std::optional<TransportFailure> failure() const override;

  Progress progress() const;
  /// Ends all waiting in a deadlock.
  void halt_stuck();

 private:
  struct Box {
    std::vector<std::uint64_t> words;  // none when the reader is in another process
    Message message;
    std::uint32_t filled_in = 0;  // number of a run
  };
  struct Connection {
    Descriptor socket;
    std::mutex mutex;  // guards sending
    ByteWriter out;
  };

  bool is_here(std::uint32_t rank) const { return groups_[self_].contains(rank); }
  void end_connections();
  void fill(std::size_t box, std::uint32_t run);
  void send(std::uint32_t process, const Frame& frame, std::span<const std::uint64_t> words);
  void receive_from(std::uint32_t process);
  bool receive_tensor(std::uint32_t process);
  void check(const Frame& frame, std::uint32_t process) const;
  bool is_wanted(const Frame& frame) const;
  void break_off(std::uint32_t process, const std::string& what);
  void fail(std::uint32_t rank, std::string text);
  void wake_all();
  void wait_no_more(std::uint32_t rank);

  std::vector<BoxSpec> specs_;
  std::vector<RankGroup> groups_;
  std::uint32_t self_;
  std::chrono::milliseconds patience_;
  std::vector<Box> boxes_;
  std::vector<std::unique_ptr<Connection>> connections_;  // by process; none for this one
  std::atomic<bool> closing_ = false;

  mutable std::mutex mutex_;                           // guards all below, and what boxes hold
  std::vector<std::condition_variable> wake_;          // by rank
  std::vector<std::optional<std::size_t>> waits_for_;  // by rank: a box
  std::vector<std::optional<std::size_t>> deadlock_;
  std::optional<TransportFailure> broken_;
  Progress progress_;
  bool halted_ = false;

  std::vector<std::jthread> readers_;  // last, so they end before the members that they use
};

}  // namespace penstock
