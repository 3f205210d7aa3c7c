#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace penstock {

/// Calls `take` for each line of a file of JSON lines; blank lines are skipped, and so is a last
/// one that is cut off: its program may have ended while it wrote. Errors get the file, the line,
/// and the place in it: "out/probes.jsonl: line 3: /samples_ns/2: …". Throws InputError.
void for_each_json_line(const std::string& path,
                        const std::function<void(const nlohmann::json& line)>& take);

}  // namespace penstock
