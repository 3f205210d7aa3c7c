#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "validate/processes/control.hpp"
#include "validate/wire/sockets.hpp"

namespace penstock {

/// A process that this one started, and its end of the connection to it. It is killed when this one
/// ends, however that comes about.
class ChildProcess {
 public:
  ChildProcess(pid_t pid, Descriptor control) : pid_(pid), control_(std::move(control)) {}
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  /// Kills it unless it has ended, and leaves nothing behind.
  ~ChildProcess();

  pid_t pid() const { return pid_; }
  Control& control() { return control_; }
  /// How it ended, "signal 9" or "exit code 1"; nothing when it has not by then.
  std::optional<std::string> ending(Moment end);

 private:
  friend std::vector<std::unique_ptr<ChildProcess>> start_children(
      std::uint32_t, const std::function<void(std::uint32_t, Control&)>&);

  pid_t pid_;  // 0: it was waited for
  int status_ = 0;
  Control control_;
};

/// Starts so many processes, each a copy of this one that does `life(which, its control)` and then
/// ends. A copy has none of the threads of this process and would wait for ever for what they hold:
/// throws std::runtime_error unless there is only the calling one, or where the system refuses.
std::vector<std::unique_ptr<ChildProcess>> start_children(
    std::uint32_t count, const std::function<void(std::uint32_t, Control&)>& life);

}  // namespace penstock
