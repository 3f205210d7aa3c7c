#include "experiments/input/long_work/budget.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <utility>

namespace penstock {
namespace {

/// Of the process, as its limits are.
Budget& own_budget() {
  static Budget budget;
  return budget;
}

std::string text_of(const char* path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The number that a text begins with; the most where it has none, as "max".
std::uint64_t number_in(const std::string& text) {
  std::uint64_t number = UINT64_MAX;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// MemAvailable of /proc/meminfo, which counts in kB.
std::uint64_t available() {
  const std::string text = text_of("/proc/meminfo");
  constexpr std::string_view key = "MemAvailable:";
  const std::size_t at = text.find(key);
  if (at == std::string::npos) return UINT64_MAX;
  const std::size_t begin = text.find_first_not_of(' ', at + key.size());
  if (begin == std::string::npos) return UINT64_MAX;
  const std::uint64_t kilobytes = number_in(text.substr(begin, 20));
  return kilobytes > UINT64_MAX / 1024 ? UINT64_MAX : kilobytes * 1024;
}

}  // namespace

const Budget& budget() { return own_budget(); }
void set_budget(Budget budget) { own_budget() = std::move(budget); }

std::string memory_text(double bytes) {
  const char* unit = "B";
  for (const char* larger : {"kB", "MB", "GB", "TB", "PB"}) {
    if (bytes < 999.5) break;  // would round to 1000
    bytes /= 1000;
    unit = larger;
  }
  return fmt::format("{:.3g} {}", bytes, unit);
}

void need_memory(double bytes, const std::string& what, const std::string& remedy) {
  constexpr double program_bytes = 15e6;  // that it takes for anything
  const Budget& limit = budget();
  bytes += program_bytes;
  if (bytes <= static_cast<double>(limit.memory_bytes)) return;
  throw OverBudget(
      fmt::format("{} needs about {} of memory, more than {} ({}); {}, or give more {}", what,
                  memory_text(bytes), memory_text(static_cast<double>(limit.memory_bytes)),
                  limit.memory_source, remedy, limit.raise));
}

SimulationMemory::Use::~Use() {
  {
    const std::lock_guard guard(room_.mutex_);
    room_.free_ += bytes_;
  }
  room_.freed_.notify_all();
}

std::unique_ptr<SimulationMemory::Use> SimulationMemory::take(std::uint64_t bytes) {
  if (bytes > bytes_) return nullptr;
  std::unique_lock lock(mutex_);
  freed_.wait(lock, [&] { return bytes <= free_; });
  free_ -= bytes;
  return std::make_unique<Use>(*this, bytes);
}

Budget given_budget(double memory_bytes, const std::string& option) {
  return {static_cast<std::uint64_t>(memory_bytes), option, option};
}

Budget usual_budget() {
  constexpr double share = 0.8;
  std::uint64_t bytes = available();
  for (const char* limit :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    bytes = std::min(bytes, number_in(text_of(limit)));
  }
  struct rlimit own {};
  if (::getrlimit(RLIMIT_AS, &own) == 0 && own.rlim_cur != RLIM_INFINITY) {
    bytes = std::min<std::uint64_t>(bytes, own.rlim_cur);
  }
  return {static_cast<std::uint64_t>(static_cast<double>(bytes) * share), "80 % of what is free"};
}

}  // namespace penstock
