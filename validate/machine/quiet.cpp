#include "validate/machine/quiet.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "validate/machine/busy_kernel.hpp"
#include "validate/machine/clock.hpp"
#include "validate/machine/host.hpp"
#include "validate/statistics/summary.hpp"

namespace penstock {

std::vector<std::string> QuietGate::disturbances(const QuietReadings& readings) {
  canaries_ns_.resize(std::max(canaries_ns_.size(), readings.threads.size()));
  bool preempted = false;
  bool canary_off = false;
  for (std::size_t thread = 0; thread < readings.threads.size(); ++thread) {
    const ThreadReadings& seen = readings.threads[thread];
    preempted = preempted || seen.preemptions > 0;
    for (const std::int64_t ns : {seen.canary_before_ns, seen.canary_after_ns}) {
      if (ns > 0) canaries_ns_[thread].push_back(static_cast<double>(ns));
    }
    canary_off =
        canary_off || is_off(thread, seen.canary_before_ns) || is_off(thread, seen.canary_after_ns);
  }
  std::vector<std::string> all;
  if (preempted) all.emplace_back("preempted");
  if (readings.stolen_ticks > 0) all.emplace_back("stolen");
  if (canary_off) all.emplace_back("canary");
  return all;
}

bool QuietGate::is_off(std::size_t thread, std::int64_t canary_ns) const {
  if (canary_ns <= 0) return false;
  const double middle = median(canaries_ns_[thread]);
  return std::abs(static_cast<double>(canary_ns) - middle) > steady_ * middle;
}

void QuietWatch::begin() { stolen_before_ = stolen_ticks(); }

void QuietWatch::end(std::vector<ThreadReadings> threads) {
  disturbances_ = gate_.disturbances({std::move(threads), stolen_ticks() - stolen_before_});
}

std::int64_t canary_ns() { return quickest_spin_ns(10'000, 5, monotonic_ns); }

std::uint64_t involuntary_switches() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return static_cast<std::uint64_t>(usage.ru_nivcsw);
}

std::uint64_t stolen_ticks(std::string_view proc_stat) {
  constexpr std::string_view all_cores = "cpu ";
  constexpr int place = 8;  // user nice system idle iowait irq softirq steal
  if (!proc_stat.starts_with(all_cores)) return 0;
  std::string_view line = proc_stat.substr(0, proc_stat.find('\n'));
  line.remove_prefix(all_cores.size());
  std::uint64_t value = 0;
  for (int field = 0; field < place; ++field) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
    if (error != std::errc{}) return 0;
    line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  }
  return value;
}

std::uint64_t stolen_ticks() { return stolen_ticks(file_text("/proc/stat")); }

std::string load_text() {
  const std::string load = file_text("/proc/loadavg");
  return load.substr(0, load.find(' '));
}

}  // namespace penstock
