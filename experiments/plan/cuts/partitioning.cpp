#include "experiments/plan/cuts/partitioning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/input/files/files.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/input/formats/reading/read_model_file.hpp"
#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/layout/layout.hpp"
#include "experiments/show/pictures/plots/plots.hpp"
#include "hardware_models/registry.hpp"
#include "hardware_models/times/stated_times.hpp"
#include "schedules/partitioners/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

using nlohmann::json;

/// The id and the description of a node of PipeDream: "node12 Conv2d(…)".
struct NodeName {
  std::uint64_t number = UINT64_MAX;
  std::string_view description;
};

NodeName node_name(std::string_view name) {
  const std::size_t space = std::min(name.find(' '), name.size());
  const std::string_view id = name.substr(0, space);
  const std::size_t digits = id.find_last_not_of("0123456789") + 1;  // npos + 1 is 0
  NodeName result;
  std::from_chars(id.data() + digits, id.data() + id.size(), result.number);
  if (space < name.size()) result.description = name.substr(space + 1);
  return result;
}

/// Sources that are inputs, then sinks that only unpack a tuple.
std::vector<bool> dropped_nodes(const ModelGraph& graph) {
  const std::size_t size = graph.layers.size();
  std::vector<bool> read(size, false), reads(size, false), dropped(size, false);
  for (const auto& [from, to] : graph.edges) {
    read[index(from)] = true;
    reads[index(to)] = true;
  }
  for (std::size_t i = 0; i < size; ++i) {
    const std::string_view text = node_name(graph.layers[i].name).description;
    dropped[i] =
        (!reads[i] && text.starts_with("Input")) || (!read[i] && text.starts_with("__getitem__"));
  }
  return dropped;
}

/// Notes the time of dropped nodes, if any.
void note_dropped(const ModelGraph& graph, const std::vector<bool>& dropped,
                  std::vector<std::string>& notes) {
  std::string names;
  double all_us = 0;
  for (std::size_t i = 0; i < dropped.size(); ++i) {
    const Layer& layer = graph.layers[i];
    const double us =
        stated_us(layer, Pass::forward).value_or(0) + stated_us(layer, Pass::backward).value_or(0);
    if (!dropped[i] || us == 0) continue;
    names += (names.empty() ? "" : ", ") + shortened(layer.name, 32);
    all_us += us;
  }
  if (names.empty()) return;
  notes.push_back(
      fmt::format("no stage has the time of {}, {:.6g} ms a microbatch, as in PipeDream's "
                  "optimizer; a run counts it",
                  names, all_us / 1000));
}

void cut_profile(const ModelFile& file, PlannedModel& planned) {
  const ModelGraph& graph = planned.graph;
  std::vector<std::uint64_t> numbers(file.layer_ids.begin(), file.layer_ids.end());
  std::vector<bool> dropped;
  if (file.format == "pipedream-graph") {
    numbers.clear();
    for (const Layer& layer : graph.layers) numbers.push_back(node_name(layer.name).number);
    dropped = dropped_nodes(graph);
    note_dropped(graph, dropped, planned.notes);
  }
  planned.to_cut = model_to_cut(graph, stated_us, numbers, dropped);
}

/// The machine of --hardware, a user's file or one of the catalogue. Throws as machine_of_option.
json hardware_section(const std::string& machine) {
  const Catalogue catalogue = read_catalogue();
  machine_of_option(catalogue, machine);
  if (!is_machine_file(catalogue, machine)) return {{"name", machine}};
  return {{"file", std::filesystem::absolute(machine).string()}};
}

json document_for(const PlannedModelRequest& request) {
  json model = {{"file", std::filesystem::absolute(request.path).string()}};
  if (!request.file.format.empty()) model["format"] = request.file.format;
  if (!request.file.architecture.empty()) model["arch"] = request.file.architecture;
  if (request.sequence) model["sequence"] = *request.sequence;
  if (request.microbatch) model["microbatch"] = *request.microbatch;
  return {{"penstock", 1},
          {"model", model},
          {"hardware", hardware_section(request.hardware)},
          {"parallel",
           {{"pipeline", 1}, {"chunks", 1}, {"tensor", request.tensor.value_or(1)}, {"data", 1}}},
          {"schedule", {{"name", "1f1b"}, {"microbatches", 1}}}};
}

