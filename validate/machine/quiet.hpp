#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// What a thread observed in a run.
struct ThreadReadings {
  std::uint64_t preemptions = 0;      // involuntary context switches
  std::int64_t canary_before_ns = 0;  // canary duration; 0: not measured
  std::int64_t canary_after_ns = 0;
};

/// Readings around one iteration, to check that nothing else ran.
struct QuietReadings {
  std::vector<ThreadReadings> threads;
  std::uint64_t stolen_ticks = 0;  // taken by the hypervisor from all cores
};

/// Decides which iterations were undisturbed. A canary is compared with the median of its thread so
/// far.
class QuietGate {
 public:
  /// `steady` is the largest deviation of a canary from its median.
  explicit QuietGate(double steady = 0.03) : steady_(steady) {}

  /// What disturbed an iteration: "preempted", "stolen", "canary", or several; empty if nothing
  /// did.
  std::vector<std::string> disturbances(const QuietReadings& readings);

 private:
  bool is_off(std::size_t thread, std::int64_t canary_ns) const;

  double steady_;
  std::vector<std::vector<double>> canaries_ns_;  // by thread
};

/// Takes readings around the iterations of a backend.
class QuietWatch {
 public:
  /// Just before and just after an iteration, with the readings of its threads.
  void begin();
  void end(std::vector<ThreadReadings> threads);
  /// What disturbed the last iteration.
  const std::vector<std::string>& disturbances() const { return disturbances_; }

 private:
  QuietGate gate_;
  std::uint64_t stolen_before_ = 0;
  std::vector<std::string> disturbances_;
};

/// Duration of a fixed piece of work, the fastest of a few trials: longer on a slowed or shared
/// core.
std::int64_t canary_ns();

/// Involuntary context switches of this thread.
std::uint64_t involuntary_switches();

/// Ticks that hypervisors have stolen from all cores, from the text of /proc/stat; 0 when missing.
std::uint64_t stolen_ticks(std::string_view proc_stat);

/// The same for this machine since boot.
std::uint64_t stolen_ticks();

/// The load average of the last minute; empty when unknown.
std::string load_text();

}  // namespace penstock
