#include "tests/support/profile_rows.hpp"

#include <fmt/format.h>

#include <utility>

namespace penstock::testing {

ProfileRow gemm_row(int size, std::vector<double> samples_ns) {
  return {.point = {.kernel = "gemm",
                    .pass = "",
                    .shape = fmt::format("k={} m={} n={}", size, size, size),
                    .condition = "solo"},
          .build = "b1",
          .environment = {{"cpu", "made-up"}, {"cores", "2"}, {"os", "Linux 6.1"}},
          .canary_ns = 1000,
          .samples_ns = std::move(samples_ns),
          .measured_at = "2026-10-31T12:00:00Z"};
}

bool same_row(const ProfileRow& a, const ProfileRow& b) {
  return a.point == b.point && a.build == b.build && a.environment == b.environment &&
         a.canary_ns == b.canary_ns && a.samples_ns == b.samples_ns &&
         a.measured_at == b.measured_at;
}

}  // namespace penstock::testing
