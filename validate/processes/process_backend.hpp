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
#include "validate/processes/child.hpp"
#include "validate/processes/child_process.hpp"

namespace penstock {

/// How long processes may take.
struct ProcessLimits {
  std::chrono::milliseconds start{30'000};    // until all are connected
  std::chrono::milliseconds silence{10'000};  // of one that is asked how far it is
};

/// Runs a job in several processes, each with some of its ranks; their tensors go by TCP. What a
/// process makes of its ranks is the matter of the part that `make` gives.
///
/// A process that ends or falls silent is the fault of the run that it was in, and of all after it.
class ProcessBackend : public Backend {
 public:
  /// No more processes than ranks. Throws std::runtime_error where they cannot be started, among
  /// others since this program has threads.
  ProcessBackend(const Job& job, MakePart make, std::uint32_t processes,
                 const ProcessLimits& limits = {});
  ~ProcessBackend() override;

  std::vector<Time> profile() override;
  RunOutcome run() override;
  std::vector<std::string> disturbances() const override { return disturbances_; }
  std::optional<TrainedNumbers> numbers() const override;
  std::map<std::string, std::string> environment() const override;

  /// The processes, for who wants to do something to them.
  std::vector<pid_t> pids() const;

 private:
  void connect();
  void quit();
  std::optional<std::vector<ControlMessage>> ask(Word word);
  std::optional<std::vector<ControlMessage>> ask_about(Word word) const;

  const Job& job_;
  ProcessLimits limits_;
  std::chrono::milliseconds run_limit_;
  std::vector<RankGroup> groups_;
  SharedMemory shared_;
  StartLine* line_;                                      // there
  std::vector<std::unique_ptr<ChildProcess>> children_;  // none after one was lost
  std::map<std::string, std::string> link_;              // between them, as measured
  Recorder recorder_;
  std::vector<std::string> disturbances_;
  mutable std::optional<Standstill> lost_;
  std::uint32_t runs_ = 0;
};

}  // namespace penstock
