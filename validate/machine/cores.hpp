#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

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

}  // namespace penstock
