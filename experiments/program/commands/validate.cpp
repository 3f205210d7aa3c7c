#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/long_work/progress.hpp"
#include "experiments/measure/causes/causes.hpp"
#include "experiments/measure/validation/schedule_ranking.hpp"
#include "experiments/measure/validation/validation.hpp"
#include "experiments/program/commands/line/shared_options.hpp"
#include "experiments/program/commands/registry.hpp"
#include "sim/base/named.hpp"
#include "sim/timeline/timeline_file.hpp"
#include "validate/launch/rendezvous.hpp"

namespace penstock::validate_file {
namespace {

constexpr const char* default_backend = "cpu_logical";
constexpr std::uint32_t least_iterations = 20;
constexpr std::uint32_t most_iterations = 10'000;

std::optional<GpuWork> device_work(const std::string& bodies) {
  for (const auto& [name, work] : gpu_works) {
    if (name == bodies) return work;
  }
  return std::nullopt;
}

/// The values of --bodies.
std::vector<std::string> body_names() {
  std::vector<std::string> names = {"auto", "busy", "layers", "sleep"};
  for (const auto& [name, work] : gpu_works) names.emplace_back(name);
  std::ranges::sort(names);
  return names;
}

struct Options : Arguments {
  Text scenario = line.scenario();
  Texts settings = line.settings();
  Text backend = line.choice("--backend", words_of(backend_entries()), "what runs the plan");
  Number iterations = line.number("--iterations", "how many clean iterations to measure, from 20");
  Text schedules = line.option(
      "--schedules",
      "run it with each of these, and say whether simulation puts them in the right order",
      "all|NAME,NAME...", suggested_schedules_or_all);
  Number action_us =
      line.number("--action-us", "how long an action is to take on average, in microseconds");
  Number processes = line.number(
      "--processes",
      "over how many processes to spread the ranks, which then talk by TCP; 1 by default");
  Text bodies = line.choice("--bodies", body_names(), "what actions do", "auto");
  Text links =
      line.choice("--links", {"host", "paced"},
                  "cuda_single*: copies through host memory, or as fast as links; default paced");
  Texts nccl = line.list(
      "--nccl",
      "cuda_multi*: min_ctas and max_ctas bound the blocks of NCCL's kernels, split_share=1 "
      "shares resources of communicators",
      "KEY=N");
  Text gpu_program = line.option("--gpu-program",
                                 "only write what a GPU would run, for penstock_gpu_check", "FILE");
  TorchFlags torch{{line}};
  Text keep = line.folder("--keep", "torch_*: keep scripts, orders and traces here");
  Flag causes = line.flag("--causes", "report what each cause cost, with intervals");
  Text timeline = line.option("--timeline", "write the timeline of the median iteration", "FILE");
  Text simulated = line.option(
      "--simulated", "write the timeline that was simulated with profiled lengths", "FILE");
  const Existing& replaced = line.replaces();
  Flag json = line.json("print the result as JSON");
};

void check_files(const Options& options) {
  if (!options.schedules.empty() && options.causes) {
    throw UsageError("--causes explains one run; --schedules makes several");
  }
  if (!options.schedules.empty() && !(options.timeline.empty() && options.simulated.empty())) {
    throw UsageError("--timeline and --simulated write one run; --schedules makes several");
  }
  check_outputs(
      {options.timeline, options.simulated, options.gpu_program, json_output(options.json)},
      {options.scenario}, options.replaced);
}

std::uint32_t iterations_of(const Options& options) {
  const std::uint32_t iterations = options.iterations.value_or(least_iterations);
  if (iterations >= least_iterations && iterations <= most_iterations) return iterations;
  throw UsageError(fmt::format("--iterations is {}: expected {} to {}", iterations,
                               least_iterations, most_iterations));
}

std::optional<std::uint32_t> action_us_of(const Options& options) {
  constexpr std::uint32_t most_us = 1'000'000;
  if (!options.action_us) return std::nullopt;
  if (*options.action_us == 0) throw UsageError("--action-us 0: there is nothing to measure");
  return within("--action-us", options.action_us, most_us);
}

std::uint32_t processes_of(const Options& options) {
  constexpr std::uint32_t most_processes = 16;  // every process connects to every other
  return within("--processes", options.processes.value_or(1), most_processes);
}

Bodies bodies_of(const Options& options) {
  if (options.bodies == "busy") return Bodies::busy;
  if (options.bodies == "sleep") return Bodies::sleep;
  return options.bodies == "layers" ? Bodies::layers : Bodies::automatic;
}

/// Refuses options that the backend does not have.
void check_torch_options(const Options& options, const BackendEntry& backend) {
  if (!backend.torch.group.empty()) {
    if (options.processes) throw UsageError("--processes: in PyTorch each rank is a process");
    return;
  }
  const char* wrong = options.keep.empty() ? nullptr : "--keep";
  if (const char* const flag = given(options.torch)) wrong = flag;
  if (wrong == nullptr) return;
  throw UsageError(fmt::format("{} goes with --backend torch_gloo or torch_nccl", wrong));
}

/// Refuses what actions of the backend do not do.
void check_bodies(const Options& options, const BackendEntry& backend) {
  if (options.bodies == "sleep" && !backend.sleeps && backend.torch.group.empty()) {
    throw UsageError("--bodies sleep goes with --backend cpu_timed, torch_gloo or torch_nccl");
  }
  if (options.bodies == "busy" && backend.sleeps) {
    throw UsageError(fmt::format("--bodies busy: {} sleeps; give --bodies sleep, or leave it out",
                                 backend.name));
  }
}

/// A program for another machine: nothing runs here.
void check_gpu_program(const Options& options, const BackendEntry& backend) {
  if (options.gpu_program.empty()) return;
  const bool other = options.iterations || options.action_us || options.processes ||
                     options.bodies != "auto" || !options.schedules.empty() ||
                     !options.links.empty() || !options.nccl.empty() || !options.keep.empty() ||
                     given(options.torch) != nullptr || options.causes || options.json ||
                     !options.timeline.empty() || !options.simulated.empty() ||
                     (!backend.one_gpu && !options.backend.empty());
  if (!other) return;
  throw UsageError(
      "--gpu-program goes with --set, --force and --backend cuda_logical, cuda_single or "
      "cuda_single_graph: it runs nothing");
}

/// Of "min_ctas=2", "max_ctas=8" and "split_share=1".
CommResources comms_of(const std::vector<std::string>& settings) {
  CommResources comms;
  for (const std::string& setting : settings) {
    const std::size_t equals = setting.find('=');
    const std::string key = setting.substr(0, equals);
    const auto number =
        plain_number(equals == std::string::npos ? std::string_view() : &setting[equals + 1]);
    const bool is_share = key == "split_share";
    const double most = is_share ? 1 : 64;
    if ((!is_share && key != "min_ctas" && key != "max_ctas") || !number ||
        std::floor(*number) != *number || *number < (is_share ? 0 : 1) || *number > most) {
      throw UsageError(fmt::format(
          "--nccl {}: expected min_ctas=N or max_ctas=N, from 1 to 64, or split_share=0 or 1",
          setting));
    }
    const auto whole = static_cast<std::uint32_t>(*number);
    if (is_share) comms.shared = whole == 1;
    if (key == "min_ctas") comms.least_blocks = whole;
    if (key == "max_ctas") comms.most_blocks = whole;
  }
  if (comms.most_blocks > 0 && comms.least_blocks > comms.most_blocks) {
    throw UsageError(fmt::format("--nccl min_ctas={}: it is above max_ctas={}", comms.least_blocks,
                                 comms.most_blocks));
  }
  return comms;
}

/// Refuses options that the backend does not have.
DeviceOptions device_of(const Options& options, const BackendEntry& backend) {
  const std::optional<GpuWork> work = device_work(options.bodies);
  if (work && !backend.one_gpu && !backend.many_gpus) {
    throw UsageError(
        fmt::format("--bodies {} goes with --backend cuda_logical, cuda_single, cuda_single_graph, "
                    "cuda_multi or cuda_multi_pairs",
                    options.bodies));
  }
  if (!options.links.empty() && !backend.one_gpu) {
    throw UsageError("--links goes with --backend cuda_logical, cuda_single or cuda_single_graph");
  }
  if (!options.nccl.empty() && !backend.many_gpus) {
    throw UsageError("--nccl goes with --backend cuda_multi or cuda_multi_pairs");
  }
  return {.work = work.value_or(GpuWork::spin),
          .real_links = options.links == "host",
          .comms = comms_of(options.nccl)};
}

TorchOptions torch_of(const Options& options) {
  TorchOptions torch = torch_options(options.torch);
  torch.keep = options.keep;
  return torch;
}

void write_outputs(const Options& options, const Validation& validation) {
  if (options.timeline.empty() && options.simulated.empty()) return;
  if (validation.measured.iterations.empty()) {
    return say("there is no clean iteration: no timeline was written");
  }
  const Plan& plan = validation.job.priced.plan;
  OutputSet outputs(options.replaced);
  if (!options.timeline.empty()) {
    outputs.write(options.timeline, write_timeline(plan, validation.typical, validation.title));
  }
  if (!options.simulated.empty()) {
    outputs.write(options.simulated, write_timeline(plan, validation.simulated, validation.title));
  }
  outputs.publish();
}

void print(const Options& options, const Validation& validation) {
  const Plan& plan = validation.job.priced.plan;
  const auto& iterations = validation.measured.iterations;
  std::optional<StepCauses> causes;
  if (options.causes && !iterations.empty()) {
    causes = causes_of(plan, validation.typical, nullptr, iterations);
  }
  if (!options.json) {
    show(validation_text(validation));
    if (causes) show("\n" + causes_text(plan, *causes));
    return;
  }
  nlohmann::ordered_json all = validation_json(validation);
  if (causes) all["causes"] = causes_json(plan, *causes);
  show(printed(all));
}

int exit_code(const Validation& validation) {
  if (validation.fault) return ExitCode::finding;
  if (validation.verdict == Verdict::pass) return ExitCode::done;
  if (validation.verdict == Verdict::fail) return ExitCode::finding;
  if (!validation.why_no_score.empty()) {
    say(fmt::format("inconclusive: {}", validation.why_no_score));
    return ExitCode::machine_cannot;
  }
  const std::string retest =
      validation.measured.iterations.empty()
          ? ""
          : fmt::format("retest error {:.1f} %; ", 100 * validation.errors.retest);
  say(fmt::format("inconclusive: {}; {}this machine is too noisy", clean_text(validation), retest));
  return ExitCode::machine_cannot;
}

int exit_code(Verdict verdict) {
  if (verdict == Verdict::pass) return ExitCode::done;
  return verdict == Verdict::fail ? ExitCode::finding : ExitCode::machine_cannot;
}

int run_ranking(const Options& options, const Scenario& scenario, const BackendEntry& backend,
                const ValidationOptions& measuring) {
  if (backend.serve != nullptr && launch_of()) {
    throw UsageError(fmt::format("--schedules: start penstock once, not by {}", launch_of()->by));
  }
  const auto names = schedules_named(options.schedules);
  const ScheduleRanking ranking = rank_schedules(scenario, names, backend, measuring);
  show(options.json ? printed(ranking_json(ranking)) : ranking_text(ranking));
  if (ranking.stopped > 0) {
    return ended_on_request(
        fmt::format("; {} of {} schedules were done", ranking.ran, ranking.ran + ranking.stopped));
  }
  if (ranking.verdict == Verdict::inconclusive) {
    say(fmt::format("inconclusive: {}", why_inconclusive(ranking)));
  }
  return exit_code(ranking.verdict);
}

int run_validation(const Options& options) {
  check_files(options);
  const BackendEntry& backend =
      *find_named(backend_entries(), options.backend.empty() ? default_backend : options.backend);
  check_torch_options(options, backend);
  check_bodies(options, backend);
  check_gpu_program(options, backend);
  const ValidationOptions measuring{.measuring = {.iterations = iterations_of(options)},
                                    .action_us = action_us_of(options),
                                    .processes = processes_of(options),
                                    .bodies = bodies_of(options),
                                    .torch = torch_of(options),
                                    .device = device_of(options, backend)};
  const Scenario scenario = read_scenario(options.scenario, options.settings);
  if (!options.gpu_program.empty()) {
    write_file(options.gpu_program, gpu_program_file(scenario), options.replaced);
    return ExitCode::done;
  }
  if (!options.schedules.empty()) return run_ranking(options, scenario, backend, measuring);
  const Validation validation = validate(scenario, backend, measuring);
  if (validation.served) return ExitCode::done;
  write_outputs(options, validation);
  if (options.timeline != "-" && options.simulated != "-") print(options, validation);
  return exit_code(validation);
}

}  // namespace

constinit extern const CommandEntry validate_entry{
    .name = "validate",
    .summary = "run the plan for real and compare it with the simulation",
    .group = CommandGroup::validate,
    .on_first_screen = true,
    .example = "penstock validate first_run.json --backend cpu_logical",
    .declare = command<Options, run_validation>,
};

}  // namespace penstock::validate_file
