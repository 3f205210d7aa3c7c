#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/measure/validation/validation.hpp"
#include "experiments/show/results/result_json.hpp"
#include "validate/backends/cuda/running/gpu_actions.hpp"
#include "validate/ranks/rank_runner.hpp"

namespace penstock {
namespace {

/// Whether anything was measured.
bool has_run(const Validation& validation) { return !validation.measured.iterations.empty(); }

/// Whether there is something to compare.
bool has_errors(const Validation& validation) {
  return has_run(validation) && validation.why_no_score.empty();
}

std::string share_text(double share) { return fmt::format("{:.2f} %", share * 100); }

/// How measured times relate to the scenario's.
std::string scale_text(const Validation& validation) {
  if (validation.torch &&
      (validation.torch->bodies == "layers" || validation.torch->bodies == "own"))
    return "by the traced times";
  const bool own_links = has_links_of_machine(validation);
  return fmt::format("{} {} times the scenario's times{}",
                     own_links               ? "actions take"
                     : validation.job.layers ? "links take"
                                             : "each",
                     number_text(validation.job.scale),
                     own_links ? "; links are those of this machine" : "");
}

/// A backend's name of a disturbance, as text for people.
std::string_view disturbance_text(std::string_view reason) {
  if (reason == "preempted") return "a rank had to leave its core";
  if (reason == "stolen") return "the hypervisor took time";
  if (reason == "canary") return "a core was slower or faster than usual";
  if (reason == "others") return "others used the cores";
  if (reason == "profiles") return "profiles before and after differ";
  return reason;
}

bool shares_rules(const Validation& validation) {
  return !validation.torch && goes_by_engine(validation.job.priced);
}

constexpr std::string_view shared_rules =
    "rules shared with the simulator: ranks did their work in an order that the rules allow; "
    "threads, processes, PyTorch and NCCL prove the rules themselves\n";

std::string structure_text(const Validation& validation) {
  const RunErrors& errors = validation.errors;
  const Targets& targets = validation.targets;
  std::string text = "simulated with the lengths that the actions of each iteration had";
  if (targets.wall_clock) {
    text += fmt::format("; the median, the most is {}", share_text(errors.structure));
  }
  return text;
}

std::string errors_table(const Validation& validation) {
  const RunErrors& errors = validation.errors;
  const Targets& targets = validation.targets;
  const bool in_rounds = validation.torch.has_value();
  const double profile_limit = std::max(targets.profile, 2 * errors.retest);
  const auto worst =
      std::ranges::max_element(errors.bubble, {}, [](double e) { return std::abs(e); });
  return aligned({{"structure error", share_text(judged_structure(errors, targets)),
                   share_text(targets.structure), structure_text(validation)},
                  {"profile error", share_text(errors.profile), share_text(profile_limit),
                   "simulated with lengths profiled apart from the run"},
                  {"retest error", share_text(errors.retest), share_text(targets.profile),
                   in_rounds ? "even rounds against odd ones"
                             : "every other iteration against those between them"},
                  {"spread", share_text(errors.spread), "",
                   "median distance of a makespan from the median one"},
                  {"start residual", share_text(errors.start), "",
                   "how far off a task starts, as a share of the makespan: the median"},
                  {"bubble error", share_text(std::abs(*worst)), "",
                   fmt::format("how far off the idle share of rank {} is, the furthest",
                               worst - errors.bubble.begin())}},
                 {0, 3});
}

std::string_view torch_bodies_text(std::string_view bodies) {
  if (bodies == "sleep") return "blocks that sleep for the scenario's times";
  if (bodies == "compute") return "blocks that compute for the scenario's times";
  return bodies == "own" ? "those of --model" : "the model's, in single precision";
}

/// Whether actions do a fixed amount of work of a GPU, and do not only wait.
bool has_work_of_device(const Validation& validation) {
  return !validation.job.device.layers && validation.job.device.work != GpuWork::spin;
}

/// What actions did, and whether it matches the training of the model.
std::string bodies_text(const Validation& validation) {
  if (validation.job.device.layers) {
    return "actions: the model's transformer layers, without embedding and head, in bf16\n";
  }
  if (has_work_of_device(validation)) {
    return fmt::format("actions: {}, as much as takes their time\n",
                       name(validation.job.device.work));
  }
  if (!validation.job.layers) {
    return fmt::format("actions: {}; {}\n", validation.sleeps ? "sleep" : "busy kernels",
                       validation.why_busy);
  }
  const NumbersCheck& numbers = validation.numbers;
  const std::string text = "actions: the model's layers\n";
  if (!numbers.error) {
    return text + fmt::format("loss and gradients: not compared; {}\n", numbers.why_not);
  }
  return text +
         fmt::format("{}: {} the unpartitioned model{} within {:.1e}\n",
                     numbers.of_loss_alone ? "loss"
                     : numbers.of_weights  ? "loss, gradients and weights after the optimizer step"
                                           : "loss and gradients",
                     *numbers.error <= numbers.most ? "equal to" : "not those of",
                     numbers.by_versions ? ", trained with the weight versions of the rule," : "",
                     *numbers.error);
}

/// The head of a report of a run in PyTorch.
std::string torch_text(const Validation& validation) {
  const TorchNote& torch = *validation.torch;
  std::string text = fmt::format(
      "{} on {}: {} timed steps, {} of them quiet; {} traced apart\n"
      "PyTorch {} on {}; others used {} of the cores, load {:.1f}\n",
      validation.title, validation.backend, torch.steps, quiet_steps(validation), torch.traced,
      torch.version, torch.device, percent_text(torch.others), torch.load);
  if (torch.waited_s > 0) {
    text += fmt::format("{:.0f} s spent on waiting for quiet and on loud steps{}\n", torch.waited_s,
                        torch.gave_up ? ", in vain" : "");
  }
  return text +
         fmt::format("layers: {}; loss and gradients: {} one process within {:.1e}\n",
                     torch_bodies_text(torch.bodies),
                     torch.gradient_error <= validation.numbers.most ? "those of" : "not those of",
                     torch.gradient_error);
}

ordered_json torch_json(const Validation& validation) {
  if (!validation.torch) return {};
  const TorchNote& torch = *validation.torch;
  return {{"version", torch.version},
          {"device", torch.device},
          {"timed_steps", torch.steps},
          {"traced_steps", torch.traced},
          {"others_share", torch.others},
          {"load", torch.load},
          {"waited_for_quiet_s", torch.waited_s},
          {"gave_up_waiting", torch.gave_up}};
}

/// Null where the run has no errors.
ordered_json known(const Validation& validation, ordered_json value) {
  return has_errors(validation) ? std::move(value) : ordered_json();
}

/// Null where nothing ran to its end.
ordered_json ran(const Validation& validation, ordered_json value) {
  return has_run(validation) ? std::move(value) : ordered_json();
}

ordered_json scores_json(const Validation& validation) {
  const RunErrors& errors = validation.errors;
  return {{"structure_error", known(validation, judged_structure(errors, validation.targets))},
          {"profile_error", known(validation, errors.profile)},
          {"retest_error", known(validation, errors.retest)},
          {"verdict", name(validation.fault ? Verdict::fail : validation.verdict)}};
}

/// NaN and infinity become null; the verdict still fails.
ordered_json numbers_json(const std::optional<double>& error) {
  return error && std::isfinite(*error) ? ordered_json(*error) : ordered_json();
}

/// The bodies of actions, why these, and how far off their numbers, codecs and memory are.
ordered_json actions_json(const Validation& validation) {
  const bool layers = validation.job.layers || validation.job.device.layers;
  std::string bodies = layers ? "layers" : validation.sleeps ? "sleep" : "busy";
  if (has_work_of_device(validation)) bodies = name(validation.job.device.work);
  if (validation.torch) bodies = validation.torch->bodies;
  ordered_json coding;
  if (validation.coding) coding = coding_json(*validation.coding, validation.stash_peaks);
  return {{"bodies", std::move(bodies)},
          {"bodies_reason", validation.why_busy},
          {"numbers_error", numbers_json(validation.numbers.error)},
          {"coding", std::move(coding)},
          {"memory", held_json(validation.memory)}};
}

ordered_json run_json(const Validation& validation) {
  const std::size_t clean =
      validation.torch ? quiet_steps(validation) : validation.measured.iterations.size();
  return {{"simulated_us", ran(validation, to_us(validation.errors.simulated))},
          {"measured_us", ran(validation, to_us(validation.errors.measured))},
          {"iterations", clean},
          {"tried", validation.measured.tried},
          {"disturbed", validation.measured.disturbed}};
}

ordered_json details_json(const Validation& validation) {
  const RunErrors& errors = validation.errors;
  const Targets& targets = validation.targets;
  return {{"structure_error_most", known(validation, errors.structure)},
          {"spread", known(validation, errors.spread)},
          {"start_residual", known(validation, errors.start)},
          {"bubble_error", errors.bubble},
          {"targets", {{"structure_error", targets.structure}, {"profile_error", targets.profile}}},
          {"why_no_score", validation.why_no_score},
          {"scenario_us", ran(validation, to_us(validation.scenario))},
          {"time_scale", ran(validation, validation.job.scale)},
          {"links", has_links_of_machine(validation) ? "machine" : "scenario"}};
}

}  // namespace

bool has_links_of_machine(const Validation& validation) {
  return validation.torch || validation.job.real_links;
}

std::size_t quiet_steps(const Validation& validation) {
  const auto& disturbed = validation.measured.disturbed;
  const auto loud = disturbed.find("others");
  return validation.torch->steps - (loud == disturbed.end() ? 0 : loud->second);
}

std::string clean_text(const Measurement& measured) {
  const auto of_reason = [](const auto& disturbed) {
    return fmt::format("{} {}", disturbance_text(disturbed.first), disturbed.second);
  };
  return fmt::format(
      "{} clean iterations of {}{}{}", measured.iterations.size(), measured.tried,
      measured.disturbed.empty() ? "" : "; not clean: ", joined(measured.disturbed, of_reason));
}

std::string clean_text(const Validation& validation) {
  if (!validation.torch) return clean_text(validation.measured);
  return fmt::format("{} of {} timed steps were quiet", quiet_steps(validation),
                     validation.torch->steps);
}

ordered_json validation_json(const Validation& validation) {
  ordered_json findings = ordered_json::array();
  if (validation.fault) findings = findings_json({*validation.fault});
  ordered_json all{{"penstock", 1}, {"title", validation.title}, {"backend", validation.backend}};
  all.update(scores_json(validation));
  all.update(actions_json(validation));
  all.update(run_json(validation));
  all.update(details_json(validation));
  if (!validation.fault && shares_rules(validation)) all["rules"] = "shared with the simulator";
  all["torch"] = torch_json(validation);
  all["environment"] = validation.typical.environment;
  all["findings"] = std::move(findings);
  return all;
}

std::string validation_text(const Validation& validation) {
  if (validation.fault) {
    return fmt::format("{} on {}\nfinding: {}\nverdict: fail\n", validation.title,
                       validation.backend, validation.fault->text);
  }
  const Measurement& measured = validation.measured;
  std::string text = validation.torch
                         ? torch_text(validation)
                         : fmt::format("{} on {}: {}\n{}", validation.title, validation.backend,
                                       clean_text(measured), bodies_text(validation));
  if (validation.coding) text += coding_text(*validation.coding, validation.stash_peaks);
  text += held_text(validation.memory);
  if (has_errors(validation)) {
    const RunErrors& errors = validation.errors;
    const TimeUnit unit = unit_for(std::max(errors.simulated, errors.measured));
    text +=
        fmt::format("simulated {} {}, measured {} {}, {}\n\n", time_text(errors.simulated, unit),
                    unit.name, time_text(errors.measured, unit), unit.name, scale_text(validation));
    text += errors_table(validation) + "\n";
    if (shares_rules(validation)) text += shared_rules;
  }
  if (has_run(validation) && !validation.why_no_score.empty()) {
    text += fmt::format("no errors are reported: {}\n", validation.why_no_score);
  }
  const auto& environment = validation.typical.environment;
  if (const auto says = environment.find("validates"); says != environment.end()) {
    text += says->second + "\n";
  }
  return text + fmt::format("verdict: {}\n", name(validation.verdict));
}

}  // namespace penstock
