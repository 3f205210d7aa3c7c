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
#include "experiments/run/stage_formats.hpp"
#include "experiments/show/results/result_json.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

using nlohmann::json;

constexpr std::size_t no_knob = SIZE_MAX;
constexpr std::size_t most_known_tasks = 500'000;  // some 60 MB
constexpr std::size_t most_known = 4096;
constexpr std::uint64_t bytes_per_action = 400;  // three times what runs take

/// The number of a JSON text, with the unit that its key allows: 2e9 of "2GB/s".
std::optional<double> number_in(const std::string& text, const std::string& key) {
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

/// What is known of the configurations of one structure.
struct Evaluator::Known {
  std::unique_ptr<PreparedRun> prepared;  // null where costs alone do not decide
};

Evaluator::Evaluator(const SweepSpace& space, const Catalogue& catalogue, RowMemory& room)
    : space_(space), catalogue_(catalogue), room_(room) {
  for (const std::string& pointer : space.pointers()) {
    const auto knob = cost_knob(pointer);
    knob_of_.push_back(knob ? knobs_.size() : no_knob);
    if (knob) knobs_.push_back(*knob);
  }
  knob_values_.resize(knobs_.size());
  // Values beyond the usual ones need the whole report.
  if (!space.request().results.empty()) knobs_.clear();
}

Evaluator::~Evaluator() = default;

/// Whether the knobs take their values as they are.
bool Evaluator::read_knobs(const std::vector<std::string>& values) {
  if (knobs_.empty()) return false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (knob_of_[i] == no_knob) continue;
    const auto number = number_in(values[i], knobs_[knob_of_[i]].key);
    if (!number || !knobs_[knob_of_[i]].takes(*number)) return false;
    knob_values_[knob_of_[i]] = *number;
  }
  return true;
}

std::string Evaluator::structure_of(const std::vector<std::string>& values) const {
  std::string structure;
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
  known_.clear();
  known_tasks_ = 0;
  return run_alone(values);
}

SweepOutcome Evaluator::run_alone(const std::vector<std::string>& values) {
  const auto everything = room_.take_all();
  alone_ = true;
  try {
    SweepOutcome outcome = run_whole(values, nullptr);
    alone_ = false;
    return outcome;
  } catch (const std::bad_alloc&) {
    alone_ = false;
    return lacks_memory();
  }
}

SweepOutcome Evaluator::run_known(const std::vector<std::string>& values) {
  if (!read_knobs(values)) return run_whole(values, nullptr);
  auto& known = known_[structure_of(values)];
  if (known == nullptr) {
    known = std::make_unique<Known>();
    return run_whole(values, known.get());
  }
  if (known->prepared == nullptr) return run_whole(values, nullptr);
  if (auto result = known->prepared->with(knobs_, knob_values_)) {
    return {.result = std::move(*result), .more = {}, .findings = {}};
  }
  return run_whole(values, nullptr);
}

SweepOutcome Evaluator::run_whole(const std::vector<std::string>& values, Known* known) {
  const std::string& source = space_.request().source;
  try {
    return run_document(configured(space_, values), known);
  } catch (const InputError& error) {
    return {.result = {}, .more = {}, .findings = {refusal(error, source)}};
  } catch (const UsageError& error) {
    return {.result = {}, .more = {}, .findings = {{"refused", {}, {}, error.what()}}};
  }
}

SweepOutcome Evaluator::run_document(const json& document, Known* known) {
  const Scenario scenario = reader_.read(document, space_.request().source);
  Layout layout = settle(scenario, {.catalogue = &catalogue_}, known_parts_);
  const auto use = alone_ ? nullptr : room_.take(layout.schedule.actions() * bytes_per_action);
  if (!alone_ && use == nullptr) return lacks_memory();
  const std::vector<std::string>& results = space_.request().results;
  if (!results.empty() || !layout.codec.phases.empty()) {
    return outcome_of(penstock::run(std::move(layout)), results);
  }
  layout = with_codecs(std::move(layout));
  auto outcome = brief_run(layout);
  if (auto* finding = std::get_if<Finding>(&outcome)) {
    return {.result = {}, .more = {}, .findings = {std::move(*finding)}};
  }
  BriefRun& run = std::get<BriefRun>(outcome);
  PeakBytes peaks(run.priced.plan);
  SweepResult result = sweep_result(layout, run, peaks);
  // The report says which rank lacks memory from when on.
  if (exceeds_memory(layout, result)) {
    return outcome_of(penstock::run(settle(scenario, {.catalogue = &catalogue_}, known_parts_)),
                      results);
  }
  if (known != nullptr && knobs_decide(*scenario.document, layout, knobs_)) {
    known->prepared =
        std::make_unique<PreparedRun>(std::move(layout), std::move(run), std::move(peaks), knobs_);
    known_tasks_ += known->prepared->tasks();
  }
  return {.result = std::move(result), .more = {}, .findings = {}};
}

std::string Evaluator::row(std::uint64_t number) {
  if (known_tasks_ > most_known_tasks || known_.size() > most_known) {
    known_.clear();
    known_tasks_ = 0;
  }
  const std::vector<std::string> values = space_.values(number);
  return row_head(space_, number, values) + row_end(run(values));
}

}  // namespace penstock
