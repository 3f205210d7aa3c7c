#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/plan/cuts/partitioning.hpp"
#include "experiments/show/pictures/plots/cut_picture.hpp"

namespace penstock {
namespace {

std::string seconds_text(double seconds) {
  const Time time = from_us(std::min(seconds * 1e6, 9e12));
  const TimeUnit unit = unit_for(time);
  return fmt::format("{} {}", short_time_text(time, unit), unit.name);
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
                     .subtitle = {},
                     .stages = {},
                     .capacity_bytes = result.model.to_cut.problem.memory_bytes};
  for (std::size_t s = 0; s < result.cut.stages.size(); ++s) {
    picture.stages.push_back(bar_of(result, s));
  }
  return draw_cut(format, picture);
}

}  // namespace penstock
