#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "experiments/show/pictures/lanes/memory_lanes.hpp"
#include "experiments/show/pictures/picture.hpp"
#include "experiments/show/pictures/plots/plot_data.hpp"
#include "sim/base/error.hpp"
#include "sim/report/memory.hpp"
#include "tests/support/pictures.hpp"

namespace penstock::testing {

TEST_CASE("memory is drawn with its peaks, and what is short keeps its maximum") {
  DrawnRun two = one_f_one_b(2, 2, 1e-6, 2e-6);  // 9 ps
  two.timeline.memory = {{Rank{0}, Time{0}, 10},
                         {Rank{0}, Time{4}, 1024},
                         {Rank{0}, Time{5}, 5},
                         {Rank{1}, Time{0}, 2048}};
  const auto lanes_by = [&](std::int64_t shortest) {
    return run_memory(two.plan, two.timeline.memory, Time{9}, Time{shortest}).ranks;
  };
  const auto held = [](std::int64_t begin, std::int64_t end, std::uint64_t bytes) {
    return HeldMemory{Time{begin}, Time{end}, bytes};
  };
  CHECK(lanes_by(1)[0].held == std::vector{held(0, 4, 10), held(4, 5, 1024), held(5, 9, 5)});
  CHECK(lanes_by(5)[0].held == std::vector{held(0, 5, 1024), held(5, 9, 5)});
  CHECK(lanes_by(5)[0].peak == held(4, 5, 1024));
  const std::string svg = draw_memory(PictureFormat::svg, two.plan, two.timeline, {"title", {}});
  CHECK(has_text(svg, "1 KiB"));
  CHECK(has_text(svg, "2 KiB"));
  CHECK(has_text(svg, "rank 1"));
}

TEST_CASE("memory is stacked by kind where kinds are known") {
  DrawnRun two = one_f_one_b(2, 2, 1e-6, 2e-6);
  for (const BufferClass& buffer : two.plan.buffers) {
    two.costs.bytes.push_back(buffer.kind == BufferKind::stash ? 1024 : 0);
  }
  memory_peaks(two.plan, two.costs, two.timeline, &two.timeline.memory);
  std::vector<BytesByKind> kinds = memory_kinds(two.plan, two.costs, two.timeline);
  REQUIRE(kinds.size() == two.timeline.memory.size());
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    CHECK(kinds[i][static_cast<std::size_t>(BufferKind::stash)] == two.timeline.memory[i].bytes);
  }
  for (BytesByKind& bytes : kinds) bytes[static_cast<std::size_t>(BufferKind::optimizer)] = 512;
  for (MemorySample& sample : two.timeline.memory) sample.bytes += 512;
  CHECK(kinds_in(kinds) == std::vector{BufferKind::optimizer, BufferKind::stash});
  const std::string svg =
      draw_memory(PictureFormat::svg, two.plan, two.timeline, {"title", {}, kinds});
  CHECK(has_text(svg, "stash"));
  CHECK(has_text(svg, "optimizer"));
  CHECK(memory_csv(two.timeline, kinds).starts_with("rank,time_us,bytes,optimizer,stash\n"));
}

TEST_CASE("memory without samples, or of nothing, is refused") {
  DrawnRun two = one_f_one_b(2, 2);
  CHECK_THROWS_WITH_AS(draw_memory(PictureFormat::svg, two.plan, two.timeline, {}),
                       doctest::Contains("no memory samples"), InputError);
  two.timeline.memory = {{Rank{0}, Time{0}, 0}};
  CHECK_THROWS_WITH_AS(draw_memory(PictureFormat::svg, two.plan, two.timeline, {}),
                       doctest::Contains("no rank holds memory"), InputError);
  two.timeline.memory = {{Rank{7}, Time{0}, 1}};
  CHECK_THROWS_AS(draw_memory(PictureFormat::svg, two.plan, two.timeline, {}), InputError);
}

}  // namespace penstock::testing
