#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/input/files/output_file.hpp"

namespace penstock {

struct MergedRows {
  std::uint64_t rows = 0;
  std::uint64_t with_result = 0;
};

/// Writes the rows of shards in the order of their sweep: the bytes of the unsharded file. A row
/// that several files have must be the same in all. Throws InputError for files of different sweeps
/// or versions, with both named, and for a configuration that no file has.
MergedRows merge_rows(const std::vector<std::string>& shards, const std::string& output,
                      Existing replaced = Existing::own);

}  // namespace penstock
