#include "experiments/run/changes/scenario_changes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "experiments/input/files/table.hpp"
#include "experiments/run/layout/training.hpp"
#include "schedules/partitioners/registry.hpp"

namespace penstock {
namespace {

using Changes = std::vector<ScenarioChange>;

void add(Changes& changes, std::string setting) {
  changes.push_back({.settings = {std::move(setting)}});
}

void append(Changes& changes, Changes more) {
  for (ScenarioChange& one : more) changes.push_back(std::move(one));
}

/// The pointers that a change states; a section that is left out is one.
std::vector<std::string> pointers_of(const ScenarioChange& change) {
  std::vector<std::string> pointers;
  for (const std::string& setting : change.settings) {
    pointers.push_back(setting.substr(0, setting.find('=')));
  }
  for (const std::string& section : change.left_out) pointers.push_back("/" + section);
  return pointers;
}

bool is_within(const std::string& pointer, const std::string& other) {
  return pointer == other || pointer.starts_with(other + "/");
}

/// The section as the document has it; null if it has none.
nlohmann::json section_of(const Scenario& scenario, const char* name) {
  return scenario.document->contains(name) ? (*scenario.document)[name] : nlohmann::json();
}

/// "/section/key=word", or a section of that key alone.
std::string word_setting(std::string_view section, std::string_view key, std::string_view word,
                         bool keeps_others) {
  return keeps_others ? fmt::format("/{}/{}={}", section, key, word)
                      : fmt::format("/{}={{\"{}\":\"{}\"}}", section, key, word);
}

/// A mode alone, where no other key of the section goes with the present one.
void add_modes(const Scenario& scenario, const Layout& layout, Changes& changes) {
  constexpr std::array<std::pair<const char*, RecomputeMode>, 4> modes{
      {{"none", RecomputeMode::none},
       {"selective", RecomputeMode::selective},
       {"full", RecomputeMode::full},
       {"except_last", RecomputeMode::except_last}}};
  const nlohmann::json section = section_of(scenario, "recompute");
  const auto is_stated = [&](const char* key) { return section.contains(key); };
  constexpr std::array details{"operators", "layers", "together", "microbatches"};
  const bool alone = std::ranges::none_of(details, is_stated);
  for (const auto& [name, mode] : modes) {
    if (layout.recompute.mode == mode) continue;
    add(changes, word_setting("recompute", "mode", name, alone));
  }
}

bool has_kind(const ModelSpec& spec, std::string_view kind) {
  return spec.any_part([&](const LayerSpec& part) { return part.kind == kind; });
}

/// The operators that are recomputed, with one more or without one of them.
void add_operators(const Layout& layout, Changes& changes) {
  constexpr std::array names{"core_attention",
                             "mla_up_projection",
                             "mlp_activation",
                             "moe_activation",
                             "norm",
                             "shared_experts",
                             "attention",
                             "mla",
                             "mlp",
                             "moe"};
  std::vector<std::string> present;
  if (layout.recompute.mode == RecomputeMode::selective) present = layout.recompute.operators;
  std::vector<const char*> all(names.begin(), names.end());
  for (const char* kind : {"gated_delta", "mamba2", "sparse_attention"}) {
    if (has_kind(layout.spec, kind)) all.push_back(kind);
  }
  for (const char* name : all) {
    std::vector<std::string> operators = present;
    if (std::erase(operators, name) == 0) operators.emplace_back(name);
    if (operators.empty()) continue;
    add(changes, fmt::format("/recompute={{\"mode\":\"selective\",\"operators\":[\"{}\"]}}",
                             fmt::join(operators, "\",\"")));
  }
}

/// Of the stage with most layers.
std::size_t layers_of_a_stage(const Layout& layout) {
  std::size_t most = 0;
  for (const auto& stage : layout.partition.stages) {
    most = std::max<std::size_t>(most, std::ranges::count_if(stage, [&](LayerIndex layer) {
                                   return !layout.model.layers[index(layer)].at_an_end;
                                 }));
  }
  return most;
}

/// Full recomputation of a quarter, half and three quarters of the layers of a stage.
void add_layers(const Layout& layout, Changes& changes) {
  const std::size_t most = layers_of_a_stage(layout);
  std::size_t before = 0;
  for (const std::size_t quarters : {1U, 2U, 3U}) {
    const std::size_t layers = most * quarters / 4;
    if (layers == before || layers == layout.recompute.layers) continue;
    before = layers;
    add(changes, fmt::format("/recompute={{\"mode\":\"full\",\"layers\":{}}}", layers));
  }
}

/// Ranks keep half of their activations, or one; or half of the layers keep nothing, or all.
void add_offload(const Scenario& scenario, const Layout& layout, const RunResult& result,
                 Changes& changes) {
  if (scenario.offload) {
    changes.push_back({.settings = {}, .left_out = {"offload"}});
    return;
  }
  std::uint32_t most = 0;
  for (const RankReport& rank : result.report->ranks) most = std::max(most, rank.peak_activations);
  std::uint32_t before = most;
  for (const std::uint32_t keep : {(most + 1) / 2, 1U}) {
    if (keep == 0 || keep >= before) continue;
    before = keep;
    add(changes, fmt::format("/offload/keep={}", keep));
  }
  const std::size_t layers = layers_of_a_stage(layout);
  if (layers > 1) add(changes, fmt::format("/offload/layers={}", layers / 2));
  if (layers > 0) add(changes, fmt::format("/offload/layers={}", layers));
}

/// Stashes with 8 and 4 bits, or unencoded, where the speed of codecs is known. Not for formats
/// that change during training.
void add_codecs(const Scenario& scenario, const Layout& layout, Changes& changes) {
  const CodecChoice& asked = scenario.codec;
  if (!layout.schedule.has_backward() || !asked.phases.empty()) return;
  if (asked.stash.index() != 0) add(changes, "/codec/stash=none");
  const CodecChoice& codec = layout.codec;
  if (!layout.hardware.spec.machine && !(codec.encode_bytes_per_s && codec.decode_bytes_per_s)) {
    return;
  }
  for (const double bits : {8.0, 4.0}) {
    const CodecSpec spec{"bfp", {{"bits", bits}}};
    const auto* present = std::get_if<CodecSpec>(&asked.stash);
    if (present != nullptr && *present == spec) continue;
    add(changes, fmt::format("/codec/stash={}", encoding_json(spec).dump()));
  }
}

bool has_experts(const Layout& layout) {
  return std::ranges::any_of(layout.model.layers,
                             [](const Layer& one) { return one.expert_parameter_bytes > 0; });
}

/// Options of tensor groups.
void add_tensor_options(const Degrees& degrees, Changes& changes) {
  if (degrees.tensor == 1) return;
  if (!degrees.sequence_parallel) add(changes, "/parallel/sequence=true");
  if (!degrees.sequence_parallel && !degrees.scatters) {
    add(changes, "/parallel/scatter_gather=true");
  }
  if (!degrees.overlaps_tensor) add(changes, "/parallel/overlap_tensor=true");
}

Changes cut_changes(const Scenario& scenario) {
  const PartitionSection& partition = scenario.partition;
  if (scenario.model.stages_given || !partition.ranks.empty()) return {};
  // A cut by name keeps no settings of another.
  const nlohmann::json section = section_of(scenario, "partition");
  const bool alone = std::ranges::all_of(section.items(), [](const auto& item) {
    return item.key() == "name" || item.key() == "description";
  });
  Changes changes;
  const auto add_cut = [&](std::string_view name) {
    if (partition.stages.empty() && name == partition.name) return;
    add(changes, word_setting("partition", "name", name, alone));
  };
  add_cut("simulated");
  for (const PartitionerEntry* entry : partitioner_entries()) {
    if (entry->name != "simulated") add_cut(entry->name);
  }
  return changes;
}

/// Replicas shard inside a machine alone, or all of them.
void add_shard_groups(const Layout& layout, Changes& changes) {
  const std::uint32_t data = layout.degrees.data;
  const auto& machine = layout.hardware.spec.machine;
  if (!machine || zero_level(layout) == 0) return;
  const std::uint64_t inside =
      std::max<std::uint64_t>(1, machine->devices / layout.degrees.group());
  for (const std::uint64_t groups : {std::uint64_t{1}, data / inside}) {
    if (groups == 0 || data % groups != 0 || groups == layout.memory.shard_groups) continue;
    add(changes, fmt::format("/memory/shard_groups={}", groups));
  }
}

Changes memory_changes(const Scenario& scenario, const Layout& layout) {
  Changes changes;
  for (std::uint32_t zero = 0; zero <= 3 && shares_weights(layout); ++zero) {
    if (zero != layout.memory.zero) add(changes, fmt::format("/memory/zero={}", zero));
  }
  add_shard_groups(layout, changes);
  add_modes(scenario, layout, changes);
  if (!scenario.model.by_kind() || !layout.schedule.has_backward()) return changes;
  add_operators(layout, changes);
  add_layers(layout, changes);
  return changes;
}

/// Packings of the same documents, and orders of the microbatches.
Changes batch_changes(const Layout& layout) {
  Changes changes;
  if (!layout.documents) return changes;
  constexpr std::array packings{"none", "first-fit", "balanced", "by-cost"};
  constexpr std::array orders{"given", "longest-first", "shortest-first"};
  const auto packing = static_cast<std::size_t>(layout.documents->pack);
  for (std::size_t i = 1; i < packings.size() && packing > 0; ++i) {
    if (i != packing) add(changes, fmt::format("/batch/pack={}", packings[i]));
  }
  const auto order = static_cast<std::size_t>(layout.documents->order);
  for (std::size_t i = 0; i < orders.size(); ++i) {
    if (i != order) add(changes, fmt::format("/batch/order={}", orders[i]));
  }
  return changes;
}

Changes overlap_changes(const Layout& layout) {
  Changes changes;
  if (layout.overlap == Overlap::serial) add(changes, "/schedule/overlap=fused");
  if (shares_weights(layout) && layout.schedule.has_backward()) {
    if (!layout.degrees.overlaps_sums) add(changes, "/parallel/overlap_sums=true");
    if (!overlaps_gathers(layout)) add(changes, "/parallel/overlap_gathers=true");
  }
  add_tensor_options(layout.degrees, changes);
  if (!has_experts(layout)) return changes;
  if (!layout.degrees.overlaps_experts) add(changes, "/parallel/overlap_experts=true");
  if (!layout.degrees.deduplicates) add(changes, "/parallel/dispatcher=deduplicated");
  return changes;
}

}  // namespace

std::string ScenarioChange::text() const {
  std::string text = fmt::format("{}", fmt::join(settings, " "));
  for (const std::string& section : left_out) {
    text += fmt::format("{}without /{}", text.empty() ? "" : " ", section);
  }
  return text;
}

std::string ScenarioChange::options() const {
  const auto option = [](const std::string& setting) { return "--set '" + setting + "'"; };
  std::string text = joined(settings, option, " ");
  for (const std::string& section : left_out) {
    text += fmt::format("{}leave /{} out of the file", text.empty() ? "" : ", ", section);
  }
  return text;
}

std::string family_of(const ScenarioChange& change) {
  std::set<std::string> all(change.left_out.begin(), change.left_out.end());
  for (const std::string& setting : change.settings) {
    const bool is_cut = setting.starts_with("/partition");
    if (is_cut) all.insert("cut");
    if (!is_cut && !setting.starts_with("/parallel/chunks=")) all.insert(setting);
  }
  return fmt::format("{}", fmt::join(all, " "));
}

bool are_apart(const ScenarioChange& one, const ScenarioChange& other) {
  for (const std::string& a : pointers_of(one)) {
    for (const std::string& b : pointers_of(other)) {
      if (is_within(a, b) || is_within(b, a)) return false;
    }
  }
  return true;
}

ScenarioChange both_of(ScenarioChange one, const ScenarioChange& other) {
  one.settings.insert(one.settings.end(), other.settings.begin(), other.settings.end());
  one.left_out.insert(one.left_out.end(), other.left_out.begin(), other.left_out.end());
  one.keeps_pipeline = one.keeps_pipeline && other.keeps_pipeline;
  return one;
}

Changes changes_of(const Scenario& scenario, const RunResult& result, const ChangeKinds& kinds) {
  const Layout& layout = result.layout;
  Changes changes = cut_changes(scenario);
  append(changes, memory_changes(scenario, layout));
  append(changes, batch_changes(layout));
  append(changes, overlap_changes(layout));
  append(changes, module_changes(scenario, layout));
  if (kinds.offloads) add_offload(scenario, layout, result, changes);
  if (kinds.codecs) add_codecs(scenario, layout, changes);
  // With other degrees replicas would take other documents.
  if (kinds.degrees && !layout.documents) append(changes, degree_changes(scenario, layout));
  append(changes, order_changes(scenario, layout));
  return changes;
}

}  // namespace penstock
