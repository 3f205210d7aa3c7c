#include "tests/support/layers.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "hardware_models/collectives/registry.hpp"
#include "hardware_models/model/model_layers.hpp"

namespace penstock::testing {
namespace {

void add(LayerWork& sum, const LayerWork& work) {
  constexpr std::array members{&LayerWork::parameters,           &LayerWork::active_parameters,
                               &LayerWork::held_parameters,      &LayerWork::held_expert_parameters,
                               &LayerWork::tied_parameters,      &LayerWork::forward_flops,
                               &LayerWork::backward_flops,       &LayerWork::full_attention_flops,
                               &LayerWork::kept_bytes,           &LayerWork::kept_selective_bytes,
                               &LayerWork::pending_weight_bytes, &LayerWork::workspace_bytes};
  for (const auto member : members) sum.*member += work.*member;
  sum.kernels.insert(sum.kernels.end(), work.kernels.begin(), work.kernels.end());
  sum.collectives.insert(sum.collectives.end(), work.collectives.begin(), work.collectives.end());
}

/// Of one layer, with the usual selective recomputation.
LayerWork work_alone(const LayerSpec& layer, const CellShape& shape) {
  return penstock::work_of(BlockSpec{.name = layer.kind, .parts = {layer}}, shape);
}

}  // namespace

NumbersByName with(NumbersByName numbers, const NumbersByName& more) {
  for (const auto& number : more) numbers[number.first] = number.second;
  return numbers;
}

LayerSpec spec(std::string_view kind, const NumbersByName& numbers) {
  return {std::string(kind), numbers, "/layer"};
}

LayerWork work_of(std::string_view kind, const NumbersByName& numbers, const CellShape& shape) {
  return work_alone(spec(kind, numbers), shape);
}

LayerWork work_of(const Layers& layers, const CellShape& shape) {
  LayerWork sum;
  for (const LayerSpec& layer : layers) add(sum, work_alone(layer, shape));
  sum.input_bytes = penstock::work_of(layers.front(), shape).input_bytes;
  sum.output_bytes = penstock::work_of(layers.back(), shape).output_bytes;
  return sum;
}

double flops_of(const LayerWork& work, Pass pass) {
  double flops = 0;
  for (const Kernel& kernel : work.kernels) {
    if (kernel.pass == pass) flops += kernel.flops * kernel.count;
  }
  return flops;
}

double vector_bytes_of(const LayerWork& work, Pass pass) {
  double bytes = 0;
  for (const Kernel& kernel : work.kernels) {
    const bool counts = kernel.pass == pass && kernel.kind == KernelKind::vector;
    if (counts) bytes += kernel.bytes * kernel.count;
  }
  return bytes;
}

std::string collectives_of(const LayerWork& work, Pass pass, Group group) {
  std::string text;
  for (const Collective& collective : work.collectives) {
    if (collective.pass != pass || collective.group != group) continue;
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", name(collective.kind), collective.bytes);
    if (collective.count != 1) text += fmt::format(" x{}", collective.count);
  }
  return text;
}

Layers classic_block(double hidden, double heads, bool trained) {
  const double bias = trained ? 1 : 0;
  const double dropout = trained ? 0.1 : 0;
  return {spec("norm", {{"hidden", hidden}, {"bias", 1}}),
          spec("attention", {{"hidden", hidden},
                             {"heads", heads},
                             {"flash", 0},
                             {"qkv_bias", bias},
                             {"out_bias", bias},
                             {"dropout", dropout}}),
          spec("norm", {{"hidden", hidden}, {"bias", 1}}),
          spec("mlp", {{"hidden", hidden},
                       {"intermediate", 4 * hidden},
                       {"bias", bias},
                       {"dropout", dropout}})};
}

std::optional<nlohmann::json> oracle(const std::string& file) {
  const char* folder = std::getenv("PENSTOCK_ORACLES");
  if (folder == nullptr || *folder == '\0') {
    MESSAGE("skipped: PENSTOCK_ORACLES does not name the folder that holds ", file);
    return std::nullopt;
  }
  std::ifstream stream(std::string(folder) + "/" + file);
  REQUIRE_MESSAGE(stream, file, " cannot be read");
  return nlohmann::json::parse(stream);
}

}  // namespace penstock::testing
