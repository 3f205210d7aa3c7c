#pragma once

#include <map>
#include <string>

namespace penstock {

/// What a measured timeline says of the computer that runs this.
std::map<std::string, std::string> host_environment();

/// The text of a file that the kernel makes up; empty when it cannot be read.
std::string file_text(const std::string& path);

}  // namespace penstock
