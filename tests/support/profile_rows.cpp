#include "tests/support/profile_rows.hpp"

#include <fmt/format.h>

#include <utility>

#include "experiments/input/profiles/profile_rows.hpp"
#include "validate/store/layer_point.hpp"

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

std::vector<ProfileRow> mlp_rows(const std::vector<int>& examples) {
  const Today today = today_here();
  std::vector<ProfileRow> rows;
  for (const int count : examples) {
    for (const auto& [pass, us] : std::vector<std::pair<std::string, double>>{
             {"forward", 10}, {"backward_input", 8}, {"backward_weight", 6}}) {
      const LayerPoint layer{.kind = "mlp",
                             .pass = pass,
                             .numbers = {{"hidden", 8}, {"intermediate", 32}},
                             .amount = static_cast<double>(count),
                             .sequence = 16};
      rows.push_back({.point = kernel_point(layer),
                      .build = today.build,
                      .environment = today.environment,
                      .canary_ns = 1000,
                      .samples_ns = std::vector<double>(10, 1000 * us * count),
                      .measured_at = today.date});
    }
  }
  return rows;
}

bool same_row(const ProfileRow& one, const ProfileRow& other) {
  return one.point == other.point && one.build == other.build &&
         one.environment == other.environment && one.canary_ns == other.canary_ns &&
         one.samples_ns == other.samples_ns && one.measured_at == other.measured_at;
}

}  // namespace penstock::testing
