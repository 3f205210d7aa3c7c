#ifdef __SSE3__
#elif defined(__SSE__)
#endif

#include "validate/machine/host.hpp"

#include <fmt/format.h>
#include <pmmintrin.h>
#include <pthread.h>
#include <sched.h>
#include <sys/utsname.h>
#include <xmmintrin.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <thread>
#include <vector>

namespace penstock {
namespace {

/// "model name" of the first processor in /proc/cpuinfo.
std::string processor() {
  std::istringstream lines(file_text("/proc/cpuinfo"));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "";
}

/// The cpufreq governor of the first processor, "performance"; empty when unknown.
std::string clock_policy() {
  std::string text = file_text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  return text.substr(0, text.find('\n'));
}

std::optional<double> number_off(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \n"), text.size()));
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

/// Whether a list "cpu,cpuacct" has a name; the empty list has only the empty name.
bool is_among(std::string_view names, std::string_view name) {
  while (true) {
    const std::size_t comma = names.find(',');
    if (names.substr(0, comma) == name) return true;
    if (comma == std::string_view::npos) return false;
    names.remove_prefix(comma + 1);
  }
}

/// The path of this process in a cgroup hierarchy, from lines "4:cpu,cpuacct:/path".
std::string group_path(std::string_view groups, std::string_view controller) {
  while (!groups.empty()) {
    const std::string_view line = groups.substr(0, groups.find('\n'));
    groups.remove_prefix(std::min(line.size() + 1, groups.size()));
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view names = line.substr(first + 1, second - first - 1);
    if (is_among(names, controller)) return std::string(line.substr(second + 1));
  }
  return "/";
}

void lower_to(std::optional<double>& quota, std::optional<double> other) {
  if (other && (!quota || *other < *quota)) quota = other;
}

/// The smallest quota of the group and its parents.
std::optional<double> group_quota() {
  const std::string groups = file_text("/proc/self/cgroup");
  std::optional<double> quota;
  for (std::filesystem::path path = group_path(groups, "");; path = path.parent_path()) {
    lower_to(quota, quota_of(file_text("/sys/fs/cgroup" + path.string() + "/cpu.max")));
    if (path == path.parent_path()) break;
  }
  for (std::filesystem::path path = group_path(groups, "cpu");; path = path.parent_path()) {
    const std::string folder = "/sys/fs/cgroup/cpu" + path.string();
    lower_to(quota, quota_of(file_text(folder + "/cpu.cfs_quota_us") + " " +
                             file_text(folder + "/cpu.cfs_period_us")));
    if (path == path.parent_path()) break;
  }
  return quota;
}

/// Avoids slow arithmetic on denormals.
void flush_denormals() {
#ifdef __SSE3__
  _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);
  _MM_SET_DENORMALS_ZERO_MODE(_MM_DENORMALS_ZERO_ON);
#elif defined(__SSE__)
  _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);
#endif
}

}  // namespace

std::map<std::string, std::string> host_environment() {
  std::map<std::string, std::string> all{
      {"cores", fmt::format("{}", std::thread::hardware_concurrency())}};
  utsname system{};
  if (uname(&system) == 0) {
    all["os"] = fmt::format("{} {} {}", system.sysname, system.release, system.machine);
  }
  // Some processors have no model name; two of these cannot be distinguished.
  const std::string name = processor();
  all["cpu"] = name.empty() ? std::string(system.machine) : name;
  if (const std::string policy = clock_policy(); !policy.empty()) all["clock_policy"] = policy;
  return all;
}

std::optional<std::string> nvidia_driver(const std::string& module) {
  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.03  Tue Mar  3 …": the first dotted
  // number, since the words around it vary.
  std::istringstream words(module.substr(0, module.find('\n')));
  for (std::string word; words >> word;) {
    const bool numbers = word.find_first_not_of("0123456789.") == std::string::npos;
    if (numbers && word.front() != '.' && word.find('.') != std::string::npos) return word;
  }
  return std::nullopt;
}

std::string cuda_version_text(std::uint32_t version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string cublaslt_version_text(std::uint32_t version) {
  return fmt::format("{}.{}.{}", version / 10'000, version / 100 % 100, version % 100);
}

std::string file_text(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::optional<double> quota_of(std::string_view cpu_max) {
  const auto time = number_off(cpu_max);
  const auto period = number_off(cpu_max);
  // cgroup v1 writes -1 for no quota.
  if (!time || !period || !(*time > 0) || !(*period > 0)) return std::nullopt;
  return *time / *period;
}

UsableCores usable_cores() {
  UsableCores cores;
  cores.quota = group_quota();
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.numbers.push_back(core);
  }
  return cores;
}

std::size_t whole_cores(const UsableCores& cores) {
  const std::size_t allowed = cores.numbers.size();
  if (!cores.quota) return allowed;
  return std::min(allowed, static_cast<std::size_t>(std::min(*cores.quota, 1e6)));
}

std::optional<std::string> why_no_core_each(std::uint32_t ranks, std::uint32_t threads,
                                            const UsableCores& cores) {
  const std::uint64_t needed = std::uint64_t{ranks} * threads;
  const std::size_t usable = whole_cores(cores);
  if (needed <= usable) return std::nullopt;
  return fmt::format("{} ranks that compute{} need {} cores; usable: {}", ranks,
                     threads == 1 ? "" : fmt::format(" in {} threads each", threads), needed,
                     usable);
}

void stay_on(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  const int error = pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
  if (error != 0) {
    throw std::system_error(error, std::generic_category(),
                            fmt::format("staying on core {}", core));
  }
}

void on_all_ranks(std::uint32_t ranks, const std::function<void(std::uint32_t)>& work,
                  const std::function<void()>& failed) {
  std::vector<std::exception_ptr> thrown(ranks);
  const auto guarded = [&](std::uint32_t rank) {
    flush_denormals();
    try {
      work(rank);
    } catch (...) {
      thrown[rank] = std::current_exception();
      failed();
    }
  };
  {
    std::vector<std::jthread> threads;  // joined on destruction
    threads.reserve(ranks);
    try {
      for (std::uint32_t rank = 0; rank < ranks; ++rank) threads.emplace_back(guarded, rank);
    } catch (...) {
      failed();
      throw;
    }
  }
  for (const std::exception_ptr& one : thrown) {
    if (one) std::rethrow_exception(one);
  }
}

}  // namespace penstock
