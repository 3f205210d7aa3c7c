#pragma once

#include <functional>
#include <string>

#include "experiments/input/files/json_input.hpp"

namespace penstock {

/// Calls `take` for each line of a file of JSON lines; blank lines are skipped. Errors get the
/// file, the line, and the place in it: "out/probes.jsonl: line 3: /samples_ns/2: …". Throws
/// InputError.
void for_each_line(const std::string& path, const std::function<void(const JsonView& line)>& take);

}  // namespace penstock
