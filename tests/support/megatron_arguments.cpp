#include "tests/support/megatron_arguments.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "experiments/input/formats/reading/read_model_file.hpp"
#include "sim/base/error.hpp"
#include "tests/support/refusal.hpp"

namespace penstock::testing {

ModelFile megatron_args_model(const std::string& text) { return parse_model_file(text); }

std::string megatron_args_refusal(const std::string& text) {
  return refused_at(
      [&] { parse_model_file(text, {.format = "megatron-args", .architecture = ""}); });
}

LayerSpec layer(const ModelFile& file, const std::string& kind) {
  for (const BlockSpec& block : file.spec.blocks) {
    for (const LayerSpec& part : block.parts) {
      if (part.kind == kind) return part;
    }
  }
  throw std::runtime_error("no layer is of kind " + kind);
}

double number(const std::string& arguments, const std::string& kind, const std::string& name) {
  const LayerSpec found = layer(megatron_args_model(least + arguments), kind);
  const auto value = found.numbers.find(name);
  return value == found.numbers.end() ? 0 : value->second;
}

std::string stages(const std::string& arguments) {
  std::string text;
  for (const auto& stage : megatron_args_model(least + arguments).stages) {
    if (!text.empty()) text += "| ";
    for (const LayerIndex one : stage) text += fmt::format("{} ", index(one));
  }
  if (!text.empty()) text.pop_back();
  return text;
}

std::string megatron_args_expert_layers(const std::string& arguments) {
  std::string text;
  for (const BlockSpec& block : megatron_args_model(least + arguments).spec.blocks) {
    if (block.cut_evenly) text += block.parts.back().kind == "moe" ? '1' : '0';
  }
  return text;
}

bool has_note(const ModelFile& file, std::string_view part) {
  for (const std::string& note : file.notes) {
    if (note.find(part) != std::string::npos) return true;
  }
  return false;
}

}  // namespace penstock::testing
