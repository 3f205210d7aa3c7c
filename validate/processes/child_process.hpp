#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "validate/processes/control.hpp"
#include "validate/ranks/make_part.hpp"
#include "validate/wire/sockets.hpp"

namespace penstock {

/// A child process and the connection to it. It is killed when this process ends for any reason.
/// Or a process of another host, of which only the connection is known.
class ChildProcess {
 public:
  ChildProcess(pid_t pid, Descriptor control) : pid_(pid), control_(std::move(control)) {}
  explicit ChildProcess(Descriptor control) : pid_(0), control_(std::move(control)) {}
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  /// Kills it unless it has ended, and waits for it.
  ~ChildProcess();

  pid_t pid() const { return pid_; }
  Control& control() { return control_; }
  /// How it ended, "signal 9" or "exit code 1"; nothing if it is still running, or
  /// elsewhere.
  std::optional<std::string> ending(Moment end);

 private:
  friend std::vector<std::unique_ptr<ChildProcess>> start_children(
      std::uint32_t, const std::function<void(std::uint32_t, Control&)>&);

  pid_t pid_;                  // 0: already waited for, or elsewhere
  std::optional<int> status_;  // of one waited for
  Control control_;
};

/// Starts this many copies of this process, each running `life(index, its control)`. A copy has
/// none of the other threads and would deadlock on their locks: throws std::runtime_error unless
/// the caller is the only thread, or when the system refuses.
std::vector<std::unique_ptr<ChildProcess>> start_children(
    std::uint32_t count, const std::function<void(std::uint32_t, Control&)>& life);

/// Sends these to all children, waits for them to end, and kills those that do not.
void end_children(std::vector<std::unique_ptr<ChildProcess>>& children,
                  const std::vector<MessageType>& last, std::chrono::milliseconds limit);

/// How long a run of a job may take: generous, and at most an hour. `times`: its work.
std::chrono::milliseconds run_limit(const Job& job, std::chrono::milliseconds least, double times);

/// What every process knows about the whole job.
struct ProcessJob {
  const Job* job;
  MakePart make;
  StartLine* line;                          // in shared memory
  std::vector<RankGroup> groups;            // by process
  std::array<std::uint64_t, 2> token{};     // secret
  std::chrono::milliseconds start_limit{};  // until all are connected
  std::chrono::milliseconds wait_limit{};   // for one tensor
};

/// The main function of a process: connects with the others, then follows messages until one
/// says quit or the parent is gone.
void serve(const ProcessJob& all, std::uint32_t process, Control& control);

}  // namespace penstock
