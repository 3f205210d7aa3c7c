#include "experiments/show/results/result_json.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/profiles/profile_rows.hpp"
#include "experiments/run/batch_report.hpp"
#include "experiments/run/codec_report.hpp"
#include "experiments/run/layout/training.hpp"
#include "experiments/run/module_report.hpp"
#include "experiments/show/results/cost_report.hpp"
#include "experiments/show/results/run_summary.hpp"

namespace penstock {
namespace {

/// What the device has, and what the rank that needs most does.
ordered_json memory_of_run_json(const RunResult& result) {
  ordered_json memory = judged_json(worst_memory(result));
  memory["capacity_bytes"] = or_null(result.layout.memory.capacity_bytes);
  memory["reserved_bytes"] = result.layout.memory.reserved_bytes();
  return memory;
}

ordered_json rank_json(const Plan& plan, std::size_t number, const RankReport& rank,
                       const JudgedMemory& memory) {
  return {{"rank", number},
          {"start_us", to_us(rank.start)},
          {"end_us", to_us(rank.end)},
          {"busy_us", to_us(rank.busy)},
          {"idle_us", to_us(rank.idle)},
          {"idle_by_cause_us", causes_json(rank.idle_by_cause)},
          {"peak_activations", rank.peak_activations},
          {"peak_memory_bytes", rank.memory.bytes},
          {"peak_memory_time_us", to_us(rank.memory.time)},
          {"peak_memory_action", task_json(plan, rank.memory.task)},
          {"memory_by_kind_bytes", memory_json(rank.memory.by_kind)},
          {"memory", judged_json(memory)},
          {"weight_versions", rank.weights.versions},
          {"staleness", rank.weights.staleness}};
}

/// The number of a rank, or the name of another end.
ordered_json end_json(Rank end) {
  return is_rank(end) ? ordered_json(index(end)) : ordered_json(end_text(end));
}

ordered_json link_json(const LinkReport& link) {
  return {{"from", end_json(link.link.from)},
          {"to", end_json(link.link.to)},
          {"transfers", link.transfers},
          {"bytes", link.bytes},
          {"busy_us", to_us(link.busy)}};
}

ordered_json network_link_json(const NetworkLinkUse& link) {
  return {{"name", link.name},
          {"transfers", link.transfers},
          {"bytes", link.bytes},
          {"utilization", link.utilization}};
}

/// A model given by times has neither tokens nor FLOPs.
ordered_json throughput_json(const Throughput& throughput) {
  return {{"samples_per_s", throughput.samples_per_s},
          {"tokens_per_s", or_null(throughput.tokens_per_s)},
          {"tokens_per_s_per_device", or_null(throughput.tokens_per_s_per_device)},
          {"model_tflops_per_device", or_null(throughput.model_tflops_per_device)},
          {"model_flops_utilization", or_null(throughput.model_flops_utilization)},
          {"hardware_flops_utilization", or_null(throughput.hardware_flops_utilization)}};
}

/// Whether a value meets an expectation.
bool meets(const ordered_json& value, const nlohmann::json& wanted, double within) {
  if (!value.is_number() || !wanted.is_number()) return nlohmann::json(value) == wanted;
  const auto number = wanted.get<double>();
  return std::abs(value.get<double>() - number) <= within * std::abs(number);
}

std::optional<std::string> unmet(const std::string& key, const nlohmann::json& expected,
                                 const ordered_json& result) {
  const bool with_tolerance = expected.is_object() && expected.contains("value");
  const nlohmann::json& wanted = with_tolerance ? expected["value"] : expected;
  const double within = with_tolerance ? expected.value("within", 1e-9) : 1e-9;
  const ordered_json::json_pointer pointer =
      key.starts_with('/') ? ordered_json::json_pointer(key) : ordered_json::json_pointer() / key;
  try {
    const ordered_json& value = result.at(pointer);
    if (meets(value, wanted, within)) return std::nullopt;
    return fmt::format("{} is {}, expected {} within {}", pointer.to_string(), value.dump(),
                       wanted.dump(), within);
  } catch (const ordered_json::exception&) {
    return fmt::format("{} is not in the result", pointer.to_string());
  }
}

/// The key of a kind: all that is kept of an activation is its stash, and what arrives is received.
/// A kind without a key of its own has its name, so that kinds always add up.
std::string kind_key(BufferKind kind) {
  switch (kind) {
    case BufferKind::input_stash:
    case BufferKind::recomputed:
      return "stash";
    case BufferKind::gradient:
      return "receive";
    case BufferKind::pending_weight:
      return "pending_weight";
    default:
      return std::string(name(kind));
  }
}

}  // namespace

ordered_json judged_json(const JudgedMemory& memory) {
  return {{"word", or_null(memory.word, [](MemoryWord word) { return text(word); })},
          {"peak_interval_bytes", {memory.interval.least, memory.interval.most}}};
}

ordered_json task_json(const Plan& plan, TaskId task) {
  return task == no_task ? ordered_json() : ordered_json(task_text(plan, task));
}

ordered_json memory_json(const BytesByKind& bytes) {
  ordered_json kinds;
  for (const char* key : {"parameters", "gradients", "optimizer", "stash", "pending_weight",
                          "receive", "versions", "workspace", "context", "gathered"}) {
    kinds[key] = std::uint64_t{0};
  }
  for (std::size_t kind = 0; kind < buffer_kinds; ++kind) {
    ordered_json& sum = kinds[kind_key(BufferKind{static_cast<std::uint8_t>(kind)})];
    sum = (sum.is_null() ? 0 : sum.get<std::uint64_t>()) + bytes[kind];
  }
  return kinds;
}

ordered_json causes_json(const IdleCauses& causes) {
  IdleSums sums;
  return causes_json(sums += causes);
}

ordered_json causes_json(const IdleSums& causes) {
  const auto of = [&](IdleCause cause) { return us_of(time_of(causes, cause)); };
  return {{"warmup", of(IdleCause::warmup)},         {"drain", of(IdleCause::drain)},
          {"dependency", of(IdleCause::dependency)}, {"contention", of(IdleCause::contention)},
          {"transfer", of(IdleCause::transfer)},     {"memory", of(IdleCause::memory)},
          {"launch", of(IdleCause::launch)}};
}

ordered_json critical_path_json(const Plan& plan, const Timeline& timeline,
                                const std::vector<PathStep>& path) {
  ordered_json steps = ordered_json::array();
  for (const PathStep& step : path) {
    const TaskId task = step.task;
    const WorkClass& work = plan.class_of(task);
    const bool moves = plan.is_link(work.resource) || moves_stash(work.pass);
    if (moves && timeline.begin[task] == timeline.end[task]) continue;
    steps.push_back({{"rank", rank_of_task(plan, task)},
                     {"action", task_text(plan, task)},
                     {"start_us", to_us(timeline.begin[task])},
                     {"end_us", to_us(timeline.end[task])}});
  }
  return steps;
}

ordered_json findings_json(const std::vector<Finding>& findings) {
  return list_json(findings, [](const Finding& finding) -> ordered_json {
    return {{"kind", finding.kind},
            {"rank", or_null(finding.rank, index<Rank>)},
            {"time_us", or_null(finding.time, to_us)},
            {"text", finding.text}};
  });
}

namespace {

ordered_json bubble_json(const Bubble& bubble) {
  return {{"of_makespan", bubble.of_makespan},
          {"over_ideal", bubble.over_ideal},
          {"of_longest_span", bubble.of_longest_span}};
}

/// Prints a whole number as an integer, like other counts.
ordered_json count_json(double count) {
  const bool whole = count == std::floor(count) && count < 1e15;
  return whole ? ordered_json(static_cast<std::int64_t>(count)) : ordered_json(count);
}

ordered_json layout_json(const RunResult& result) {
  const Layout& layout = result.layout;
  const double samples = samples_of(layout, result.batch ? &result.batch->batch : nullptr);
  return {{"devices", devices_of(layout)},       {"pipeline", pipeline_ranks(layout)},
          {"chunks", chunks_of(layout)},         {"tensor", layout.degrees.tensor},
          {"data", layout.degrees.data},         {"context", layout.degrees.context},
          {"expert", layout.degrees.expert},     {"expert_tensor", layout.degrees.expert_tensor},
          {"microbatches", layout.microbatches}, {"global_batch", count_json(samples)}};
}

ordered_json parts_json(const RunResult& result) {
  return list_json(part_reports(result), [&](const PartReport& part) -> ordered_json {
    const LayoutModule& module = *result.layout.module;
    const bool of_module = part.name == module.name;
    return {{"name", part.name},
            {"shares_devices", module.shares_devices},
            {"frozen", of_module && module.frozen},
            {"devices", part.devices},
            {"pipeline", part.pipeline},
            {"tensor", part.degrees.tensor},
            {"data", part.degrees.data},
            {"busy", part.busy},
            {"bubble", part.bubble},
            {"peak_memory_bytes", part.peak_bytes}};
  });
}

ordered_json ranks_json(const RunResult& result) {
  ordered_json all = ordered_json::array();
  for (const RankReport& rank : result.report->ranks) {
    const std::size_t number = all.size();
    all.push_back(rank_json(*result.plan, number, rank, result.memory[number]));
  }
  return all;
}

/// A key of the document. An unfinished run has only keys with `any_run`.
struct Key {
  const char* name;
  ordered_json (*value)(const RunResult& result);
  bool (*is_there)(const RunResult& result);
};

bool any_run(const RunResult&) { return true; }
bool finished(const RunResult& result) { return result.report.has_value(); }

constexpr std::array keys{
    Key{"penstock", [](const RunResult&) { return ordered_json(1); }, any_run},
    Key{"title", [](const RunResult& r) { return ordered_json(r.title); }, any_run},
    Key{"schedule", [](const RunResult& r) { return ordered_json(r.layout.name); }, any_run},
    Key{"layout", layout_json, any_run},
    Key{"makespan_us",
        [](const RunResult& r) {
          return or_null(r.report, [](const Report& report) { return to_us(report.makespan); });
        },
        any_run},
    Key{"uncertainty", uncertainty_json, has_uncertainty},
    Key{"first_iteration_us", [](const RunResult& r) { return or_null(r.first_iteration_us); },
        finished},
    Key{"bubble", [](const RunResult& r) { return bubble_json(r.report->bubble); }, finished},
    Key{"throughput", [](const RunResult& r) { return throughput_json(r.throughput); }, finished},
    Key{"training", [](const RunResult& r) { return cost_json(*r.training_cost); },
        [](const RunResult& r) { return r.training_cost.has_value(); }},
    Key{"memory", memory_of_run_json, finished}, Key{"ranks", ranks_json, finished},
    Key{"modules", parts_json,
        [](const RunResult& r) { return finished(r) && r.layout.module.has_value(); }},
    // Null for synchronous schedules, which have no steady state beyond one iteration.
    Key{"steady_interval_us", [](const RunResult& r) { return or_null(r.steady_interval_us); },
        finished},
    Key{"links", [](const RunResult& r) { return list_json(r.report->links, link_json); },
        finished},
    Key{"network",
        [](const RunResult& r) { return list_json(r.report->network, network_link_json); },
        [](const RunResult& r) { return finished(r) && !r.conditions.network.links.empty(); }},
    Key{"critical_path",
        [](const RunResult& r) {
          return critical_path_json(*r.plan, r.timeline, r.report->critical_path);
        },
        finished},
    Key{"codec", [](const RunResult& r) { return codec_json(codec_report(r.layout)); },
        [](const RunResult& r) { return finished(r) && !r.layout.codings.empty(); }},
    Key{"codec_training", [](const RunResult& r) { return codec_training_json(*r.codec_training); },
        [](const RunResult& r) { return finished(r) && r.codec_training.has_value(); }},
    Key{"batch", [](const RunResult& r) { return batch_json(*r.batch); },
        [](const RunResult& r) { return finished(r) && r.batch.has_value(); }},
    Key{"repeat", [](const RunResult& r) { return distribution_json(*r.repeated); },
        [](const RunResult& r) { return finished(r) && r.repeated.has_value(); }},
    Key{"profile_rows",
        [](const RunResult& r) { return list_json(r.profile_rows, measured_row_json); },
        [](const RunResult& r) { return finished(r) && !r.profile_rows.empty(); }},
    Key{"profile_environment",
        [](const RunResult& r) {
          return ordered_json(r.layout.hardware.spec.profile->environment);
        },
        [](const RunResult& r) {
          return finished(r) && !r.profile_rows.empty() &&
                 !r.layout.hardware.spec.profile->environment.empty();
        }},
    Key{"notes", [](const RunResult& r) { return ordered_json(r.notes); }, finished},
    Key{"findings", [](const RunResult& r) { return findings_json(r.findings); }, any_run}};

}  // namespace

ordered_json result_json(const RunResult& result, const std::set<std::string>* wanted) {
  ordered_json document;
  for (const Key& key : keys) {
    if (wanted != nullptr && !wanted->contains(key.name)) continue;
    if (key.is_there(result)) document[key.name] = key.value(result);
  }
  return document;
}

std::string first_key(const std::string& place) {
  return place.starts_with('/') ? place.substr(1, place.find('/', 1) - 1) : place;
}

std::vector<Finding> unmet_expectations(const std::string& expect, const RunResult& result) {
  std::vector<Finding> findings;
  if (expect.empty()) return findings;
  const nlohmann::json wanted = nlohmann::json::parse(expect);
  std::set<std::string> needed;
  for (const auto& [key, expected] : wanted.items()) needed.insert(first_key(key));
  const ordered_json document = result_json(result, &needed);
  for (const auto& [key, expected] : wanted.items()) {
    if (const auto fault = unmet(key, expected, document)) {
      findings.push_back({"expectation", std::nullopt, std::nullopt, *fault});
    }
  }
  return findings;
}

void add_unmet_expectations(const std::string& expect, RunResult& result) {
  for (Finding& finding : unmet_expectations(expect, result)) {
    result.findings.push_back(std::move(finding));
  }
}

}  // namespace penstock
