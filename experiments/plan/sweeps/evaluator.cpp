#include "experiments/plan/sweeps/evaluator.hpp"

#include <charconv>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "experiments/input/files/quantity.hpp"
#include "experiments/input/scenario/scenario.hpp"
#include "experiments/plan/sweeps/configured.hpp"
#include "experiments/run/run.hpp"
#include "experiments/show/results/result_json.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

using nlohmann::json;

constexpr std::size_t no_knob = SIZE_MAX;
constexpr std::uint64_t bytes_per_action = 400;  // three times what runs take

/// The number of a JSON text, with the unit that its key allows: 2e9 of "2GB/s".
std::optional<double> number_in(const std::string& text, std::string_view key) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && end == text.data() + text.size()) return value;
  const auto kind = measure_of_key(key);
  if (!kind || text.size() < 3 || text.front() != '"') return std::nullopt;
  const std::string_view inside = std::string_view(text).substr(1, text.size() - 2);
  // A text of a number alone is refused, and so is one with escapes.
  const bool has_unit = inside.back() >= 'A' && inside.find('\\') == std::string_view::npos;
  if (!has_unit) return std::nullopt;
  try {
    return quantity_of(inside, *kind);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

/// An error as a finding, without the name of the scenario's file, which may be another elsewhere.
Finding refusal(const InputError& error, const std::string& source) {
  std::string text = error.where().empty() ? "" : error.where() + ": ";
  text += error.what();
  if (text.starts_with(source + ": ")) text.erase(0, source.size() + 2);
  return {"refused", {}, {}, std::move(text)};
}

/// The same text whether it was estimated or tried, on any machine, so that rows do not depend on
/// what else ran.
SweepOutcome lacks_memory() {
  return {.result = {},
          .more = {},
          .findings = {
              {"refused", {}, {}, "the simulation needs more memory than this process may use"}}};
}

/// Further values of a run. A pointer that the result does not have is null.
std::vector<std::pair<std::string, std::string>> wanted_values(
    const RunResult& result, const std::vector<std::string>& pointers) {
  std::set<std::string> keys;
  for (const std::string& pointer : pointers)
    keys.insert(pointer.substr(1, pointer.find('/', 1) - 1));
  const nlohmann::ordered_json document = result_json(result, &keys);
  std::vector<std::pair<std::string, std::string>> values;
  for (const std::string& pointer : pointers) {
    const nlohmann::ordered_json::json_pointer place(pointer);
    values.emplace_back(pointer, document.contains(place) ? document.at(place).dump() : "null");
  }
  return values;
}

SweepOutcome outcome_of(const RunResult& result, const std::vector<std::string>& pointers) {
  SweepOutcome outcome{.result = {}, .more = {}, .findings = result.findings};
  if (!result.report) return outcome;
  SweepResult figures{.makespan = result.report->makespan, .bubble = result.report->bubble};
  figures.throughput = result.throughput;
  figures.steady_interval_us = result.steady_interval_us;
  for (const RankReport& rank : result.report->ranks) {
    figures.peak_memory_bytes.push_back(rank.memory.bytes);
  }
  outcome.result = std::move(figures);
  outcome.more = wanted_values(result, pointers);
  return outcome;
}

bool exceeds_memory(const Layout& layout, const SweepResult& result) {
  for (const std::uint64_t bytes : result.peak_memory_bytes) {
    if (layout.memory.capacity_bytes && bytes > *layout.memory.capacity_bytes) return true;
  }
  return false;
}

}  // namespace

Evaluator::Evaluator(const SweepSpace& space, const Catalogue& catalogue, RowMemory& room)
    : space_(space), room_(room), chain_(&catalogue) {
  for (const std::string& pointer : space.pointers()) {
    const auto knob = CostKnob::at(pointer);
    knob_of_.push_back(knob ? knobs_.size() : no_knob);
    if (knob) knobs_.push_back(*knob);
  }
  knob_values_.resize(knobs_.size());
  // Values beyond the usual ones need the whole report.
  if (!space.request().results.empty()) knobs_.clear();
}

/// Whether the knobs take their values as they are.
bool Evaluator::read_knobs(const std::vector<std::string>& values) {
  if (knobs_.empty()) return false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (knob_of_[i] == no_knob) continue;
    const auto number = number_in(values[i], knobs_[knob_of_[i]].key());
    if (!number || !knobs_[knob_of_[i]].takes(*number)) return false;
    knob_values_[knob_of_[i]] = *number;
  }
  return true;
}

