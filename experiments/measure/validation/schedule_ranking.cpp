#include "experiments/measure/validation/schedule_ranking.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <utility>

#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/scenario/document.hpp"
#include "experiments/run/layout/layout.hpp"
#include "experiments/run/stage_formats.hpp"
#include "schedules/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"
#include "validate/statistics/summary.hpp"

namespace penstock {
namespace {

/// Whether a rule has backwards; only then is its work comparable.
bool trains(const ScheduleEntry& entry) {
  const ScheduleOptions options{8, {}};
  return make_schedule(entry, entry.place(2, usual_chunks(entry, options)), options).has_backward();
}

/// The settings that give a scenario another schedule, by its own rule, with the same ranks and
/// microbatches. An order from a file does not state these, so they are set.
std::vector<std::string> settings_for(const std::string& name, nlohmann::json document,
                                      const Layout& own) {
  const bool by_file = own.rule == nullptr && own.policy == nullptr;
  set_order(document,
            {{"name", name},
             {"microbatches", by_file ? own.microbatches / own.slices : *own.batch.microbatches}});
  return {fmt::format("/parallel/pipeline={}", own.placement.ranks()),
          fmt::format("/parallel/data={}", own.degrees.data),
          "/schedule=" + document["schedule"].dump()};
}

RankedSchedule ranked(std::string name, std::string left_out, Validation run) {
  RankedSchedule one{
      .name = std::move(name), .left_out = std::move(left_out), .validation = std::move(run)};
  const Validation& validation = one.validation;
  if (validation.fault) one.left_out = validation.fault->text;
  if (one.left_out.empty() && validation.measured.iterations.empty()) {
    one.left_out = "no iteration was clean";
  }
  if (!one.left_out.empty()) return one;
  one.simulated_us = to_us(validation.errors.simulated) / validation.job.scale;
  one.measured_us = to_us(validation.errors.measured) / validation.job.scale;
  return one;
}

/// Others are predicted from the traces of these: whole and split backwards, one chunk and two.
constexpr std::array<std::string_view, 4> traced_schedules{"1f1b", "zb-h1", "interleaved-1f1b",
                                                           "interleaved-zb"};

bool gives_times(std::string_view name) {
  return std::find(traced_schedules.begin(), traced_schedules.end(), name) !=
         traced_schedules.end();
}

/// All named schedules, and those that a backend needs the times of.
void run_all(const Scenario& scenario, std::vector<std::string> names, const Layout& own,
             const BackendEntry& backend, const ValidationOptions& options,
             ScheduleRanking& ranking) {
  const std::size_t named = names.size();
  for (const std::string_view name : traced_schedules) {
    if (backend.torch.group.empty()) break;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
  }
  std::vector<ValidationCandidate> candidates;
  for (const std::string& name : names) {
    ValidationCandidate& one = candidates.emplace_back();
    one.name = name;
    one.gives_times = gives_times(name);
    one.left_out = why_left_out(scenario, [&] {
      one.scenario = changed(scenario, settings_for(name, *scenario.document, own));
    });
  }
  ValidationRuns all = validate_all(candidates, backend, options);
  for (std::size_t i = 0; i < std::min(named, all.runs.size()); ++i) {
    ValidationRuns::Run& run = all.runs[i];
    ranking.stopped += run.stopped;
    if (run.stopped) continue;
    ranking.schedules.push_back(
        ranked(names[i], std::move(run.left_out), std::move(run.validation)));
  }
  ranking.profile = std::move(all.profile);
  ranking.scenario = std::move(all.scenario);
}

/// Runs that do not count are left out beside others that do; alone they say why nothing is judged.
void leave_out_unjudged(ScheduleRanking& ranking) {
  const auto is_judged = [](const RankedSchedule& one) {
    return one.left_out.empty() && one.validation.why_no_score.empty();
  };
  if (std::ranges::none_of(ranking.schedules, is_judged)) return;
  for (RankedSchedule& one : ranking.schedules) {
    if (one.left_out.empty()) one.left_out = one.validation.why_no_score;
  }
}

Verdict worst_of(const ScheduleRanking& ranking) {
  Verdict worst = Verdict::pass;
  for (std::size_t i = 0; i < ranking.schedules.size(); ++i) {
    const RankedSchedule& one = ranking.schedules[i];
    if (i >= ranking.ran && !one.validation.fault && one.validation.measured.tried == 0) continue;
    // A run that failed has no verdict of its own.
    const Verdict verdict = one.validation.fault ? Verdict::fail : one.validation.verdict;
    if (verdict == Verdict::fail) return verdict;
    if (verdict == Verdict::inconclusive) worst = verdict;
  }
  return ranking.ran == 0 && worst == Verdict::pass ? Verdict::inconclusive : worst;
}

/// Of the first run without a score: with its times, the others do not compare.
std::string why_no_score(const ScheduleRanking& ranking) {
  for (std::size_t i = 0; i < ranking.ran; ++i) {
    const std::string& why = ranking.schedules[i].validation.why_no_score;
    if (!why.empty()) return why;
  }
  return "";
}

std::optional<double> correlation_of(const ScheduleRanking& ranking) {
  std::vector<TwoMoments> moments;
  for (std::size_t i = 0; i < ranking.ran; ++i) {
    const RankedSchedule& one = ranking.schedules[i];
    moments.push_back({from_us(one.simulated_us), from_us(one.measured_us)});
  }
  return moments.size() < 2 ? std::nullopt : rank_correlation(std::move(moments));
}

/// Errors over all that ran, and how many pairs of schedules are ranked as measured.
void count_errors(ScheduleRanking& ranking) {
  constexpr double apart = 0.05;
  std::vector<double> errors;
  std::vector<double> retests;
  for (std::size_t i = 0; i < ranking.ran; ++i) {
    const RankedSchedule& one = ranking.schedules[i];
    errors.push_back(one.simulated_us / one.measured_us - 1);
    retests.push_back(one.validation.errors.retest);
    for (std::size_t j = i + 1; j < ranking.ran; ++j) {  // sorted: the slower one
      const RankedSchedule& other = ranking.schedules[j];
      if (other.measured_us <= (1 + apart) * one.measured_us) continue;
      ++ranking.pairs_apart;
      if (other.simulated_us > one.simulated_us) ++ranking.pairs_right;
    }
  }
  if (errors.empty()) return;
  ranking.errors = summarize_errors(errors);
  ranking.retests = summarize_errors(retests);
}

/// The schedule that simulation predicts to be fastest, of those that ran.
const RankedSchedule& chosen(const ScheduleRanking& ranking) {
  return *std::ranges::min_element(std::span(ranking.schedules).first(ranking.ran), {},
                                   &RankedSchedule::simulated_us);
}

}  // namespace

std::vector<std::string> schedules_named(const std::string& text) {
  std::vector<std::string> names;
  if (text == "all") {
    for (const ScheduleEntry* entry : schedule_entries()) {
      if (trains(*entry)) names.emplace_back(entry->name);
    }
    return names;
  }
  std::istringstream parts(text);
  for (std::string name; std::getline(parts, name, ',');) {
    if (name == "all") {
      throw UsageError("--schedules: all names every schedule; leave out the other names, or all");
    }
    if (find_named(schedule_entries(), name) == nullptr) {
      throw UsageError("--schedules: " + unknown_text(fmt::format("schedule \"{}\"", name),
                                                      meant_schedule(name),
                                                      "all, " + names_of(schedule_entries())));
    }
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      throw UsageError(fmt::format("--schedules names {} twice; name it once", name));
    }
    names.push_back(name);
  }
  if (names.empty()) throw UsageError("--schedules names none; name some, or all");
  return names;
}

ScheduleRanking rank_schedules(const Scenario& scenario, const std::vector<std::string>& names,
                               const BackendEntry& backend, const ValidationOptions& options) {
  ScheduleRanking ranking;
  ranking.backend = backend.name;
  const Layout own = with_codecs(settle(scenario));
  run_all(scenario, names, own, backend, options, ranking);
  leave_out_unjudged(ranking);
  const auto is_out = [](const RankedSchedule& one) { return !one.left_out.empty(); };
  std::ranges::stable_sort(ranking.schedules, {}, [&](const RankedSchedule& one) {
    return std::pair(is_out(one), one.measured_us);
  });
  ranking.ran = ranking.schedules.size() -
                static_cast<std::size_t>(std::ranges::count_if(ranking.schedules, is_out));
  ranking.verdict = worst_of(ranking);
  ranking.why_no_score = why_no_score(ranking);
  if (!ranking.why_no_score.empty()) return ranking;
  ranking.correlation = correlation_of(ranking);
  count_errors(ranking);
  if (ranking.ran > 0) {
    ranking.regret = chosen(ranking).measured_us / ranking.schedules.front().measured_us - 1;
  }
  return ranking;
}

}  // namespace penstock
