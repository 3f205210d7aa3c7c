#include "experiments/explanation/explain.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "experiments/commands/picture_files.hpp"
#include "experiments/commands/registry.hpp"
#include "experiments/explanation/memory_explanation.hpp"
#include "experiments/files/json_output.hpp"
#include "experiments/results/result_json.hpp"
#include "experiments/results/result_table.hpp"

namespace penstock {
namespace {

struct Options {
  std::string scenario;
  std::vector<std::string> settings;
  bool json = false;
  bool memory = false;
  PictureFiles pictures;
};

void print_memory(const Options& options, const Scenario& scenario, const RunResult& result) {
  const MemoryExplanation explanation = explain_memory(scenario, result);
  fmt::print("{}", options.json ? printed(memory_explanation_json(result, explanation))
                                : memory_explanation_text(result, explanation));
}

int explain_scenario(const Options& options) {
  check(options.pictures);
  const Scenario scenario = read_scenario(options.scenario, options.settings);
  const RunResult result = options.memory ? run_for_memory(scenario) : run(scenario);
  const int code = result.findings.empty() ? ExitCode::done : ExitCode::finding;
  if (!result.report) {  // a deadlock: its finding is the explanation
    fmt::print("{}", options.json ? printed(result_json(result)) : result_table(result));
    return code;
  }
  if (options.memory && !on_standard_output(options.pictures)) {
    print_memory(options, scenario, result);
  }
  if (options.memory && !any(options.pictures)) return code;
  const Explanation explanation = explain(result);
  write_pictures(options.pictures, result,
                 {explanation.gaps, tasks_of(result.report->critical_path)});
  if (options.memory || on_standard_output(options.pictures)) return code;
  fmt::print("{}", options.json ? printed(explanation_json(result, explanation))
                                : explanation_text(result, explanation));
  return code;
}

Runner declare(CommandLine& line) {
  auto options = std::make_shared<Options>();
  line.required("SCENARIO", options->scenario, "scenario file (JSON), - for standard input");
  line.option("--set", options->settings, "change the scenario first", "/POINTER=VALUE");
  line.flag("--json", options->json, "print everything as JSON");
  line.flag("--memory", options->memory, "which rank holds most, why, and what would change that");
  declare(line, options->pictures);
  return [options] { return explain_scenario(*options); };
}

}  // namespace

constinit extern const CommandEntry explain_entry{
    .name = "explain",
    .summary = "where the time goes: critical path, idle gaps and their causes, what to change",
    .details =
        "Each action of the critical path could not start before the one in front of it\n"
        "had ended. What the path is made of adds up to the makespan: actions, transfers,\n"
        "waits for memory or to be launched, and what transfers lost to others\n"
        "(contention). The causes of a gap add up to it, the gaps of a rank to its idle\n"
        "time.\n"
        "\n"
        "What 1 % less would gain: for a stage, one of its passes (\"2F\"), the transfers\n"
        "between two ranks, latency included (\"link 0>1\"), or a physical link with 1 %\n"
        "less time for each byte (\"network link spine\"). Predicted is 1 % of its time on\n"
        "the critical path, behind the last wait to be launched; then the run is\n"
        "simulated again with that change, in the same order. The gain is smaller where\n"
        "another path becomes the critical one. Where ranks share links or wait for\n"
        "memory it may be anything, even a loss.\n"
        "\n"
        "--json has these as \"sensitivity\", and \"critical_path_memory_us\", …_launch_us,\n"
        "…_contention_us and …_slowdown_us (actions slowed by transfers) beside\n"
        "\"critical_path_by_stage\"; a rerun that comes to a halt has null.\n"
        "\n"
        "In a picture the actions of the critical path have a dark outline, and a thin\n"
        "line leads from one to the next. Idle time is hatched in the colour of its cause:\n"
        "  warm-up     before the rank's first action\n"
        "  dependency  the producer of the input that came last was not finished\n"
        "  contention  the transfer of that input was queued behind others or slowed\n"
        "  transfer    it was on its way\n"
        "  memory      everything was there but memory\n"
        "  launch      everything was there, and the host had not launched it yet\n"
        "  drain       after the rank's last action\n"
        "\n"
        "With --memory: what each rank holds at its peak and when, how much of its capacity\n"
        "is left, which rank is worst and by which kinds of memory it differs from the mean.\n"
        "Then the scenario is simulated again with one thing changed at a time: ZeRO levels,\n"
        "recomputation, offloading, fewer chunks, every other schedule that accepts the\n"
        "placement and uses weights the same way. Listed is what lowers the worst peak or,\n"
        "where all ranks have room, what is faster and still fits: those that fit first, then\n"
        "by makespan. Last, what no number of the scenario accounts for, which may be much:\n"
        "adding up gave 39 of 82 GiB that were measured in ROCm/Megatron-LM#162.\n"
        "\n"
        "Example: penstock explain experiments/scenarios/first_run.json --svg why.svg",
    .declare = declare,
};

}  // namespace penstock
