#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <vector>

#include "sim/base/error.hpp"
#include "tests/support/profile_rows.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch.hpp"
#include "validate/store/profile_store.hpp"

namespace penstock::testing {

/// Rows that are all alike.
inline std::vector<ProfileRow> rows_of(std::size_t count, std::size_t samples = 10) {
  return std::vector<ProfileRow>(count, gemm_row(64, std::vector<double>(samples, 12.5)));
}

/// The path of a new store with rows.
inline std::string store_with(const Scratch& scratch, std::size_t count, std::size_t samples = 10) {
  const std::string path = scratch.path("p.db");
  ProfileStore(path, ProfileStore::Access::create).add(rows_of(count, samples));
  return path;
}

/// What opening says: the error's text without the file's name.
inline std::string store_refusal(const std::string& path) {
  return refused_file(
      path, [&] { return fmt::format("{} rows", ProfileStore(path).rows().rows.size()); });
}

}  // namespace penstock::testing
