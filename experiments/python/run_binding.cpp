#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/json_input.hpp"
#include "experiments/input/files/setting.hpp"
#include "experiments/input/scenario/document.hpp"
#include "experiments/python/background.hpp"
#include "experiments/python/column.hpp"
#include "experiments/python/module.hpp"
#include "experiments/run/layout/degrees.hpp"
#include "experiments/run/layout/pipeline_ranks.hpp"
#include "experiments/run/run.hpp"
#include "experiments/show/pictures/picture.hpp"
#include "experiments/show/results/result_json.hpp"
#include "experiments/show/results/result_table.hpp"
#include "experiments/show/results/run_summary.hpp"
#include "sim/base/error.hpp"

namespace penstock::python {
namespace {

namespace nb = nanobind;
using SharedRun = std::shared_ptr<const RunResult>;

/// How `penstock run` is asked.
struct RunRequest {
  ScenarioSource scenario;
  std::optional<std::string> name;  // of the order, instead of its file
  Engine engine = Engine::automatic;
  std::uint32_t repeat = 0;
  WholeTraining training;
  bool allows_stale = false;
};

Engine engine_named(const std::string& name) {
  if (name == "auto") return Engine::automatic;
  if (name == "relax") return Engine::relax;
  if (name == "events") return Engine::events;
  throw UsageError("engine \"" + name + "\": expected auto, relax or events");
}

SharedRun run_of(const RunRequest& request, const Stop& stop) {
  const Scenario scenario = read(request.scenario);
  Layout layout = settle(scenario, {.allows_stale = request.allows_stale});
  if (request.name) layout.name = *request.name;
  auto result = std::make_shared<RunResult>(
      run(std::move(layout), {.engine = request.engine,
                              .repeat = request.repeat,
                              .on_progress = [stop](auto&&...) { end_if(stop); },
                              .settled = true,
                              .training = request.training}));
  add_unmet_expectations(scenario.expect, *result);
  return result;
}

void check_training(std::optional<double> tokens, std::optional<double> price) {
  if (price && !tokens) {
    throw UsageError("price_per_device_hour goes with tokens, those of the whole training");
  }
  if (tokens.value_or(1) > 0 && price.value_or(1) > 0) return;
  throw UsageError("tokens and price_per_device_hour must be above 0");
}

SharedRun run_scenario(const std::string& source, const std::optional<std::string>& text,
                       const std::vector<std::string>& settings,
                       const std::optional<std::string>& name, const std::string& engine,
                       std::uint32_t repeat, std::optional<double> tokens,
                       std::optional<double> price_per_device_hour, bool allow_stale) {
  check_training(tokens, price_per_device_hour);
  RunRequest request{.scenario = {source, text, settings},
                     .name = name,
                     .engine = engine_named(engine),
                     .repeat = repeat,
                     .training = {tokens, price_per_device_hour},
                     .allows_stale = allow_stale};
  return in_background(
      [request = std::move(request)](const Stop& stop) { return run_of(request, stop); });
}

/// The document of a scenario with another order; it may have had none.
nlohmann::json with_order(const ScenarioSource& given, const nlohmann::json& order) {
  return about_file(given.source, [&] {
    const std::string text = given.text ? *given.text : read_configuration(given.source);
    check_configuration(text);
    nlohmann::json document = parse_json(text);
    apply_settings(document, given.settings);
    try {
      set_order(document, order);
    } catch (const nlohmann::json::exception&) {
      // Reading the document says what is wrong with it.
    }
    return document;
  });
}

/// The sizes that a schedule rule is asked for: ranks, chunks and microbatches.
std::array<std::uint32_t, 3> sizes_of(const ScenarioSource& source,
                                      std::optional<std::uint32_t> chunks) {
  const Scenario scenario = scenario_from(with_order(source, {{"name", "1f1b"}}), source.source);
  return about_file(scenario.source, [&]() -> std::array<std::uint32_t, 3> {
    const Degrees degrees = settle_degrees(scenario);
    const Batch batch = settle_batch(scenario, degrees);
    if (!batch.microbatches) {
      throw InputError("/schedule/microbatches", "it is missing; a rule is asked for so many");
    }
    const std::uint32_t of_rank = chunks.value_or(scenario.parallel.chunks.value_or(1));
    return {ranks_for(scenario, degrees, of_rank, 1), of_rank, *batch.microbatches};
  });
}

const RunResult& finished(const RunResult& result) {
  if (result.plan) return result;
  throw UsageError(result.title + ": the run did not finish; see its findings");
}

/// Columns of the tasks, whose order is that of the plan.
struct TaskColumns {
  std::vector<std::uint32_t> rank, stage;
  std::vector<std::int8_t> kind;
};

std::shared_ptr<const TaskColumns> task_columns(const Plan& plan) {
  auto all = std::make_shared<TaskColumns>();
  const std::size_t tasks = plan.tasks();
  all->rank.resize(tasks);
  all->stage.resize(tasks);
  all->kind.resize(tasks);
  for (TaskId task = 0; task < tasks; ++task) {
    const WorkClass& work = plan.class_of(task);
    all->rank[task] = rank_of_task(plan, task);
    all->stage[task] = index(work.stage);
    all->kind[task] = static_cast<std::int8_t>(work.pass);
  }
  return all;
}

std::shared_ptr<const Table> timeline_of(const SharedRun& run) {
  const RunResult& result = finished(*run);
  const auto tasks = task_columns(*result.plan);
  Column kind = column_of("kind", ColumnType::code, tasks->kind, tasks);
  for (std::size_t pass = 0; pass < pass_count; ++pass) {
    kind.categories.emplace_back(letters(static_cast<Pass>(pass)));
  }
  static_assert(sizeof(Time) == sizeof(std::int64_t));
  static_assert(sizeof(Microbatch) == sizeof(std::uint32_t));
  auto table = std::make_shared<Table>();
  for (Column& column :
       std::array{column_of("rank", ColumnType::uint32, tasks->rank, tasks), std::move(kind),
                  column_of("stage", ColumnType::uint32, tasks->stage, tasks),
                  column_of("microbatch", ColumnType::uint32, result.plan->microbatch, run),
                  column_of("start_ps", ColumnType::int64, result.timeline.begin, run),
                  column_of("end_ps", ColumnType::int64, result.timeline.end, run)}) {
    table->columns.push_back(std::make_shared<const Column>(std::move(column)));
  }
  return table;
}

std::string json_of(const RunResult& result, const std::optional<std::set<std::string>>& keys) {
  return result_json(result, keys ? &*keys : nullptr).dump();
}

std::string svg_of(const SharedRun& run, std::optional<double> width, std::optional<double> height,
                   const std::string& title, bool dark) {
  finished(*run);
  PictureOptions options;
  if (width) options.width = *width;
  if (height) options.height = *height;
  if (!title.empty()) options.title = title;
  if (dark) options.theme = PictureTheme::dark;
  return in_background([run, options](const Stop&) {
    return draw_run(PictureFormat::svg, *run->plan, run->timeline, run->title, options);
  });
}

}  // namespace

void bind_runs(nb::module_& module) {
  nb::class_<RunResult>(module, "Run", "A simulated run.")
      .def_ro("title", &RunResult::title)
      .def_prop_ro("finished", [](const RunResult& run) { return run.plan.has_value(); })
      .def_prop_ro("makespan_ps",
                   [](const RunResult& run) -> std::optional<std::int64_t> {
                     if (!run.report) return std::nullopt;
                     return run.report->makespan.picoseconds;
                   })
      .def_prop_ro("tasks", [](const RunResult& run) { return run.plan ? run.plan->tasks() : 0; })
      .def("json", json_of, nb::arg("keys") = nb::none(), nb::call_guard<nb::gil_scoped_release>())
      .def(
          "report",
          [](const RunResult& run, bool all, bool verbose) {
            return result_table(run, {.all = all, .verbose = verbose});
          },
          nb::arg("all"), nb::arg("verbose"))
      .def("svg", svg_of, nb::arg("width"), nb::arg("height"), nb::arg("title"), nb::arg("dark"))
      .def("timeline", timeline_of);
  module.def("run", run_scenario, nb::arg("source"), nb::arg("text"), nb::arg("settings"),
             nb::arg("name"), nb::arg("engine"), nb::arg("repeat"), nb::arg("tokens"),
             nb::arg("price_per_device_hour"), nb::arg("allow_stale"));
  module.def(
      "sizes",
      [](const std::string& source, const std::optional<std::string>& text,
         const std::vector<std::string>& settings, std::optional<std::uint32_t> chunks) {
        const auto sizes = sizes_of({source, text, settings}, chunks);
        return nb::make_tuple(sizes[0], sizes[1], sizes[2]);
      },
      nb::arg("source"), nb::arg("text"), nb::arg("settings"), nb::arg("chunks"),
      nb::sig("def sizes(source: str, text: str | None, settings: collections.abc.Sequence[str], "
              "chunks: int | None) -> tuple[int, int, int]"));
  module.def(
      "with_order",
      [](const std::string& source, const std::optional<std::string>& text,
         const std::vector<std::string>& settings, const std::string& order) {
        return with_order({source, text, settings}, nlohmann::json::parse(order)).dump();
      },
      nb::arg("source"), nb::arg("text"), nb::arg("settings"), nb::arg("order"));
}

}  // namespace penstock::python
