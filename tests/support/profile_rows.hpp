#pragma once

#include <vector>

#include "validate/store/profile_row.hpp"

namespace penstock::testing {

/// A square matrix product of some size, measured alone on a made-up computer at the end of
/// October 2026.
ProfileRow gemm_row(int size, std::vector<double> samples_ns);

/// Passes of a small mlp, {"hidden": 8, "intermediate": 32} on sequences of 16 tokens, measured on
/// this computer today: forward 10 us an example, I 8 us and W 6 us.
std::vector<ProfileRow> mlp_rows(const std::vector<int>& examples);

/// Whether all of two rows is the same.
bool same_row(const ProfileRow& a, const ProfileRow& b);

}  // namespace penstock::testing
