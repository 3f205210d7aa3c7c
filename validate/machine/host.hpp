#pragma once

#include <map>
#include <optional>
#include <string>

namespace penstock {

/// What a measured timeline says of the computer that runs this.
std::map<std::string, std::string> host_environment();

/// The version of the NVIDIA driver, "580.159.03", by what its kernel module says of itself.
std::optional<std::string> nvidia_driver(const std::string& module);

/// The text of a file that the kernel makes up; empty when it cannot be read.
std::string file_text(const std::string& path);

}  // namespace penstock
