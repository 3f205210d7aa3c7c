#include "schedules/patterns/building_block.hpp"
#include "schedules/patterns/rules.hpp"
#include "schedules/registry.hpp"

namespace penstock::v_half_file {
namespace {

BlockOffsets offsets(std::uint32_t ranks, std::uint32_t rank) {
  const std::uint32_t extra = ranks % 2 == 0 ? 3 : 0;
  return {2 * rank, 3 * ranks - rank - 2, 3 * ranks + extra + 2 * rank - 1,
          6 * ranks + extra - rank - 2};
}

/// Half the memory of 1f1b for less than half its bubble ("Pipeline Parallelism with Controllable
/// Memory", 2024).
Schedule make(const Placement& placement, const ScheduleOptions& options) {
  require_vee("v-half", placement);
  return grow(offsets, placement.ranks(), options);
}

}  // namespace

constinit extern const ScheduleEntry v_half_entry{
    .name = "v-half",
    .summary = "half the memory of 1f1b: a V grown from a building block",
    .bubble = "no closed form; p = 2, 3, 4, 8: 1, 5, 5, 17 at f = i = w = 1 and m >= 2p",
    .peak = "at most 2 floor((p+2)/2)",
    .default_chunks = 2,
    .place = vee_of_two,
    .make = make,
};

}  // namespace penstock::v_half_file
