#include "validate/backends/cuda/gpu_libraries.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <system_error>

namespace penstock {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> all;
  for (const auto& entry : fs::directory_iterator(folder, error)) all.push_back(entry.path());
  std::sort(all.begin(), all.end());
  return all;
}

/// The prefixes of the python3 that a shell would start: where its link is, and where that leads.
std::vector<fs::path> prefixes_of_python() {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::error_code error;
    const fs::path program = fs::path(folder) / "python3";
    if (!fs::exists(program, error)) continue;
    return {fs::path(folder).parent_path(),
            fs::canonical(program, error).parent_path().parent_path()};
  }
  return {};
}

/// What pip installs below a prefix; Debian has folders of its own for it.
void add_packages(const fs::path& prefix, const std::string& soname,
                  std::vector<std::string>& places) {
  for (const fs::path& lib : {prefix / "lib", prefix / "local/lib"}) {
    for (const fs::path& python : entries_of(lib)) {
      if (python.filename().string().rfind("python", 0) != 0) continue;
      for (const char* packages : {"site-packages", "dist-packages"}) {
        for (const fs::path& one : entries_of(python / packages / "nvidia")) {
          std::error_code error;
          const fs::path file = one / "lib" / soname;
          if (fs::exists(file, error)) places.push_back(file);
        }
      }
    }
  }
}

}  // namespace

std::vector<std::string> places_of_library(const std::string& soname) {
  std::vector<std::string> places;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* const home = std::getenv(variable)) {
      places.push_back(std::string(home) + "/lib64/" + soname);
    }
  }
  places.push_back(soname);
  places.push_back("/usr/local/cuda/lib64/" + soname);
  std::vector<fs::path> prefixes = prefixes_of_python();
  for (const char* variable : {"CONDA_PREFIX", "VIRTUAL_ENV"}) {
    if (const char* const prefix = std::getenv(variable)) prefixes.insert(prefixes.begin(), prefix);
  }
  if (const char* const home = std::getenv("HOME")) prefixes.push_back(fs::path(home) / ".local");
  for (const fs::path& prefix : prefixes) add_packages(prefix, soname, places);
  return places;
}

GpuLibrary load_library(const std::vector<std::string>& places, const char* symbol) {
  GpuLibrary library;
  for (const std::string& place : places) {
    library.handle = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library.handle != nullptr) {
      void* const found = dlsym(library.handle, symbol);
      Dl_info info{};
      const bool is_known = found != nullptr && dladdr(found, &info) != 0;
      library.file = is_known && info.dli_fname != nullptr ? info.dli_fname : place;
      return library;
    }
    const char* const error = dlerror();
    library.why_not += (library.why_not.empty() ? "" : "; ") +
                       std::string(error == nullptr ? place.c_str() : error);
  }
  return library;
}

}  // namespace penstock
