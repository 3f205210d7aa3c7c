#include "schedules/patterns/building_block.hpp"
#include "schedules/patterns/rules.hpp"
#include "schedules/registry.hpp"

namespace penstock::v_min_file {
namespace {

BlockOffsets offsets(std::uint32_t ranks, std::uint32_t rank) {
  const std::uint32_t extra = ranks % 3 == 0 ? 2 : 0;
  return {rank, 2 * ranks - 1 - rank, 2 * ranks + extra + rank, 4 * ranks + extra - rank - 1};
}

/// A third of the memory of 1f1b ("Pipeline Parallelism with Controllable Memory", 2024).
Schedule make(const Placement& placement, const ScheduleOptions& options) {
  require_vee("v-min", placement);
  return grow(offsets, placement.ranks(), options);
}

}  // namespace

constinit extern const ScheduleEntry v_min_entry{
    .name = "v-min",
    .summary = "a third of the memory of 1f1b: a V grown from a building block",
    .bubble = "no closed form; p = 2, 3, 4, 8: 3, 5, 11, 27 at f = i = w = 1 and m >= 2p",
    .peak = "at most 2 floor((p+4)/3)",
    .default_chunks = 2,
    .place = vee_of_two,
    .make = make,
};

}  // namespace penstock::v_min_file
