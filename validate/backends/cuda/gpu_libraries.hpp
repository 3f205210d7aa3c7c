#pragma once

#include <string>
#include <vector>

namespace penstock {

/// A library of NVIDIA, loaded for the rest of the program.
struct GpuLibrary {
  void* handle = nullptr;  // null: none was found
  std::string file;
  std::string why_not;  // by place
};

/// Where a library may be: `lib64` of $CUDA_HOME and $CUDA_PATH, the loader's path, the toolkit,
/// and what pip installs, `nvidia/*/lib` of the packages of $VIRTUAL_ENV, $CONDA_PREFIX and the
/// python3 in $PATH.
std::vector<std::string> places_of_library(const std::string& soname);

/// Loads the first one that can be loaded. `symbol`, of the library, says which file that is.
GpuLibrary load_library(const std::vector<std::string>& places, const char* symbol);

}  // namespace penstock
