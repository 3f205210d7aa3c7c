#include "experiments/measure/torch_runs/torch_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/json_input.hpp"
#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/output_file.hpp"
#include "experiments/input/long_work/interruption.hpp"
#include "experiments/input/long_work/progress.hpp"
#include "experiments/measure/measured_runs/rank_traces.hpp"
#include "sim/base/error.hpp"
#include "validate/job/run_errors.hpp"
#include "validate/processes/program.hpp"
#include "validate/statistics/summary.hpp"

namespace penstock {
namespace {

constexpr double limit_s = 90;  // for a tensor or a meeting of ranks, waits for quiet apart

// ---- job ----

ordered_json layer_json(const TorchLayer& layer) {
  if (layer.parts.empty()) {
    return {{"times",
             {{"forward_us", layer.forward_us},
              {"input_us", layer.input_us},
              {"weight_us", layer.weight_us}}}};
  }
  const auto part_json = [](const LayerSpec& part) {
    ordered_json one{{"kind", part.kind}};
    for (const auto& [name, value] : part.numbers) one[name] = value;
    return one;
  };
  return {{"parts", list_json(layer.parts, part_json)}};
}

ordered_json shares_json(const MicrobatchShares& stage) {
  return {{"forward", stage.forward}, {"input", stage.input}, {"weight", stage.weight}};
}

ordered_json order_json(const RuntimeOrder& order, const TorchJob& job) {
  return {{"name", order.name},
          {"file", fmt::format("orders/{}.csv", order.name)},
          {"format", order.with_communication ? "compute_comms" : "compute_only"},
          {"stages", order.stages},
          {"shares", list_json(order.shares, shares_json)},
          {"traced", job.traced},
          {"quiet_traced", order.quiet_traced},
          {"steps", job.steps}};
}

ordered_json job_json(const TorchJob& job) {
  const auto one_order = [&](const RuntimeOrder& order) { return order_json(order, job); };
  return {{"group", job.device.group},
          {"device", job.device.device},
          {"ranks", job.ranks},
          {"microbatches", job.microbatches},
          {"bodies", name(job.model.bodies)},
          {"model", job.model.file.empty() ? ordered_json() : ordered_json(job.model.file)},
          {"seed", 1},
          {"layers", list_json(job.model.layers, layer_json)},
          {"width", job.model.width},
          {"examples", job.model.examples},
          {"shape", job.model.shape},
          {"documents", job.model.documents},
          {"rounds", job.rounds},
          {"quiet_s", job.quiet_s},
          {"quiet_share", job.quiet_share},
          {"limit_s", limit_s + job.quiet_s},
          {"orders", list_json(job.orders, one_order)}};
}

void write_job(const TorchJob& job, const TorchFolder& folder) {
  write_file(folder.path("train_orders.py"), train_orders_script());
  write_file(folder.path("scenario_model.py"), scenario_model_script());
  for (const RuntimeOrder& order : job.orders) {
    write_file(folder.path(fmt::format("orders/{}.csv", order.name)), order.csv);
  }
  write_file(folder.path("job.json"), printed(job_json(job)));
}

// ---- run ----

/// The last line of a log, where Python says what is wrong.
std::string last_line(const std::string& path) {
  std::string text = std::filesystem::exists(path) ? read_file(path) : "";
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const auto begin = text.rfind('\n');
  return begin == std::string::npos ? text : text.substr(begin + 1);
}

void say_progress(const std::string& line, const OnProgress& on_progress) {
  if (!on_progress || !is_json(line)) return;
  const auto report = parse_json(line);
  if (!report.is_object()) return;
  on_progress("turns in PyTorch", report.value("done", 0U), report.value("total", 0U));
}

void run_script(TorchFolder& folder) {
  ProgressBar bar;
  const OnProgress on_progress = bar.callback();
  std::optional<int> code;
  {
    const InterruptRequest interrupt;
    code = run_program(
        {.words = {torch_python(), folder.path("train_orders.py"), folder.path("job.json")},
         .errors = folder.path("log.txt"),
         .heard = [&](const std::string& line) { say_progress(line, on_progress); },
         .asked_to_stop = [&] { return interrupt.asked(); }});
  }
  if (!code) {
    folder.remove();
    std::raise(requested_by());
  }
  if (code != 0) {
    throw std::runtime_error(fmt::format("{} ended with exit code {}: {}", torch_python(), *code,
                                         last_line(folder.path("log.txt"))));
  }
}

// ---- results ----

std::vector<TimedStep> steps_of(const nlohmann::json& seen) {
  std::vector<TimedStep> steps;
  for (const auto& step : seen) steps.push_back({step["us"], step["others"], step["round"]});
  return steps;
}

std::vector<TracedVisit> traced_visits(const nlohmann::json& seen, std::uint32_t ranks,
                                       const TorchFolder& folder) {
  std::vector<TracedVisit> visits;
  for (const auto& visit : seen["traces"]) {
    TracedVisit& one = visits.emplace_back();
    one.steps = steps_of(visit["steps"]);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      const std::string in = visit["folder"];
      one.files.push_back(folder.path(fmt::format("{}/rank{}.json.gz", in, rank)));
    }
  }
  return visits;
}

TorchResult result_of(const nlohmann::json& seen, const TorchJob& job, const RuntimeOrder& order,
                      const TorchFolder& folder) {
  TorchResult result;
  if (seen["fault"].is_string()) {
    result.fault = seen["fault"];
    return result;
  }
  result.gradient_error = seen["gradient_error"];
  result.steps = steps_of(seen["steps"]);
  try {
    const auto visits = traced_visits(seen, job.ranks, folder);
    result.traced = run_of_visits(visits, job.quiet_share, order);
    result.around_us = around_ops_us(visits, *result.traced);
  } catch (const InputError& error) {
    result.fault = error.what();
  }
  return result;
}

/// Faults in front of all orders.
void check_faults(const nlohmann::json& seen, const TorchModel& model) {
  const auto& of_model = seen["model_fault"];
  if (of_model.is_string() && !model.file.empty()) {
    throw InputError(fmt::format("{}: {}", model.file, of_model.get<std::string>()));
  }
  for (const auto* fault : {&of_model, &seen["machine_fault"]}) {
    if (fault->is_string()) throw std::runtime_error(fault->get<std::string>());
  }
}

constexpr std::ptrdiff_t least_quiet = 2;

std::vector<TracedRank> ranks_of(const TracedVisit& visit, const NamedOrder& order) {
  TraceReading reading{
      .files = visit.files, .pipeline_ranks = {}, .patterns = {}, .order = order, .by_gaps = false};
  for (const KnownPattern& known : known_patterns()) reading.patterns.emplace_back(known.text);
  std::vector<std::string> notes;
  return read_rank_traces(reading, true, notes);
}

/// Adds the wanted steps of a visit, numbered after `before` others.
void add_steps(const std::vector<TracedRank>& visit, const std::vector<bool>& wanted,
               std::uint32_t before, std::vector<TracedRank>& all) {
  for (std::size_t rank = 0; rank < visit.size(); ++rank) {
    const RankOps& own = visit[rank].ops;  // sorted by begin
    if (own.ops.empty() || !own.ops.front().step) continue;
    const auto add = [&](const auto& list, auto& to) {
      for (auto one : list) {
        if (!one.step) continue;
        const std::uint32_t place = *one.step - *own.ops.front().step;
        if (place >= wanted.size() || !wanted[place]) continue;
        one.step = before + place + 1;
        to.push_back(one);
      }
    };
    add(own.ops, all[rank].ops.ops);
    add(own.comms, all[rank].ops.comms);
  }
}

}  // namespace

