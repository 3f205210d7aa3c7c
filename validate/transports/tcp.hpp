#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "validate/job/rank_group.hpp"
#include "validate/transports/tcp_frames.hpp"
#include "validate/transports/transport.hpp"
#include "validate/wire/bytes.hpp"
#include "validate/wire/sockets.hpp"

namespace penstock {

/// How far the ranks of one process are. When no rank of any process is active, some wait, and as
/// many tensors were received as were sent, twice in a row, nothing can come any more.
struct Standing {
  std::uint32_t run = 0;      // the number of this run, from 1
  std::uint32_t active = 0;   // ranks that neither wait nor have finished
  std::uint32_t waiting = 0;  // ranks
  std::uint64_t sent = 0;     // tensors, to other processes and over all runs
  std::uint64_t received = 0;
};

/// For the ranks of one process out of several: among themselves through memory, with others over
/// one TCP connection for each other process. A thread a connection puts what comes into its box.
///
/// One process cannot know that all ranks wait for ever: who knows the standing of all of them says
/// so with `halt_stuck`. All processes have to be through with a run before one begins the next.
class TcpLinks : public Transport {
 public:
  /// `sockets` by process, none for `self`, as `connect_peers` gives them. No rank waits for longer
  /// than `patience`, nor does a connection take longer for a tensor.
  TcpLinks(std::vector<BoxSpec> boxes, std::vector<RankGroup> groups, std::uint32_t self,
           std::vector<Descriptor> sockets,
           std::chrono::milliseconds patience = std::chrono::minutes(10));
  ~TcpLinks() override;

  void clear() override;
  void post(std::size_t box, const Message& message, std::span<const std::uint64_t> words) override;
  std::optional<Message> take(std::size_t box, std::span<std::uint64_t> words) override;
  void finish(std::uint32_t rank) override;
  void halt() override;
  /// Of the ranks of this process, once `halt_stuck` was called.
  std::vector<std::optional<std::size_t>> deadlock() const override;
  /// What became of a connection, or that the run was halted.
  std::optional<TransportFailure> failure() const override;

  Standing standing() const;
  /// Ends all waiting, which would last for ever.
  void halt_stuck();

 private:
  struct Box {
    std::vector<std::uint64_t> words;  // none where the reader is in another process
    Message message;
    std::uint32_t filled_in = 0;  // the number of a run
  };
  struct Connection {
    Descriptor socket;
    std::mutex mutex;  // guards what is sent
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
  Standing standing_;
  bool halted_ = false;

  std::vector<std::jthread> readers_;  // last, so that they end before what they use
};

}  // namespace penstock
