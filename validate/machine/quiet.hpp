#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// What a thread saw of a run.
struct ThreadReadings {
  std::uint64_t preemptions = 0;      // how often it had to leave its core to others
  std::int64_t canary_before_ns = 0;  // what the canary took; 0: it was not asked
  std::int64_t canary_after_ns = 0;
};

/// What was read around one iteration, which should have had the machine for itself.
struct QuietReadings {
  std::vector<ThreadReadings> threads;
  std::uint64_t stolen_ticks = 0;  // what the hypervisor took of all cores meanwhile
};

/// Tells which iterations had the machine for themselves. A canary is held against the median of
/// all that its thread has seen so far.
class QuietGate {
 public:
  /// How far a canary may be off its median.
  explicit QuietGate(double steady = 0.03) : steady_(steady) {}

  /// What disturbed an iteration: "preempted", "stolen", "canary", or several; none of a quiet one.
  std::vector<std::string> disturbances(const QuietReadings& readings);

 private:
  bool is_off(std::size_t thread, std::int64_t canary_ns) const;

  double steady_;
  std::vector<std::vector<double>> canaries_ns_;  // by thread
};

/// Reads the machine around the iterations of a backend.
class QuietWatch {
 public:
  /// Just before an iteration and just after it, with what its threads saw.
  void begin();
  void end(std::vector<ThreadReadings> threads);
  /// What disturbed it.
  const std::vector<std::string>& disturbances() const { return disturbances_; }

 private:
  QuietGate gate_;
  std::uint64_t stolen_before_ = 0;
  std::vector<std::string> disturbances_;
};

/// What a fixed piece of work takes just now, by the quickest of a few trials: longer when the core
/// is slower than it was, or shared.
std::int64_t canary_ns();

/// How often this thread had to leave its core to others.
std::uint64_t involuntary_switches();

/// What hypervisors have taken of all cores together, of the text of /proc/stat; 0 where that does
/// not say.
std::uint64_t stolen_ticks(std::string_view proc_stat);

/// The same of this machine, since it started.
std::uint64_t stolen_ticks();

/// How many threads wanted a core of this machine in the last minute, on average; empty when it is
/// not known.
std::string load_text();

}  // namespace penstock
