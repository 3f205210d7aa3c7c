#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "validate/job/backend.hpp"
#include "validate/job/recorder.hpp"
#include "validate/machine/shared_memory.hpp"
#include "validate/processes/child_process.hpp"

namespace penstock {

/// Time limits of processes.
struct ProcessLimits {
  std::chrono::milliseconds start{30'000};    // until all are connected
  std::chrono::milliseconds silence{10'000};  // of a process asked for progress
};

/// Runs a job in several processes, each with some of the ranks; tensors travel by TCP. `make`
/// makes the backend of each part.
///
/// A process that ends or falls silent is a fault of the current run and of all later ones.
class ProcessBackend : public Backend {
 public:
  /// At most one process per rank. Throws std::runtime_error when processes cannot be started, for
  /// example because this program has threads.
  ProcessBackend(const Job& job, MakePart make, std::uint32_t processes,
                 const ProcessLimits& limits = {});
  ~ProcessBackend() override;

  std::vector<Time> profile() override;
  RunOutcome run() override;
  std::vector<std::string> disturbances() const override { return disturbances_; }
  std::optional<TrainedNumbers> numbers() const override;
  std::map<std::string, std::string> environment() const override;

  /// The process ids, for tests.
  std::vector<pid_t> pids() const;

 private:
  void connect();
  std::optional<std::vector<ControlMessage>> ask(MessageType type);
  std::optional<std::vector<ControlMessage>> ask_about(MessageType type) const;

  const Job& job_;
  ProcessLimits limits_;
  std::chrono::milliseconds run_limit_;
  std::vector<RankGroup> groups_;
  SharedMemory shared_;
  StartLine* line_;                                      // in `memory_`
  std::vector<std::unique_ptr<ChildProcess>> children_;  // empty after one was lost
  Recorder recorder_;
  std::vector<std::string> disturbances_;
  mutable std::optional<Standstill> lost_;
  std::uint32_t runs_ = 0;
};

}  // namespace penstock
