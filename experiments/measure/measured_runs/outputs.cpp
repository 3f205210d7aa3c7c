#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/measure/measured_runs/measured_run.hpp"

namespace penstock {
namespace {

const char* profile_key(Pass pass) {
  switch (pass) {
    case Pass::forward:
      return "forward_us";
    case Pass::backward_input:
      return "backward_input_us";
    case Pass::backward_weight:
      return "backward_weight_us";
    default:
      return "backward_us";
  }
}

/// A number that JSON writes without a fraction if it is whole.
ordered_json plain(double value) {
  constexpr double exact = 1e15;
  if (value == std::floor(value) && std::abs(value) < exact) {
    return static_cast<std::int64_t>(value);
  }
  return value;
}

ordered_json layers_json(const MergedTimes& merged, double examples) {
  ordered_json layers = ordered_json::array();
  for (const OpTimes& op : merged.times) {
    if (op.model_stage == layers.size()) {
      layers.push_back({{"name", fmt::format("stage {}", op.model_stage)},
                        {"points", ordered_json::array({{{"examples", plain(examples)}}})}});
    }
    layers[op.model_stage]["points"][0][profile_key(op.pass)] = plain(op.median_ns / 1e3);
  }
  return layers;
}

ordered_json schedule_json(const MeasuredRun& run, const ScenarioParts& parts) {
  ordered_json schedule = {{"file", parts.order}};
  if (parts.order.empty()) {
    schedule = {{"name", *run.schedule}, {"microbatches", run.job.priced.plan.microbatches}};
  }
  if (run.job.priced.plan.written) {
    schedule["communication"] = "written";
    schedule["streams"] = "message";
  }
  return schedule;
}

/// Links that are slow, by how many times as long as others they take.
ordered_json slow_links_json(const MergedTimes& merged) {
  constexpr double most_factor = 1e6;  // that a scenario takes
  return list_json(merged.slow_links, [&](const LinkTime& slow) -> ordered_json {
    return {{"from", index(slow.link.from)},
            {"to", index(slow.link.to)},
            {"factor", plain(std::min(slow.us / *merged.transfer_us, most_factor))}};
  });
}

constexpr std::size_t names_shown = 10;

Time from_ns(double ns) { return {std::llround(ns * 1e3)}; }

/// Busy time of each rank in the chosen iteration.
std::vector<Time> busy_times(const MeasuredRun& run) {
  const Plan& plan = run.job.priced.plan;
  std::vector<Time> busy(plan.ranks);
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const std::uint32_t resource = plan.class_of(task).resource;
    if (!plan.is_link(resource))
      busy[resource] += run.timeline.end[task] - run.timeline.begin[task];
  }
  return busy;
}

std::size_t ops_of_step(const MeasuredRun& run, std::size_t rank) {
  return run.order.schedule.on(Rank{static_cast<std::uint32_t>(rank)}).size();
}

Time makespan_of(const MeasuredRun& run) { return makespan(run.job.priced.plan, run.timeline); }

double share(Time part, Time whole) { return whole > Time{} ? to_us(part) / to_us(whole) : 0; }

// ---- JSON ----

ordered_json names_json(const std::vector<NameCount>& names) {
  return list_json(names, [](const NameCount& name) -> ordered_json {
    return {{"name", name.first}, {"count", name.second}};
  });
}

ordered_json ranks_json(const MeasuredRun& run) {
  ordered_json all = ordered_json::array();
  const std::vector<Time> busy = busy_times(run);
  const Time whole = makespan_of(run);
  for (std::size_t i = 0; i < run.ranks.size(); ++i) {
    const TracedRank& rank = run.ranks[i];
    all.push_back({{"rank", i},
                   {"source", rank.source},
                   {"job_rank", or_null(rank.job_rank)},
                   {"events", rank.events},
                   {"times_of", text(rank.ops.times)},
                   {"ops", ops_of_step(run, i)},
                   {"ops_outside_steps", rank.ops.outside_steps},
                   {"busy_us", to_us(busy[i])},
                   {"idle_us", to_us(whole - busy[i])},
                   {"idle_share", 1 - share(busy[i], whole)},
                   {"unmatched", names_json(rank.names.unmatched)}});
  }
  return all;
}

ordered_json stages_json(const std::vector<OpTimes>& times) {
  return list_json(times, [](const OpTimes& op) -> ordered_json {
    return {{"stage", op.model_stage},
            {"pass", letters(op.pass)},
            {"ops", op.count},
            {"median_us", op.median_ns / 1e3},
            {"lower_quartile_us", op.lower_ns / 1e3},
            {"upper_quartile_us", op.upper_ns / 1e3}};
  });
}

// ---- text ----

std::string stages_table(const MeasuredRun& run) {
  double most = 0;
  for (const OpTimes& op : run.times) most = std::max(most, op.median_ns);
  const TimeUnit unit = unit_for(from_ns(most));
  std::vector<std::vector<std::string>> rows{
      {"stage", "pass", fmt::format("median {}", unit.name), "quartiles", "ops"}};
  for (const OpTimes& op : run.times) {
    rows.push_back({fmt::format("{}", op.model_stage), std::string(letters(op.pass)),
                    time_text(from_ns(op.median_ns), unit),
                    fmt::format("{} to {}", time_text(from_ns(op.lower_ns), unit),
                                time_text(from_ns(op.upper_ns), unit)),
                    fmt::format("{}", op.count)});
  }
  return aligned(rows, {1});
}

std::string ranks_table(const MeasuredRun& run) {
  const std::vector<Time> busy = busy_times(run);
  const Time whole = makespan_of(run);
  const TimeUnit unit = unit_for(whole);
  return table_of_ranks(
      run.ranks.size(),
      {"ops", fmt::format("busy {}", unit.name), fmt::format("idle {}", unit.name), "idle %"},
      [&](std::size_t rank) -> std::vector<std::string> {
        return {fmt::format("{}", ops_of_step(run, rank)), time_text(busy[rank], unit),
                time_text(whole - busy[rank], unit), percent_text(1 - share(busy[rank], whole))};
      });
}

std::string iterations_text(const MeasuredRun& run) {
  const Time whole = makespan_of(run);
  const TimeUnit unit = unit_for(whole);
  const std::size_t count = run.numbers.size();
  return fmt::format("step {} takes {} {}; {} whole step{} of this order, {} left out\n",
                     run.numbers[run.chosen], time_text(whole, unit), unit.name, count,
                     count == 1 ? "" : "s", run.left_out.size());
}

bool has_retest(const MeasuredRun& run) { return run.errors && run.numbers.size() > 1; }

std::string errors_text(const MeasuredRun& run) {
  if (!run.errors) return "not simulated: links of this order serve several pairs of ranks\n";
  const RunErrors& errors = *run.errors;
  const TimeUnit unit = unit_for(std::max(errors.simulated, errors.measured));
  return fmt::format(
      "simulated from the medians {} {}, measured {} {} (median of the steps)\n"
      "structure error {:.2f} %: simulated with the lengths that the ops of each step had\n"
      "profile error   {:.2f} %: simulated with the medians\n"
      "retest error    {}\n",
      time_text(errors.simulated, unit), unit.name, time_text(errors.measured, unit), unit.name,
      100 * errors.structure, 100 * errors.profile,
      has_retest(run) ? fmt::format("{:.2f} %: every other step against those between them",
                                    100 * errors.retest)
                      : "unknown: that needs two steps");
}

std::string transfers_text(const MeasuredRun& run) {
  std::string text;
  if (run.host_us > 0) {
    text = fmt::format("the host takes {} µs between two ops\n", number_text(run.host_us));
  }
  if (run.transfer_us) {
    text += fmt::format("a tensor takes {} µs from one rank to another, launch included\n",
                        number_text(*run.transfer_us));
  }
  for (const LinkTime& slow : run.slow_links) {
    text += fmt::format("over the slow link {} it takes {} µs\n", penstock::text(slow.link),
                        number_text(slow.us));
  }
  if (run.clock_error_ns > 0) {
    const bool removed =
        run.unaligned.empty() && std::ranges::any_of(run.clock_offsets_ns, std::identity{});
    text += fmt::format(
        "clocks of ranks are off: an op began {} µs before what it needs had ended{}\n",
        number_text(static_cast<double>(run.clock_error_ns) / 1e3),
        removed ? "" : "; tensors do not tell by how much: trace with synchronised clocks (PTP)");
  }
  return text;
}

std::string lines_of(std::string_view head, const std::vector<std::string>& lines) {
  std::string text;
  for (std::size_t i = 0; i < std::min(lines.size(), names_shown); ++i) {
    text += fmt::format("{}: {}\n", head, lines[i]);
  }
  if (lines.size() > names_shown) {
    text += fmt::format("{}: and {} more\n", head, lines.size() - names_shown);
  }
  return text;
}

std::string names_text(std::string_view head, const std::vector<NameCount>& names) {
  std::vector<std::string> lines;
  for (const NameCount& name : names) {
    lines.push_back(fmt::format("{} x \"{}\"", name.second, shortened(name.first)));
  }
  return lines_of(head, lines);
}

}  // namespace

