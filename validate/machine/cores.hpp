#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace penstock {

/// The cores that threads of this process may have for themselves.
struct UsableCores {
  std::vector<int> numbers;     // those that its affinity allows
  std::optional<double> quota;  // how many of them its control group pays for; nothing: all
};

UsableCores usable_cores();

/// How many ranks can have a core each.
std::size_t whole_cores(const UsableCores& cores);

/// How many cores `cpu.max` of a control group allows: "150000 100000" are 1.5; nothing for "max"
/// and for what is no such file.
std::optional<double> quota_of(std::string_view cpu_max);

/// Has this thread run on one core only, where the machine allows that.
void stay_on(int core);

}  // namespace penstock
