#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/json_input.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/scenario/model_section.hpp"
#include "experiments/input/scenario/section_parts.hpp"
#include "hardware_models/layers/registry.hpp"
#include "hardware_models/model/model_layers.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

using nlohmann::json;

/// The current name of a number; some may be given by their old name.
std::string current_name(const std::string& kind, const std::string& key) {
  if (kind != "measured") return key;
  if (key == "kept_bytes") return "stash_bytes";
  return key == "pending_bytes" ? "pending_weight_bytes" : key;
}

/// Unknown kinds and names are refused where their work is needed.
const Parameter* find_parameter(const std::string& kind, const std::string& name) {
  const LayerKindEntry* entry = find_named(layer_kind_entries(), kind);
  if (entry == nullptr) return nullptr;
  const auto found = std::ranges::find(entry->parameters, name, &Parameter::name);
  return found == entry->parameters.end() ? nullptr : &*found;
}

/// true and false are 1 and 0 of what goes from 0 to 1.
double number_in(const json& value, const Parameter* parameter) {
  if (!value.is_boolean()) return value.get<double>();
  if (parameter != nullptr && parameter->most != 1) {
    throw InputError(fmt::format("{} is not a number ({})", value.dump(), parameter->summary));
  }
  return value.get<bool>() ? 1 : 0;
}

/// A layer by its kind: every other key is a number of that kind.
LayerSpec read_part(const json& object, std::string source, std::string_view others) {
  LayerSpec spec{.kind = object["kind"], .numbers = {}, .source = std::move(source)};
  for (const auto& [key, value] : object.items()) {
    if (is_listed(others, key)) continue;
    const std::string name = current_name(spec.kind, key);
    if (name != key && object.contains(name)) {
      throw InputError(spec.source + pointer_step(key),
                       fmt::format("this is the old name of \"{}\", which is there too", name));
    }
    spec.numbers[name] = below(spec.source + pointer_step(key), [&, &value = value] {
      return number_in(value, find_parameter(spec.kind, name));
    });
  }
  return spec;
}

/// Keys of a layer in addition to the numbers of its kind.
constexpr std::string_view keys_of_block = "kind, name, module, repeat, even, parts";

Takes number_of_kind() { return meaning(either(number(), truth()), "a number of the kind"); }

/// Times and bytes that layers of the kind "measured" state, and their kind.
std::vector<Field> with_costs(std::vector<Field> fields) {
  for (const char* key : {"forward_us", "backward_us", "backward_input_us", "backward_weight_us"}) {
    fields.push_back({key, any_time()});
  }
  for (const char* key : {"stash_bytes", "kept_bytes", "pending_weight_bytes", "input_bytes",
                          "output_bytes", "weight_bytes"}) {
    fields.push_back({key, any_bytes()});
  }
  return fields;
}

Takes part() {
  return object_of({"a layer by its kind; other keys are its parameters, see penstock list layers",
                    with_costs({{"kind", text(), "a kind of layer"}}),
                    {"kind"},
                    number_of_kind()});
}

Takes block() {
  return object_of(
      {"a layer by its kind with its parameters (penstock list layers), or several that stay "
       "together",
       with_costs(
           {{"name", text()},
            {"module", text(), "the part of the model that it belongs to: see modules"},
            {"kind", text(), "a kind of layer"},
            {"parts", list_of(part(), 1, 1000), "layers that are never split across stages"},
            repeat(),
            {"even", truth(), "false: not counted in an even cut; goes with its neighbour"}}),
       {},
       number_of_kind()});
}

/// Refuses numbers on a block of several kinds; they belong to its parts.
void check_keys_of_block(const json& object, const std::string& source) {
  for (const auto& [key, value] : object.items()) {
    if (is_listed(keys_of_block, key)) continue;
    throw InputError(source + pointer_step(key),
                     fmt::format("unknown key \"{}\"; beside \"parts\" there are name, module, "
                                 "repeat and even",
                                 key));
  }
}

/// A layer by its kind, or several layers that are never split.
BlockSpec read_block(const json& object, const std::string& source) {
  if (object.contains("kind") == object.contains("parts")) {
    throw InputError(source, "a layer has either a \"kind\" or, of several kinds, \"parts\"");
  }
  BlockSpec block;
  block.name = object.value("name", block.name);
  block.module = object.value("module", block.module);
  block.cut_evenly = object.value("even", block.cut_evenly);
  if (object.contains("kind")) {
    block.parts.push_back(read_part(object, source, keys_of_block));
    // An even cut counts the layers between embedding and head; an encoder of pictures is before.
    const bool counts = !is_at_an_end(block) && block.parts.front().kind != "vision_block";
    if (!object.contains("even")) block.cut_evenly = counts;
    if (block.name.empty()) block.name = block.parts.front().kind;
    return block;
  }
  check_keys_of_block(object, source);
  const json& parts = object["parts"];
  for (std::size_t i = 0; i < parts.size(); ++i) {
    block.parts.push_back(read_part(parts[i], fmt::format("{}/parts/{}", source, i), "kind"));
  }
  if (block.name.empty()) block.name = "block";
  return block;
}

}  // namespace

Takes layer_or_block() {
  const auto has = [](const char* key) { return nlohmann::ordered_json{{"required", {key}}}; };
  return nlohmann::ordered_json{{"if", {{"anyOf", {has("kind"), has("parts")}}}},
                                {"then", block().schema()},
                                {"else", timed_layer().schema()}};
}

bool is_block(const json& layer) { return layer.contains("kind") || layer.contains("parts"); }

ModelSpec read_blocks(const json& layers) {
  ModelSpec spec;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::string source = fmt::format("/model/layers/{}", i);
    const BlockSpec block = read_block(layers[i], source);
    const std::uint32_t times = repeats(layers[i], source, spec.blocks.size());
    for (std::uint32_t copy = 0; copy < times; ++copy) {
      spec.blocks.push_back(block);
      if (times > 1) spec.blocks.back().name += fmt::format(" {}", copy);
    }
  }
  return spec;
}

}  // namespace penstock
