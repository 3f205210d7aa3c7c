#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

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

}  // namespace penstock
