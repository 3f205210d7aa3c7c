#pragma once

#include <cstddef>
#include <string>

#include "experiments/input/files/output_file.hpp"
#include "experiments/plan/planner/planner.hpp"
#include "experiments/show/pictures/picture.hpp"

namespace penstock {

/// Writes the scenario of each of the best layouts as layout_1.json, layout_2.json … into a folder,
/// which is made if it is missing. Paths in the scenarios are relative to it. Throws UsageError for
/// a folder that cannot be made or written.
void write_layouts(const LayoutPlan& plan, std::size_t best, const std::string& folder,
                   OutputSet& outputs);

/// A picture of the simulated layouts that fit: memory over step time, with their front.
std::string draw_plan(PictureFormat format, const LayoutPlan& plan, const PictureOptions& options);

}  // namespace penstock
