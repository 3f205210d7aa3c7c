#include "validate/backends/cuda/gpu_libraries.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>

namespace penstock::testing {

namespace fs = std::filesystem;

// A python3 in $PATH that is a link, as in an environment, and what pip has installed beside both.
TEST_CASE("gpu libraries: packages of the python3 of a shell are places") {
  const fs::path root = fs::temp_directory_path() / "penstock_gpu_libraries_test";
  fs::remove_all(root);
  const auto installed = [&](const char* file) {
    fs::create_directories((root / file).parent_path());
    std::ofstream(root / file) << "";
    return (root / file).string();
  };
  const std::string own =
      installed("own/lib/python3.11/site-packages/nvidia/cu13/lib/libcublasLt.so.13");
  const std::string of_system =
      installed("system/local/lib/python3.9/dist-packages/nvidia/cublas/lib/libcublasLt.so.13");
  installed("system/bin/python3");
  fs::create_directories(root / "own/bin");
  fs::create_symlink(root / "system/bin/python3", root / "own/bin/python3");
  const std::string before = std::getenv("PATH");
  setenv("PATH", ((root / "none").string() + ":" + (root / "own/bin").string()).c_str(), 1);
  const auto places = places_of_library("libcublasLt.so.13");
  setenv("PATH", before.c_str(), 1);
  const auto has = [&](const std::string& place) {
    return std::find(places.begin(), places.end(), place) != places.end();
  };
  CHECK(has("libcublasLt.so.13"));
  CHECK(has(own));
  CHECK(has(of_system));
  fs::remove_all(root);
}

// CUDA 12 has libcublasLt.so.12, and CUDA 13 libcublasLt.so.13.
TEST_CASE("gpu libraries: cuBLASLt is that of the CUDA of the build") {
  std::ifstream in(PENSTOCK_ROOT "/validate/backends/cuda/cuda_products.cu");
  const std::string source{std::istreambuf_iterator<char>(in), {}};
  CHECK(source.find("\"libcublasLt.so.\" + std::to_string(CUBLAS_VER_MAJOR)") != source.npos);
  CHECK_FALSE(std::regex_search(source, std::regex("cublasLt\\.so\\.[0-9]")));
}

TEST_CASE("gpu libraries: the first that loads is taken, and its file is known") {
  const GpuLibrary found = load_library({"/no/libm.so.6", "libm.so.6"}, "cos");
  CHECK(found.handle != nullptr);
  CHECK(found.file.ends_with("/libm.so.6"));
  const GpuLibrary none = load_library({"/no/libm.so.6"}, "cos");
  CHECK(none.handle == nullptr);
  CHECK(none.why_not == "/no/libm.so.6: cannot open shared object file: No such file or directory");
}

}  // namespace penstock::testing
