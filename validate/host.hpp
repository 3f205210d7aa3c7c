#pragma once

#include <map>
#include <string>

namespace penstock {

/// What a measured timeline says of the computer that runs this.
std::map<std::string, std::string> host_environment();

}  // namespace penstock
