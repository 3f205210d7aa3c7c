#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/commands/registry.hpp"
#include "experiments/files/files.hpp"
#include "experiments/files/json_output.hpp"
#include "experiments/validation/schedule_ranking.hpp"
#include "experiments/validation/validation.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"
#include "sim/timeline/timeline_file.hpp"

namespace penstock {
namespace {

constexpr std::uint32_t least_iterations = 20;
constexpr std::uint32_t most_iterations = 10'000;

struct Options {
  std::string scenario;
  std::vector<std::string> settings;
  std::string backend = "cpu_logical";
  std::optional<std::uint32_t> iterations;
  std::string schedules;
  std::optional<std::uint32_t> action_us;
  std::optional<std::uint32_t> processes;
  std::string bodies = "auto";
  std::string timeline;
  std::string simulated;
  bool json = false;
};

void check_files(const Options& options) {
  if (!options.schedules.empty() && !(options.timeline.empty() && options.simulated.empty())) {
    throw UsageError("--timeline and --simulated write one run; --schedules makes several");
  }
  if (options.timeline == "-" && options.simulated == "-") {
    throw UsageError("-: two outputs cannot be one file");
  }
  check_outputs({options.timeline, options.simulated}, {options.scenario});
}

std::uint32_t iterations_of(const Options& options) {
  if (!options.iterations) return least_iterations;
  if (*options.iterations < least_iterations) {
    throw UsageError(fmt::format("--iterations {}: fewer than {} say little", *options.iterations,
                                 least_iterations));
  }
  return within("--iterations", options.iterations, most_iterations);
}

std::optional<std::uint32_t> action_us_of(const Options& options) {
  constexpr std::uint32_t most_us = 1'000'000;
  if (!options.action_us) return std::nullopt;
  if (*options.action_us == 0) throw UsageError("--action-us 0: there is nothing to measure");
  return within("--action-us", options.action_us, most_us);
}

std::uint32_t processes_of(const Options& options) {
  constexpr std::uint32_t most_processes = 16;  // each is connected with each
  return within("--processes", options.processes.value_or(1), most_processes);
}

Bodies bodies_of(const Options& options) {
  if (options.bodies == "busy") return Bodies::busy;
  return options.bodies == "layers" ? Bodies::layers : Bodies::automatic;
}

void write_outputs(const Options& options, const Validation& validation) {
  if (options.timeline.empty() && options.simulated.empty()) return;
  if (validation.measured.iterations.empty()) {
    return say("there is no clean iteration: no timeline was written");
  }
  const Plan& plan = validation.job.priced.plan;
  if (!options.timeline.empty()) {
    write_file(options.timeline, write_timeline(plan, validation.typical, validation.title));
  }
  if (!options.simulated.empty()) {
    write_file(options.simulated, write_timeline(plan, validation.simulated, validation.title));
  }
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
  say(fmt::format("inconclusive: {}; {}this machine is too noisy", clean_text(validation.measured),
                  retest));
  return ExitCode::machine_cannot;
}

int exit_code(Verdict verdict) {
  if (verdict == Verdict::pass) return ExitCode::done;
  return verdict == Verdict::fail ? ExitCode::finding : ExitCode::machine_cannot;
}

int run_ranking(const Options& options, const Scenario& scenario, const BackendEntry& backend,
                const ValidationOptions& measuring) {
  const auto names = schedules_named(options.schedules);
  const ScheduleRanking ranking = rank_schedules(scenario, names, backend, measuring);
  fmt::print("{}", options.json ? printed(ranking_json(ranking)) : ranking_text(ranking));
  if (ranking.verdict == Verdict::inconclusive) say("inconclusive: this machine is too noisy");
  return exit_code(ranking.verdict);
}

int run_validation(const Options& options) {
  check_files(options);
  const ValidationOptions measuring{.measuring = {.iterations = iterations_of(options)},
                                    .action_us = action_us_of(options),
                                    .processes = processes_of(options),
                                    .bodies = bodies_of(options)};
  const Scenario scenario = read_scenario(options.scenario, options.settings);
  const BackendEntry& backend = *find_named(backend_entries(), options.backend);
  if (!options.schedules.empty()) return run_ranking(options, scenario, backend, measuring);
  const Validation validation = validate(scenario, backend, measuring);
  write_outputs(options, validation);
  if (options.timeline != "-" && options.simulated != "-") {
    fmt::print("{}",
               options.json ? printed(validation_json(validation)) : validation_text(validation));
  }
  return exit_code(validation);
}

Runner declare(CommandLine& line) {
  auto options = std::make_shared<Options>();
  std::vector<std::string> backends;
  for (const BackendEntry* entry : backend_entries()) backends.emplace_back(entry->name);
  line.required("SCENARIO", options->scenario, "scenario file (JSON), - for standard input");
  line.option("--set", options->settings, "change the scenario first", "/POINTER=VALUE");
  line.choice("--backend", options->backend, backends, "what runs the plan");
  line.option("--iterations", options->iterations, "how many clean iterations to measure, from 20");
  line.option("--schedules", options->schedules,
              "run it with each of these, and say whether simulation puts them in the right order",
              "all|NAME,NAME...");
  line.option("--action-us", options->action_us,
              "how long an action is to take on average, in microseconds");
  line.option("--processes", options->processes,
              "over how many processes to spread the ranks, which then talk by TCP; 1 by default");
  line.choice("--bodies", options->bodies, {"auto", "busy", "layers"}, "what actions do");
  line.option("--timeline", options->timeline, "write the timeline of the median iteration",
              "FILE");
  line.option("--simulated", options->simulated,
              "write the timeline that was simulated with profiled lengths", "FILE");
  line.flag("--json", options->json, "print the result as JSON");
  return [options] { return run_validation(*options); };
}

}  // namespace

constinit extern const CommandEntry validate_entry{
    .name = "validate",
    .summary = "run the plan of a scenario for real, and hold the simulation against it",
    .details =
        "Each action takes its time and each tensor is handed over and checked; all times are\n"
        "scaled alike, so that they can be measured. Three errors are told apart, as shares of\n"
        "the measured makespan:\n"
        "  structure  simulated with the lengths that the actions of an iteration had themselves;\n"
        "             the most of all iterations. Other rules than the simulator's show here\n"
        "  profile    simulated with lengths that were profiled beside the clean iterations\n"
        "  retest     every other iteration against those between them: how noisy it is\n"
        "The structure must be within 0.5 %, the profile within 5 % or twice the retest error.\n"
        "Exit 1 where it is not, or where ranks wait for each other for ever; exit 4 where too\n"
        "few iterations are clean (profiles before and after one are within 10 %), or where\n"
        "nothing fails but the retest error is above 5 %. Of 80 tries 20 clean ones are wanted.\n"
        "\n"
        "Where the model has layers by kind, kernels run these in doubles, and the sums of loss\n"
        "and gradients must be those of the model in one piece within 1e-10: the order trains\n"
        "the same model. An order without flushes is held against the weight versions that its\n"
        "rule states. Links keep the proportion to actions that the scenario gives them. Where\n"
        "there are no such kernels, or an iteration has more than 2e9 FLOP or holds more than 1\n"
        "GiB, actions keep a core busy for their time instead; --bodies chooses.\n"
        "\n"
        "--schedules runs the scenario once with each schedule, on as many ranks, and says by\n"
        "Kendall's tau-b whether simulation puts them in the order in which they really come.\n"
        "Stages given by times take those times a cell: a schedule with slices does more work\n"
        "then.\n"
        "\n"
        "cpu_logical runs any number of ranks on any number of cores. It shows that the order\n"
        "runs, that tensors come where they are needed, and that the rules of waiting are those\n"
        "of the simulator. It shows nothing of links: these take what the scenario says.\n"
        "Actions take 50 us on average, 20 us where there are many, more where a rank has\n"
        "little to do; --action-us says otherwise.\n"
        "\n"
        "cpu_realtime gives each rank a core, which spins while it waits, and measures real\n"
        "time, 250 us an action on average. Handing a tensor over takes time here, which shows\n"
        "as structure error. More ranks than usable cores: exit 4. An iteration is clean only\n"
        "when no rank had to leave its core, no hypervisor took time, and a fixed piece of work\n"
        "takes before and after it what it usually does, within 3 %. Fewer than 8 such: exit 4.\n"
        "\n"
        "cpu_timed sleeps instead of working, 2 ms an action on average, with any number of\n"
        "ranks. It shows that the order runs in real time. Being woken and handed a tensor late\n"
        "is booked into the action, as t_wake is into its profile, so that the structure error\n"
        "is zero unless the rules differ. It is as strict about what a clean iteration is. In\n"
        "real time the structure of the median iteration is judged, and only of enough clean\n"
        "ones.\n"
        "\n"
        "cuda_single and cuda_single_graph let one GPU play all ranks, each on SMs of its own,\n"
        "for 2 ms an action; copies of their bytes at their rate stand for links. The host\n"
        "starts each task, or all of them are one graph: the difference is what the host costs.\n"
        "Where SMs cannot be split, or a link is slower than asked for, no errors are told:\n"
        "exit 4.\n"
        "\n"
        "--processes 2 gives each of two processes a half of the ranks; tensors between them go\n"
        "over TCP on loopback (cpu_logical and cpu_timed). It shows that nothing is shared but\n"
        "what is sent, and nothing of networks. A process that ends, or says nothing for 10 s,\n"
        "is a finding: exit 1.\n"
        "\n"
        "Not run, exit 2: sums of gradients over replicas or copies of the model, and updates\n"
        "behind them (/parallel/data, bidirectional orders whose stages have parameter_bytes,\n"
        "tied weights); links that several ranks share; fused overlap cells; /chance,\n"
        "/overheads and memory that ranks wait for. What a scenario expects, and whether its\n"
        "memory suffices, is for penstock run to say.\n"
        "\n"
        "Example: penstock validate experiments/scenarios/first_run.json --backend cpu_logical",
    .declare = declare,
};

}  // namespace penstock
