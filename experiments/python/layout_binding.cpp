#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/plan/planner/plan_report.hpp"
#include "experiments/plan/planner/planner.hpp"
#include "experiments/plan/planner/space/framework.hpp"
#include "experiments/plan/planner/space/layout_space.hpp"
#include "experiments/plan/planner/space/training_task.hpp"
#include "experiments/python/background.hpp"
#include "experiments/python/module.hpp"
#include "experiments/run/layout/launch_of.hpp"
#include "sim/base/error.hpp"

namespace penstock::python {
namespace {

namespace nb = nanobind;

/// How `penstock layout` is asked.
struct PlanRequest {
  TrainingRequest training;
  std::string framework;
  SpaceRequest space;
  std::size_t best = 10;
  double headroom = 0.08;
  double seconds = 30;
  std::size_t jobs = SIZE_MAX;
};

/// The layouts of a plan.
struct FoundLayouts {
  LayoutPlan plan;
  std::size_t best = 0;

  std::vector<ListedFamily> families() const { return best_families(plan, best); }
};

FoundLayouts found(const PlanRequest& request, const Stop& stop) {
  const Catalogue catalogue = read_catalogue();
  const Framework* framework = framework_of(request.framework);
  const PlannerOptions options{.space = space_options(request.space, framework),
                               .best = request.best,
                               .headroom = request.headroom,
                               .jobs = request.jobs,
                               .most_seconds = request.seconds,
                               .asked_to_end = [stop] { return stop->load(); },
                               .on_progress = [stop](auto&&...) { end_if(stop); }};
  TrainingTask task = read_training_task(request.training, catalogue);
  set_framework(framework, catalogue, task);
  return {plan_layouts(task, catalogue, options), request.best};
}

void check_request(const PlanRequest& request) {
  const std::vector<std::string> known = framework_names();
  if (std::ranges::find(known, request.framework) == known.end()) {
    throw UsageError(
        fmt::format("framework \"{}\": known: {}", request.framework, fmt::join(known, ", ")));
  }
  check_within("headroom", request.headroom, 0.0, 0.9);
  check_within("budget_s", request.seconds, 0.1, 1e6);
}

FoundLayouts find_layouts(
    const std::string& model, const std::string& hardware, std::uint32_t devices,
    const std::string& framework, std::optional<std::uint32_t> sequence,
    std::optional<std::uint32_t> microbatch, std::optional<std::uint32_t> global_batch,
    const std::vector<std::string>& settings, const std::vector<std::string>& only,
    const std::vector<std::string>& partitions, bool lossy, bool offload, std::size_t best,
    double headroom, double budget_s, std::optional<std::size_t> jobs) {
  PlanRequest request{
      .training = {.model = model,
                   .hardware = hardware,
                   .devices = devices,
                   .sequence = sequence,
                   .microbatch = microbatch,
                   .global_batch = global_batch,
                   .settings = settings,
                   .writer = "penstock layout"},
      .framework = framework,
      .space = {.only = only, .lossy = lossy, .offloads = offload, .partitions = partitions},
      .best = best,
      .headroom = headroom,
      .seconds = budget_s,
      .jobs = jobs.value_or(SIZE_MAX)};
  check_request(request);
  return in_background(
      [request = std::move(request)](const Stop& stop) { return found(request, stop); });
}

const LayoutChoice& choice_at(const std::vector<ListedFamily>& rows, std::size_t number) {
  if (number < rows.size()) return rows[number].best->choice;
  throw UsageError(fmt::format("layout {}: there are {}", number, rows.size()));
}

std::string scenario_of(const FoundLayouts& layouts, std::size_t number) {
  const auto rows = layouts.families();
  return layout_document(layouts.plan.task, choice_at(rows, number));
}

/// Why a framework does not run a layout; empty if it does.
std::string why_not_in_framework(const FoundLayouts& layouts, std::size_t number,
                                 const std::string& framework) {
  const auto rows = layouts.families();
  const char* why =
      why_not_in(*framework_of(framework), layouts.plan.task, choice_at(rows, number));
  return why == nullptr ? "" : why;
}

/// The files that start a layout with a framework, by their suffixes: their text, and what neither
/// it nor a comment in it says.
std::map<std::string, std::pair<std::string, std::vector<std::string>>> launch_of_layout(
    const FoundLayouts& layouts, std::size_t number, const std::string& format,
    const std::string& name) {
  std::map<std::string, std::pair<std::string, std::vector<std::string>>> files;
  for (LaunchFile& file :
       launch_files_beside(name + ".json", scenario_of(layouts, number), format)) {
    files[file.suffix] = {std::move(file.text), std::move(file.left_out)};
  }
  return files;
}

}  // namespace

void bind_layouts(nb::module_& module) {
  nb::class_<FoundLayouts>(module, "Layouts", "Layouts, the best first.")
      .def("__len__", [](const FoundLayouts& layouts) { return layouts.families().size(); })
      .def(
          "title",
          [](const FoundLayouts& layouts, std::size_t number) {
            const auto rows = layouts.families();
            return text_of(choice_at(rows, number));
          },
          nb::arg("number"))
      .def(
          "makespan_ps",
          [](const FoundLayouts& layouts, std::size_t number) {
            const auto rows = layouts.families();
            choice_at(rows, number);
            return rows[number].best->trial.makespan.picoseconds;
          },
          nb::arg("number"))
      .def("scenario", scenario_of, nb::arg("number"))
      .def("why_not_in", why_not_in_framework, nb::arg("number"), nb::arg("framework"))
      .def("launch", launch_of_layout, nb::arg("number"), nb::arg("format"), nb::arg("name"))
      .def("json",
           [](const FoundLayouts& layouts) { return plan_json(layouts.plan, layouts.best).dump(); })
      .def("report",
           [](const FoundLayouts& layouts) { return plan_text(layouts.plan, layouts.best); });
  module.def("layout", find_layouts, nb::arg("model"), nb::arg("hardware"), nb::arg("devices"),
             nb::arg("framework"), nb::arg("sequence"), nb::arg("microbatch"),
             nb::arg("global_batch"), nb::arg("settings"), nb::arg("only"), nb::arg("partitions"),
             nb::arg("lossy"), nb::arg("offload"), nb::arg("best"), nb::arg("headroom"),
             nb::arg("budget_s"), nb::arg("jobs"));
}

}  // namespace penstock::python