/// Prices layers by kind as a run on one rank does. Its file, perhaps standard input, is read once.
PlannedModel model_by_kind(const PlannedModelRequest& request, const ModelFile& file) {
  if (request.hardware.empty()) {
    throw UsageError(
        fmt::format("{} gives layers by kind; --hardware says what runs them", request.path));
  }
  const json document = document_for(request);
  KnownSections known;
  known.files.get({.source = request.path,
                   .model = document["model"]["file"],
                   .format = request.file.format,
                   .architecture = request.file.architecture},
                  [&] { return NamedFiles{.model = file}; });
  const Layout layout = settle(scenario_from(document, request.path, known));
  PlannedModel planned{.graph = layout.model, .to_cut = {}, .notes = file.notes};
  const auto hardware =
      find_named(cost_model_entries(), layout.hardware.cost_model)->make(layout.hardware.spec);
  planned.to_cut = model_to_cut(planned.graph, [&](const Layer& layer, Pass pass) {
    return hardware->compute_us(layer, pass);
  });
  const BytesPerParameter& kept = layout.memory.kept;
  if (kept.parameter > 0) {
    for (CutLayer& layer : planned.to_cut.problem.layers) {
      layer.state_factor = 1 + kept.gradient / kept.parameter + kept.optimizer_factor();
    }
  }
  return planned;
}

const PartitionerEntry& partitioner(const std::string& name) {
  const PartitionerEntry* entry = find_named(partitioner_entries(), name);
  if (entry != nullptr) return *entry;
  throw UsageError(
      unknown_text(fmt::format("method \"{}\"", name), name, names_of(partitioner_entries())));
}

/// Reads and prices a model. Profiles of PipeDream are planned without their inputs and without the
/// `__getitem__` nodes at their end, as in its optimizer. Throws InputError that starts with the
/// file, and UsageError when layers by kind have no hardware.
PlannedModel planned_model(const PlannedModelRequest& request) {
  const ModelFile file = read_model_file(request.path, request.file);
  if (!file.spec.blocks.empty()) return model_by_kind(request, file);
  PlannedModel planned{
      .graph = graph_by_times(file, request.microbatch), .to_cut = {}, .notes = file.notes};
  if (planned.graph.edges.empty()) planned.graph.connect_as_chain();
  cut_profile(file, planned);
  if (planned.to_cut.problem.layers.empty()) {
    throw InputError(
        fmt::format("{}: a file of the format {} has no layers to cut", request.path, file.format));
  }
  check_shape(file, {{"--hardware", !request.hardware.empty()},
                     {"--sequence", request.sequence.has_value()},
                     {"--microbatch", request.microbatch.has_value()},
                     {"--tensor", request.tensor.has_value()}});
  return planned;
}

void fill(const PartitionRequest& request, CutProblem& problem) {
  problem.ranks = request.ranks;
  problem.chunks = request.chunks;
  problem.stages = request.ranks * request.chunks;
  problem.exactly = request.exactly;
  problem.microbatches = request.microbatches;
  problem.devices = request.devices.value_or(0);
  problem.bandwidth_bytes_per_s = request.bandwidth_bytes_per_s;
  problem.memory_bytes = request.memory_bytes;
  problem.settings = request.settings;
  const bool linked = problem.bandwidth_bytes_per_s.has_value();
  problem.transfers =
      request.settings.transfers.value_or(linked ? CutTransfers::overlap : CutTransfers::none);
  if (!linked && problem.transfers != CutTransfers::none) {
    throw UsageError("--transfers needs --bandwidth");
  }
}

/// Notes that a model has too few layers for the stages asked for; replicas fill ranks, too.
void note_few_layers(const CutProblem& problem, Cut& cut) {
  std::uint32_t filled = 0;
  for (const CutStage& stage : cut.stages) filled += stage.replicas;
  if (cut.stages.empty() || problem.size() >= problem.stages || filled >= problem.stages) return;
  cut.notes.push_back(
      fmt::format("{} of {} stages: the model has {} to cut; --exactly refuses fewer",
                  cut.stages.size(), problem.stages, counted(problem.size(), "layer")));
}

std::string seconds_text(double seconds) {
  return short_time_text(from_us(std::min(seconds * 1e6, 9e12)));
}

std::string memory_text(double bytes) {
  return bytes_text(static_cast<std::uint64_t>(std::llround(bytes)));
}

std::string value_text(const Cut& cut) {
  return cut.value_in_bytes ? memory_text(cut.value) : seconds_text(cut.value);
}

/// The layers of a stage as planned: the first and the last.
std::string layers_text(const PartitionResult& result, const CutStage& stage) {
  const auto name = [&](std::uint32_t position) {
    const LayerIndex layer = result.model.to_cut.layers[position].back();
    const std::string& own = result.model.graph.layers[index(layer)].name;
    return own.empty() ? fmt::format("layer {}", index(layer)) : shortened(own, 32);
  };
  if (stage.layers.size() == 1) return name(stage.layers.front());
  return fmt::format("{} … {}", name(stage.layers.front()), name(stage.layers.back()));
}

double longest(const Cut& cut) {
  double most = 0;
  for (const CutStage& stage : cut.stages) most = std::max(most, stage.compute_s / stage.replicas);
  return most;
}