std::string profile_text(const std::vector<MeasuredRun>& runs, const MergedTimes& merged,
                         double examples) {
  ordered_json profile = ordered_json::object();
  std::vector<std::string> titles;
  for (const MeasuredRun& each : runs) titles.push_back(each.title);
  const std::string& device = runs.front().ranks.front().device;
  if (!device.empty()) profile["device"] = device;
  if (merged.host_us > 0) {
    profile["environment"] = {
        {"host_us_between_ops", fmt::format("{:.3f}", merged.host_us + merged.op_us)}};
  }
  profile["layers"] = layers_json(merged, examples);
  return printed({{"penstock", 1},
                  {"description", fmt::format("medians of a traced training ({}), a layer a stage, "
                                              "written by penstock",
                                              fmt::join(titles, "; "))},
                  {"profile", std::move(profile)}});
}

std::string scenario_text(const MeasuredRun& run, const MergedTimes& merged,
                          const ScenarioParts& parts, double examples) {
  ordered_json scenario = {{"penstock", 1},
                           {"description", "a traced training, written by penstock"},
                           {"model", {{"file", parts.profile}, {"microbatch", plain(examples)}}},
                           {"hardware",
                            {{"name", "ideal"},
                             {"devices", run.job.priced.plan.ranks},
                             {"transfer_us", plain(merged.transfer_us.value_or(0))}}},
                           {"schedule", schedule_json(run, parts)}};
  if (parts.chunks) scenario["parallel"] = {{"chunks", *parts.chunks}};
  if (merged.host_us > 0) {
    scenario["overheads"] = {{"host_us", plain(merged.host_us + merged.op_us)}};
  }
  if (!merged.slow_links.empty()) scenario["chance"] = {{"slow_links", slow_links_json(merged)}};
  return printed(scenario);
}

