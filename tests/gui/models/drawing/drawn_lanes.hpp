#pragma once

#include <string>
#include <vector>

#include "gui/models/drawing/lane_painter.hpp"

namespace penstock::testing {

/// A picture of a run without labels, one strip of 20 pixels a rank.
struct DrawnLanes {
  DrawnLanes(const PaintedRunPtr& the_run, int the_width, const TimeAxis& the_axis,
             LaneChoice choice = {.transfers = false})
      : width(the_width), axis(the_axis) {
    choice.ranks = static_cast<std::uint32_t>(the_run->lanes->ranks.size());
    rows = lane_rows(choice, 20);
    height = height_of(rows);
    memory.resize(static_cast<std::size_t>(width * height));
    scene.runs = {the_run.get()};
    scene.rows = rows;
    scene.axis = axis;
    scene.theme = &theme(ThemeName::light);
    draw();
  }
  void draw() {
    const auto stride = static_cast<std::size_t>(width);
    counts = painter.draw(scene, {memory.data(), width, height, stride});
  }
  std::uint32_t at(int x, int y) const { return memory[static_cast<std::size_t>(y * width + x)]; }

  int width, height = 0;
  TimeAxis axis;
  std::vector<LaneRow> rows;
  std::vector<std::uint32_t> memory;
  LaneScene scene;
  LanePainter painter;
  PaintCounts counts;
};

inline ViewedRunPtr run_with(std::vector<std::string> settings) {
  return viewed(read_scenario(std::string(PENSTOCK_ROOT) + "/experiments/scenarios/first_run.json",
                              settings));
}

}  // namespace penstock::testing
