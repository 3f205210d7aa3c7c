#include "experiments/plan/sweeps/evaluator.hpp"

#include <algorithm>
#include <filesystem>
#include <new>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/files/quantity.hpp"
#include "experiments/input/long_work/budget.hpp"
#include "experiments/input/scenario/scenario.hpp"
#include "experiments/input/scenario/section_parts.hpp"
#include "experiments/run/run.hpp"
#include "experiments/show/results/result_json.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

using nlohmann::json;

constexpr std::size_t no_knob = SIZE_MAX;
constexpr std::uint64_t bytes_per_action = 400;  // three times what runs take

/// The number that a knob takes of a value, if any.
std::optional<double> number_in(const std::string& text, std::string_view key) {
  try {
    return quantity_in_json(text, measure_of_key(key));
  } catch (const InputError&) {
    return std::nullopt;
  }
}

/// Takes a folder away, once, in front of the names in a text.
void remove_folder(const std::string& folder, std::string& text) {
  for (std::size_t at = 0; (at = text.find(folder, at)) != std::string::npos; ++at) {
    if (at == 0 || text[at - 1] == ' ') text.erase(at, folder.size());
  }
}

/// An error as a finding that is the same wherever a sweep starts: without the name of the
/// scenario's file in front, and with files named as the scenario names them.
Finding refusal(const InputError& error, const std::string& source) {
  std::string text = error.text();
  if (text.starts_with(source + ": ")) text.erase(0, source.size() + 2);
  text.erase(std::min(text.find(working_folder_hint), text.size()));
  const std::string folder = std::filesystem::path(source).parent_path().string();
  if (!folder.empty()) remove_folder(folder + '/', text);
  return {"refused", {}, {}, std::move(text)};
}

SweepOutcome without_memory() {
  return {.result = {}, .more = {}, .findings = {{"refused", {}, {}, lacks_memory_text}}};
}

/// Further values of a run. A pointer that the result does not have is null.
std::vector<std::pair<std::string, std::string>> wanted_values(
    const RunResult& result, const std::vector<std::string>& pointers) {
  std::set<std::string> keys;
  for (const std::string& pointer : pointers) keys.insert(first_key(pointer));
  const nlohmann::ordered_json document = result_json(result, &keys);
  std::vector<std::pair<std::string, std::string>> values;
  for (const std::string& pointer : pointers) {
    const nlohmann::ordered_json::json_pointer place(pointer);
    values.emplace_back(pointer, document.contains(place) ? document.at(place).dump() : "null");
  }
  return values;
}

SweepOutcome outcome_of(RunResult result, const std::string& expect,
                        const std::vector<std::string>& pointers) {
  add_unmet_expectations(expect, result);
  SweepOutcome outcome{.result = {}, .more = {}, .findings = result.findings};
  if (!result.report) return outcome;
  SweepResult figures{.makespan = result.report->makespan, .bubble = result.report->bubble};
  figures.throughput = result.throughput;
  figures.steady_interval_us = result.steady_interval_us;
  const auto& ranks = result.report->ranks;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const std::uint64_t in_others = result.batch ? result.batch->peaks[rank].bytes : 0;
    figures.peak_memory_bytes.push_back(std::max(ranks[rank].memory.bytes, in_others));
  }
  outcome.result = std::move(figures);
  outcome.more = wanted_values(result, pointers);
  return outcome;
}

bool exceeds_memory(const Layout& layout, const SweepResult& result) {
  const auto largest = layout.memory.largest_peak_bytes();
  return std::ranges::any_of(result.peak_memory_bytes,
                             [&](std::uint64_t bytes) { return largest && bytes > *largest; });
}

constexpr std::string_view stages_pointer = "/model/stages/";
constexpr std::string_view link_pointer = "/hardware/";

/// The number of a stage, or all of them.
std::optional<std::size_t> stage_in(std::string_view text) {
  if (text == "*") return CostKnob::every_stage;
  return whole_number<std::size_t>(text);
}

}  // namespace

