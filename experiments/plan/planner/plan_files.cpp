#include "experiments/plan/planner/plan_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "experiments/input/files/table.hpp"
#include "experiments/plan/planner/plan_report.hpp"
#include "experiments/plan/planner/space/layout_document.hpp"
#include "experiments/show/pictures/plots/front_plot.hpp"

namespace penstock {

void write_layouts(const LayoutPlan& plan, std::size_t best, const std::string& folder,
                   OutputSet& outputs) {
  outputs.make_folder(folder);
  TrainingTask task = plan.task;
  task.model = path_seen_from(folder, task.model);
  for (std::size_t i = 0; i < std::min(best, plan.fitting.size()); ++i) {
    const auto path = std::filesystem::path(folder) / fmt::format("layout_{}.json", i + 1);
    outputs.write(path.string(), layout_document(task, plan.fitting[i].choice));
  }
}

std::string draw_plan(PictureFormat format, const LayoutPlan& plan, const PictureOptions& options) {
  FrontPlot plot{.title = fmt::format("Layouts of {} on {} of {}",
                                      std::filesystem::path(plan.task.model).filename().string(),
                                      counted(plan.task.devices, "device"), plan.task.hardware),
                 .options = options};
  const std::vector<bool> front = pareto_front(plan.fitting);
  for (std::size_t i = 0; i < plan.fitting.size(); ++i) {
    const Trial& trial = plan.fitting[i].trial;
    plot.points.push_back({to_us(trial.makespan) * 1e-6,
                           static_cast<double>(trial.peak_bytes) / 1073741824.0, front[i]});
  }
  return draw_front_plot(format, plot);
}

}  // namespace penstock
