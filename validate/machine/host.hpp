#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// The environment of this computer for a measured timeline.
std::map<std::string, std::string> host_environment();

/// The version of the NVIDIA driver, "580.159.03", from its kernel module's text.
std::optional<std::string> nvidia_driver(const std::string& module);

/// The versions of CUDA, 13000 is "13.0", and of cuBLASLt, 130100 is "13.1.0".
std::string cuda_version_text(std::uint32_t version);
std::string cublaslt_version_text(std::uint32_t version);

/// The text of a /proc or /sys file; empty when unreadable.
std::string file_text(const std::string& path);

/// The cores that this process may use.
struct UsableCores {
  std::vector<int> numbers;     // allowed by its affinity
  std::optional<double> quota;  // cores allowed by its cgroup; nothing: all
};

UsableCores usable_cores();

/// How many threads can have a core each.
std::size_t whole_cores(const UsableCores& cores);

/// Why ranks that compute cannot have a core for each of their threads; nothing if they can. Ranks
/// that share cores wait for them, which no simulation knows: their wall-clock times are no score.
std::optional<std::string> why_no_core_each(std::uint32_t ranks, std::uint32_t threads,
                                            const UsableCores& cores);

/// The cores that `cpu.max` of a cgroup allows: "150000 100000" is 1.5; nothing for "max" and for
/// other texts.
std::optional<double> quota_of(std::string_view cpu_max);

/// Pins this thread to one core, if the machine allows it.
void stay_on(int core);

/// Calls `work(rank)` for each rank in its own thread and returns when all have ended. When one
/// throws or cannot start, calls `failed`, so that others stop waiting, and rethrows the first
/// exception. Threads treat denormals as zero. Nothing is allocated inside the threads.
void on_all_ranks(std::uint32_t ranks, const std::function<void(std::uint32_t)>& work,
                  const std::function<void()>& failed);

}  // namespace penstock