TorchRun run_in_torch(const TorchJob& job, TorchFolder& folder) {
  write_job(job, folder);
  run_script(folder);
  const auto seen = parse_json(read_file(folder.path("results.json")));
  check_faults(seen, job.model);
  TorchRun run{.version = seen["torch"],
               .device = seen["device"],
               .load = seen["load"],
               .waited_s = seen["quiet"]["waited_s"],
               .gave_up = seen["quiet"]["gave_up"],
               .threads = seen["threads"],
               .results = {}};
  for (const RuntimeOrder& order : job.orders) {
    run.results.push_back(result_of(seen["orders"][order.name], job, order, folder));
  }
  return run;
}

std::optional<std::string> why_no_score(const TorchJob& job, std::uint32_t threads,
                                        const UsableCores& cores) {
  if (job.model.bodies == TorchBodies::sleep || job.device.device != "cpu") return std::nullopt;
  return why_no_core_each(job.ranks, threads, cores);
}

double retest_error(const std::vector<TimedStep>& steps) {
  if (steps.size() < 2) return 0;
  const auto is_odd = [](const TimedStep& step) { return step.round % 2 == 1; };
  const auto odd = static_cast<std::size_t>(std::count_if(steps.begin(), steps.end(), is_odd));
  const bool by_round = odd > 0 && odd < steps.size();
  std::vector<double> all;
  std::vector<double> halves[2];
  for (std::size_t i = 0; i < steps.size(); ++i) {
    all.push_back(steps[i].us);
    halves[by_round ? steps[i].round % 2 : i % 2].push_back(steps[i].us);
  }
  const double middle = median(std::move(all));
  return middle == 0
             ? 0
             : std::abs(median(std::move(halves[0])) - median(std::move(halves[1]))) / middle;
}