ordered_json stage_json(const PartitionResult& result, const CutStage& stage) {
  std::vector<std::uint32_t> layers;
  for (const std::uint32_t position : stage.layers) {
    for (const LayerIndex layer : result.model.to_cut.layers[position]) {
      layers.push_back(index(layer));
    }
  }
  std::sort(layers.begin(), layers.end());
  return {{"layers", layers},
          {"compute_s", stage.compute_s},
          {"replicas", stage.replicas},
          {"rank", stage.rank},
          {"memory_bytes", stage.memory_bytes},
          {"output_bytes", stage.output_bytes}};
}

/// The bars of one replica of a stage.
CutBar bar_of(const PartitionResult& result, std::size_t number) {
  const CutProblem& problem = result.model.to_cut.problem;
  const CutStage& stage = result.cut.stages[number];
  CutBar bar;
  bar.name = stage.replicas == 1 ? fmt::format("{}", number)
                                 : fmt::format("{} ×{}", number, stage.replicas);
  for (const std::uint32_t layer : stage.layers) {
    bar.forward_s += problem.layers[layer].forward_s / stage.replicas;
    bar.backward_s += problem.layers[layer].backward_s / stage.replicas;
  }
  if (problem.transfers != CutTransfers::none && problem.bandwidth_bytes_per_s) {
    bar.transfer_s = 2 * stage.output_bytes / *problem.bandwidth_bytes_per_s / stage.replicas;
  }
  bar.memory_bytes = stage.memory_bytes;
  return bar;
}

std::string heading(const PartitionResult& result) {
  return fmt::format("{}: {}, {}", result.method, counted(result.cut.stages.size(), "stage"),
                     value_text(result.cut));
}

}  // namespace

PartitionResult partition_model(const PartitionRequest& request) {
  const PartitionerEntry& entry = partitioner(request.method);
  PartitionResult result{
      .method = request.method, .model = planned_model(request.model), .cut = {}};
  fill(request, result.model.to_cut.problem);
  try {
    result.cut = entry.cut(result.model.to_cut.problem);
    note_few_layers(result.model.to_cut.problem, result.cut);
    const std::vector<std::string>& notes = result.model.notes;
    result.cut.notes.insert(result.cut.notes.end(), notes.begin(), notes.end());
  } catch (const InputError& error) {
    throw in_file(request.model.path, error);
  } catch (const RuleError& error) {
    throw UsageError(fmt::format("{}: {}", request.method, error.what()));
  }
  return result;
}

ordered_json partition_json(const PartitionResult& result) {
  const Cut& cut = result.cut;
  ordered_json document = {{"penstock", 1}, {"method", result.method}};
  const char* key = cut.value_in_bytes ? "value_bytes" : "value_s";
  document[key] = cut.finding.empty() ? ordered_json(cut.value) : ordered_json(nullptr);
  document["cuts"] = cut.cuts;
  document["stages"] = ordered_json::array();
  for (const CutStage& stage : cut.stages) document["stages"].push_back(stage_json(result, stage));
  document["notes"] = cut.notes;
  document["findings"] = ordered_json::array();
  if (!cut.finding.empty()) {
    document["findings"].push_back({{"kind", "out_of_memory"}, {"text", cut.finding}});
  }
  return document;
}

std::string partition_text(const PartitionResult& result) {
  const Cut& cut = result.cut;
  if (!cut.finding.empty()) return cut.finding + "\n";
  std::vector<std::vector<std::string>> rows{
      {"stage", "rank", "replicas", "layers", "compute", "of longest", "memory", "output", ""}};
  const double most = longest(cut);
  for (std::size_t s = 0; s < cut.stages.size(); ++s) {
    const CutStage& stage = cut.stages[s];
    const double share = most > 0 ? stage.compute_s / stage.replicas / most : 0;
    rows.push_back({fmt::format("{}", s), fmt::format("{}", stage.rank),
                    fmt::format("{}", stage.replicas), fmt::format("{}", stage.layers.size()),
                    seconds_text(stage.compute_s), percent_text(share),
                    memory_text(stage.memory_bytes), memory_text(stage.output_bytes),
                    layers_text(result, stage)});
  }
  std::string text = fmt::format("{}\n\n{}", heading(result), aligned(rows, {8}));
  for (std::size_t i = 0; i < cut.notes.size(); ++i) {
    text += fmt::format("{}note {}: {}\n", i == 0 ? "\n" : "", i + 1, cut.notes[i]);
  }
  return text;
}

std::string partition_picture(PictureFormat format, const PartitionResult& result) {
  CutPicture picture{.title = heading(result),
                     .capacity_bytes = result.model.to_cut.problem.memory_bytes};
  for (std::size_t s = 0; s < result.cut.stages.size(); ++s) {
    picture.stages.push_back(bar_of(result, s));
  }
  return draw_cut(format, picture);
}

}  // namespace penstock
