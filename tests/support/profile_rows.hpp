#pragma once

#include <vector>

#include "validate/store/stored_row.hpp"

namespace penstock::testing {

/// A square matrix product, measured alone on a made-up computer at the end of October 2026.
ProfileRow gemm_row(int size, std::vector<double> samples_ns);

/// Passes of a small mlp, {"hidden": 8, "intermediate": 32}, on sequences of 16 tokens, measured on
/// this computer today. Per example: forward 10 us, I 8 us, W 6 us.
std::vector<ProfileRow> mlp_rows(const std::vector<int>& examples);

/// Whether two rows are equal in everything.
bool same_row(const ProfileRow& one, const ProfileRow& other);

}  // namespace penstock::testing