namespace fs = std::filesystem;

TorchFolder::TorchFolder(const std::string& path) : folder_(path), temporary_(path.empty()) {
  std::error_code error;
  if (temporary_) {
    folder_ = (fs::temp_directory_path() / "penstock-torch-XXXXXX").string();
    if (mkdtemp(folder_.data()) == nullptr) throw std::runtime_error("cannot make " + folder_);
  } else {
    fs::create_directories(path, error);
    if (error) throw std::runtime_error(fmt::format("{}: {}", path, error.message()));
    if (!fs::is_empty(path)) {
      throw UsageError(fmt::format("--keep {}: the folder has files; name a new one", path));
    }
  }
  fs::create_directory(this->path("orders"));
}

TorchFolder::~TorchFolder() { remove(); }

void TorchFolder::remove() {
  std::error_code ignored;
  if (temporary_) fs::remove_all(folder_, ignored);
}

MeasuredRun run_of_visits(const std::vector<TracedVisit>& visits, double quiet_share,
                          const RuntimeOrder& order) {
  const NamedOrder named{order.name, order.placement, order.schedule};
  const auto is_quiet = [&](const TimedStep& step) { return step.others <= quiet_share; };
  std::ptrdiff_t quiet = 0;
  for (const TracedVisit& visit : visits) {
    quiet += std::count_if(visit.steps.begin(), visit.steps.end(), is_quiet);
  }
  std::vector<TracedRank> all;
  std::uint32_t before = 0;
  for (const TracedVisit& visit : visits) {
    const std::vector<TracedRank> ranks = ranks_of(visit, named);
    if (all.empty()) {
      all = ranks;
      for (TracedRank& rank : all) rank.ops.ops = {}, rank.ops.comms = {};
    }
    std::vector<bool> wanted;
    for (const TimedStep& step : visit.steps) {
      wanted.push_back(quiet < least_quiet || is_quiet(step));
    }
    add_steps(ranks, wanted, before, all);
    before += static_cast<std::uint32_t>(wanted.size());
  }
  MeasuredRun run = measured_run(std::move(all), named, std::nullopt);
  show_iteration(median_iteration(run.job.priced.plan, run.measured.iterations), run);
  return run;
}

double around_ops_us(const std::vector<TracedVisit>& visits, const MeasuredRun& run) {
  std::vector<double> step_us;
  for (const TracedVisit& visit : visits) {
    for (const TimedStep& step : visit.steps) step_us.push_back(step.us);
  }
  std::vector<double> around;
  for (std::size_t i = 0; i < run.numbers.size(); ++i) {
    const Time ops = makespan(run.job.priced.plan, run.measured.iterations[i]);
    around.push_back(step_us[run.numbers[i] - 1] - to_us(ops));
  }
  return std::max(0.0, median(std::move(around)));
}

}  // namespace penstock
