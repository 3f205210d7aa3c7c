#include "experiments/profile_file.hpp"

#include <fmt/format.h>

#include "experiments/files.hpp"
#include "sim/error.hpp"

namespace penstock {

Profile read_profile(const std::string& path) {
  ModelFile file = read_model_file(path);
  if (file.profile.entries.empty()) {
    throw in_file(path, InputError("", fmt::format("it is a file of the format {}, which holds no "
                                                   "profile of layers at microbatch sizes",
                                                   file.format)));
  }
  file.profile.source = path;
  return std::move(file.profile);
}

}  // namespace penstock
