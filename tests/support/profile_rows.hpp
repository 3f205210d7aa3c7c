#pragma once

#include <vector>

#include "validate/profile_row.hpp"

namespace penstock::testing {

/// A square matrix product of some size, measured alone on a made-up computer at the end of
/// October 2026.
ProfileRow gemm_row(int size, std::vector<double> samples_ns);

/// Whether all of two rows is the same.
bool same_row(const ProfileRow& a, const ProfileRow& b);

}  // namespace penstock::testing
