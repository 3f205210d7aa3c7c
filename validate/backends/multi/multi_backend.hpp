#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "validate/backends/multi/multi_calls.hpp"
#include "validate/backends/multi/rank_run.hpp"
#include "validate/job/backend.hpp"
#include "validate/job/replica_ranks.hpp"
#include "validate/launch/rendezvous.hpp"
#include "validate/processes/child_process.hpp"
#include "validate/processes/process_backend.hpp"

namespace penstock {

/// How a job is spread over GPUs.
struct MultiSetting {
  ChannelRule rule = ChannelRule::per_direction;
  std::optional<Launch> launch = {};  // none: this program starts all processes itself
  std::uint32_t gpus = 0;             // of this host, which ranks share in turn; 0: one each
  ProcessLimits limits = {.start = std::chrono::minutes(2), .silence = std::chrono::seconds(10)};
  std::chrono::milliseconds run_limit{0};       // of one run; 0: by its work
  std::chrono::milliseconds stop_limit{2'000};  // to end after a rank is lost
  GpuLayerSizes sizes = {};                     // of layers, where actions run these
};

/// What the process of a rank knows.
struct RankJob {
  const Job* job;
  ChannelRule rule;
  MultiCalls calls;
  std::uint32_t rank;
  std::string gpu;                       // for CUDA_VISIBLE_DEVICES
  bool shares_gpu = false;               // with other ranks
  std::chrono::milliseconds run_limit;   // of one run
  std::chrono::milliseconds stop_limit;  // to end what was aborted
  GpuLayerSizes sizes = {};              // of layers, where actions run these
};

/// The main function of a rank's process: runs what the process of rank 0 asks for, until it is
/// told to quit or that process is gone. Returns whether it was told. Ends the process when aborted
/// work does not end.
bool serve_rank(const RankJob& all, Control& control);

/// One process per GPU, each a rank. This process asks them to run and merges what they measured;
/// the rank of this process is a process of its own too. A rank that ends, falls silent or fails
/// stops all others, and is a fault of all later runs.
class MultiBackend : public Backend {
 public:
  /// Throws std::runtime_error when ranks cannot start. Job and calls must outlive it.
  MultiBackend(const Job& job, const MultiCalls& calls, const MultiSetting& setting = {});
  ~MultiBackend() override;

  std::vector<Time> profile() override;
  RunOutcome run() override;
  std::vector<std::string> disturbances() const override { return disturbances_; }
  std::map<std::string, std::string> environment() const override;
  std::optional<std::string> why_no_score() const override;

  /// The process ids of the ranks of this host, for tests.
  std::vector<pid_t> pids() const;

 private:
  bool ranks_share_gpus() const {
    return setting_.gpus > 0 && setting_.gpus < job_.priced.plan.ranks;
  }
  void start_processes();
  void start_ranks();
  std::optional<std::vector<ControlMessage>> ask(MessageType type, const ByteWriter& body = {});
  std::vector<ClockAnchor> host_anchors();
  std::optional<Timeline> measured(MessageType type, const RunMerger& merger);
  void lose(Standstill why);
  void stop_all();

  const Job& job_;
  MultiCalls calls_;
  MultiSetting setting_;
  MultiJob multi_;
  RunMerger merger_;
  RunMerger profile_merger_;
  std::vector<RankGroup> groups_;
  std::vector<std::unique_ptr<ChildProcess>> children_;  // by rank; empty after one was lost
  std::vector<std::string> hosts_;                       // by rank
  std::map<std::string, std::string> environment_;
  std::vector<std::string> disturbances_;
  std::optional<Standstill> lost_;
  Causality causality_;     // of all runs
  double shortest_ns_ = 0;  // makespan of a run
};

/// In a process that a launcher started for another rank than 0: runs that rank until rank 0 has
/// finished. False in any other process. Throws std::runtime_error when rank 0 is gone.
bool serve_launched_rank(const Job& job, const MultiCalls& calls, const MultiSetting& setting);

/// Both on real GPUs, with the launcher of this process.
std::unique_ptr<Backend> make_multi(const Job& job, ChannelRule rule);
bool serve_multi(const Job& job, ChannelRule rule);

}  // namespace penstock