Evaluator::Evaluator(const SweepSpace& space, const Catalogue& catalogue, SimulationMemory& room)
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
    return without_memory();
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
  } catch (const OverBudget&) {
    return without_memory();
  }
}

SweepOutcome Evaluator::run_document(json document, std::string structure) {
  const Scenario scenario = chain_.scenario(std::move(document), space_.request().source);
  Layout layout = chain_.layout(scenario);
  const auto use = alone_ ? nullptr : room_.take(layout.schedule.actions() * bytes_per_action);
  if (!alone_ && use == nullptr) return without_memory();
  const std::vector<std::string>& results = space_.request().results;
  const bool whole = !results.empty() || !scenario.expect.empty();
  // One simulation is not all of it: phases, or data replicas whose microbatches differ.
  if (whole || !layout.codec.phases.empty() || layout.documents) {
    const RunOptions options{.splits_losses = whole, .settled = true};
    return outcome_of(penstock::run(chain_, std::move(layout), options), scenario.expect, results);
  }
  auto outcome = chain_.simulate_settled(layout);
  if (auto* finding = std::get_if<Finding>(&outcome)) return {{}, {}, {std::move(*finding)}};
  Simulated& run = std::get<Simulated>(outcome);
  PeakBytes peaks(run.priced.plan);
  SweepResult result = sweep_result(layout, run, peaks);
  // The report says which rank lacks memory from when on.
  if (exceeds_memory(layout, result)) {
    return outcome_of(penstock::run(chain_, chain_.layout(scenario), {.settled = true}), "",
                      results);
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

CostKnob::CostKnob(const Field& field, std::size_t stage)
    : field_(&field),
      stage_(stage),
      bounds_(field.takes.bounds()),
      changes_bytes_(!of_link() && measure_of_key(field.key) == QuantityKind::bytes) {}

std::optional<CostKnob> CostKnob::at(std::string_view pointer) {
  const std::string_view key = pointer.substr(pointer.rfind('/') + 1);
  const std::string_view before = pointer.substr(0, pointer.size() - key.size());
  const Fields* fields = nullptr;
  std::optional<std::size_t> stage;
  if (before == link_pointer) {
    fields = &fields_of(HardwareSpec{});
    stage = no_stage;
  } else if (before.starts_with(stages_pointer)) {
    fields = &fields_of(Layer{});
    const std::size_t begin = stages_pointer.size();
    stage = stage_in(before.substr(begin, before.size() - begin - 1));
  }
  const Field* field = stage ? find_field(*fields, key) : nullptr;
  if (field == nullptr || !field->of_costs) return std::nullopt;
  return CostKnob(*field, *stage);
}

bool CostKnob::is_stated(const json& document) const {
  const auto states = [&](const json& object) {
    const auto value = object.find(field_->key);
    return value != object.end() && value->is_number();
  };
  if (of_link()) return document.contains("hardware") && states(document["hardware"]);
  const json& stages = document["model"]["stages"];
  if (stage_ != every_stage) return stage_ < stages.size() && states(stages[stage_]);
  return std::ranges::all_of(stages, states);
}

void CostKnob::set(Layout& layout, double value) const {
  const json number = value;
  if (of_link()) return field_->read(number, &layout.hardware.spec);
  std::vector<Layer>& layers = layout.model.layers;
  if (stage_ != every_stage) return field_->read(number, &layers[stage_]);
  for (Layer& layer : layers) field_->read(number, &layer);
}

bool knobs_decide(const json& document, const Layout& layout, const std::vector<CostKnob>& knobs) {
  for (const char* section :
       {"codec", "recompute", "offload", "batch", "chance", "partition", "overheads"}) {
    if (document.contains(section)) return false;
  }
  const json& model = document["model"];
  if (!model.contains("stages") || model["stages"].size() != layout.model.layers.size()) {
    return false;
  }
  if (layout.policy != nullptr || layout.hardware.cost_model != "ideal") return false;
  return std::ranges::all_of(knobs, [&](const CostKnob& knob) { return knob.is_stated(document); });
}

}  // namespace penstock
