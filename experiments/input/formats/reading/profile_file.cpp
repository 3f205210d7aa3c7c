#include "experiments/input/formats/reading/profile_file.hpp"

#include <fmt/format.h>

#include "experiments/input/files/files.hpp"
#include "experiments/input/formats/reading/read_model_file.hpp"
#include "experiments/input/profiles/profile_rows.hpp"
#include "sim/base/error.hpp"
#include "validate/store/store_file.hpp"

namespace penstock {

Profile read_profile(const std::string& path) {
  if (looks_like_store(path)) {
    return layer_profile(judged_rows(ProfileStore(path), today_here())).profile;
  }
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
