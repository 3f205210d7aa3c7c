#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/show/pictures/axis.hpp"
#include "experiments/show/pictures/lanes/lane_cells.hpp"
#include "experiments/show/pictures/lanes/timeline_picture.hpp"
#include "experiments/show/pictures/picture.hpp"
#include "sim/costs/costs.hpp"
#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"
#include "sim/plan/lower.hpp"
#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock::testing {

/// A run over free links, to draw.
struct DrawnRun {
  Plan plan;
  Timeline timeline;
  Costs costs;
};

/// Lowers an order and runs it over free links.
DrawnRun drawn(const Schedule& schedule, const Placement& placement, double forward_us,
               double backward_us, Overlap overlap = Overlap::serial);
DrawnRun one_f_one_b(std::uint32_t ranks, std::uint32_t microbatches, double forward_us = 1000,
                     double backward_us = 2000);
/// One rank, one overlap cell of F1 and B0 between F0 and B1.
DrawnRun one_fused_cell(double forward_us, double backward_us);

std::string timeline_picture(PictureFormat format, const DrawnRun& run,
                             const TimelinePicture& picture = {});
/// The critical path.
std::vector<TaskId> path_of(const DrawnRun& run);
TimelineExplanation explanation_of(const DrawnRun& run);

constexpr ActionKind f{Pass::forward, 0};
constexpr ActionKind b{Pass::backward, 0};
/// A cell on one rank, in picoseconds.
penstock::Cell cell(std::int64_t begin, std::int64_t end, CellKind kind, std::uint32_t microbatch);

/// The labels of ticks.
std::vector<std::string> texts(const std::vector<Tick>& ticks);
/// The texts of an SVG file, in the order they were drawn.
std::vector<std::string> texts_in(const std::string& svg);
bool has_text(const std::string& svg, const std::string& text);

constexpr PictureFormat formats[] = {PictureFormat::svg, PictureFormat::png, PictureFormat::pdf};

}  // namespace penstock::testing
