#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace {

constexpr int skipped = 77;
constexpr int wrong_usage = 2;

}  // namespace

int main(int argc, char** argv) {
  const char* folder = std::getenv("PENSTOCK_ORACLES");
  if (folder == nullptr || *folder == '\0') {
    fmt::print("skipped: PENSTOCK_ORACLES does not name the folder of recorded orders\n");
    return skipped;
  }
  if (!std::filesystem::is_directory(folder)) {
    fmt::print(stderr, "PENSTOCK_ORACLES: {} is not a folder\n", folder);
    return wrong_usage;
  }
  return doctest::Context(argc, argv).run();
}
