#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <variant>

#include "validate/backends/nccl/nccl_library.hpp"

int main(int argc, char** argv) {
  constexpr int skipped = 77;
  const auto library = penstock::load_nccl();
  if (const auto* reason = std::get_if<std::string>(&library)) {
    fmt::print("skipped: {}\n", *reason);
    return skipped;
  }
  const auto& found = std::get<penstock::NcclLibrary>(library);
  fmt::print("NCCL {} in {}\n", penstock::nccl_version_text(found.version), found.file);
  return doctest::Context(argc, argv).run();
}