ordered_json measured_run_json(const MeasuredRun& run) {
  const auto retest = has_retest(run) ? run.errors : std::nullopt;
  const auto us = [&](Time RunErrors::*time) {
    return or_null(run.errors, [&](const RunErrors& errors) { return to_us(errors.*time); });
  };
  return {{"penstock", 1},
          {"title", run.title},
          {"schedule", or_null(run.schedule)},
          {"microbatches", run.job.priced.plan.microbatches},
          {"stages", run.order.placement.stage_count()},
          {"iteration", run.numbers[run.chosen]},
          {"iterations", run.numbers},
          {"makespan_us", to_us(makespan_of(run))},
          {"transfer_us", or_null(run.transfer_us)},
          {"slow_links", list_json(run.slow_links,
                                   [](const LinkTime& slow) -> ordered_json {
                                     return {{"link", penstock::text(slow.link)}, {"us", slow.us}};
                                   })},
          {"host_us", run.host_us},
          {"clock_error_us", static_cast<double>(run.clock_error_ns) / 1e3},
          {"clock_offsets_us", list_json(run.clock_offsets_ns,
                                         [](std::int64_t ns) -> ordered_json {
                                           return static_cast<double>(ns) / 1e3;
                                         })},
          {"structure_error", or_null(run.errors, &RunErrors::structure)},
          {"profile_error", or_null(run.errors, &RunErrors::profile)},
          {"retest_error", or_null(retest, &RunErrors::retest)},
          {"simulated_us", us(&RunErrors::simulated)},
          {"measured_us", us(&RunErrors::measured)},
          {"times", stages_json(run.times)},
          {"ranks", ranks_json(run)},
          {"left_out", run.left_out},
          {"notes", run.notes}};
}

std::string measured_run_text(const MeasuredRun& run) {
  std::string text =
      fmt::format("{}, by {}\n", run.title, penstock::text(run.ranks.front().ops.times));
  text += iterations_text(run) + "\n" + ranks_table(run) + "\n" + stages_table(run) + "\n";
  text += transfers_text(run) + errors_text(run);
  text += lines_of("left out", run.left_out) + lines_of("note", run.notes);
  return text + names_text("no op", run.ranks.front().names.unmatched);
}

std::string merged_text(const MergedTimes& merged) {
  std::string text;
  for (const std::string& note : merged.notes) text += fmt::format("profile: {}\n", note);
  return text + lines_of("note", merged.disagreements);
}

std::string preview_text(const std::vector<TracedRank>& ranks,
                         const std::vector<OpPattern>& patterns) {
  std::string text;
  for (const OpPattern& pattern : patterns) text += fmt::format("pattern \"{}\"\n", pattern.text());
  for (const TracedRank& rank : ranks) {
    text += fmt::format("\n{}: {}{}\n", rank.source, counted(rank.events, "event"),
                        rank.job_rank ? fmt::format(", rank {}", *rank.job_rank) : "");
    text += names_text("  op   ", rank.names.matched) + names_text("  no op", rank.names.unmatched);
    if (rank.names.matched.empty()) text += "  no name is an op's\n";
  }
  return text;
}

ordered_json preview_json(const std::vector<TracedRank>& ranks,
                          const std::vector<OpPattern>& patterns) {
  const auto of_rank = [](const TracedRank& rank) -> ordered_json {
    return {{"source", rank.source},
            {"job_rank", or_null(rank.job_rank)},
            {"events", rank.events},
            {"matched", names_json(rank.names.matched)},
            {"unmatched", names_json(rank.names.unmatched)}};
  };
  return {{"penstock", 1},
          {"patterns", list_json(patterns, &OpPattern::text)},
          {"ranks", list_json(ranks, of_rank)}};
}

}  // namespace penstock