std::string Evaluator::structure_of(const std::vector<std::string>& values) const {
  std::string structure = "\n";  // never empty
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (knob_of_[i] == no_knob) structure += values[i] + '\n';
  }
  return structure;
}

SweepOutcome Evaluator::run(const std::vector<std::string>& values) {
  try {
    return run_known(values);
  } catch (const std::bad_alloc&) {
    // Others that run beside it may be why.
  }
  cost_steps_.clear();
  return run_alone(values);
}

SweepOutcome Evaluator::run_alone(const std::vector<std::string>& values) {
  const auto everything = room_.take_all();
  alone_ = true;
  try {
    SweepOutcome outcome = run_whole(values, {});
    alone_ = false;
    return outcome;
  } catch (const std::bad_alloc&) {
    alone_ = false;
    return lacks_memory();
  }
}

SweepOutcome Evaluator::run_known(const std::vector<std::string>& values) {
  if (!read_knobs(values)) return run_whole(values, {});
  std::string structure = structure_of(values);
  const auto known = cost_steps_.find(structure);
  if (known == nullptr) return run_whole(values, std::move(structure));
  if (known->step) {
    if (auto result = run_step(*known)) return {std::move(*result), {}, {}};
  }
  return run_whole(values, {});
}

/// The figures with the costs at hand; nothing if the run has findings or refuses them, so that a
/// whole run must say why.
std::optional<SweepResult> Evaluator::run_step(KnownRun& known) const {
  Layout& layout = known.step->layout();
  bool links = false, bytes = false;
  for (std::size_t i = 0; i < knobs_.size(); ++i) {
    knobs_[i].set(layout, knob_values_[i]);
    links = links || knobs_[i].of_link();
    bytes = bytes || knobs_[i].changes_bytes();
  }
  try {
    const Simulated* run = known.step->run(links, bytes);
    if (run == nullptr) return std::nullopt;
    SweepResult result = sweep_result(layout, *run, *known.peaks);
    if (exceeds_memory(layout, result)) return std::nullopt;
    return result;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

SweepOutcome Evaluator::run_whole(const std::vector<std::string>& values, std::string structure) {
  const std::string& source = space_.request().source;
  try {
    return run_document(configured(space_, values), std::move(structure));
  } catch (const InputError& error) {
    return {.result = {}, .more = {}, .findings = {refusal(error, source)}};
  } catch (const UsageError& error) {
    return {.result = {}, .more = {}, .findings = {{"refused", {}, {}, error.what()}}};
  }
}

SweepOutcome Evaluator::run_document(json document, std::string structure) {
  const Scenario scenario = chain_.scenario(std::move(document), space_.request().source);
  Layout layout = chain_.layout(scenario);
  const auto use = alone_ ? nullptr : room_.take(layout.schedule.actions() * bytes_per_action);
  if (!alone_ && use == nullptr) return lacks_memory();
  const std::vector<std::string>& results = space_.request().results;
  if (!results.empty() || !layout.codec.phases.empty()) {
    return outcome_of(penstock::run(std::move(layout)), results);
  }
  auto outcome = chain_.simulate(layout);
  if (auto* finding = std::get_if<Finding>(&outcome)) return {{}, {}, {std::move(*finding)}};
  Simulated& run = std::get<Simulated>(outcome);
  PeakBytes peaks(run.priced.plan);
  SweepResult result = sweep_result(layout, run, peaks);
  // The report says which rank lacks memory from when on.
  if (exceeds_memory(layout, result)) {
    return outcome_of(penstock::run(chain_.layout(scenario)), results);
  }
  if (!structure.empty()) {
    auto known = std::make_shared<KnownRun>();
    std::size_t tasks = 1;
    if (knobs_decide(*scenario.document, layout, knobs_)) {
      tasks = run.priced.plan.tasks();
      known->step.emplace(std::move(layout), std::move(run));
      known->peaks.emplace(std::move(peaks));
    }
    cost_steps_.keep(std::move(structure), std::move(known), tasks);
  }
  return {std::move(result), {}, {}};
}

std::string Evaluator::row(std::uint64_t number) {
  const std::vector<std::string> values = space_.values(number);
  return row_head(space_, number, values) + row_end(run(values));
}

}  // namespace penstock
