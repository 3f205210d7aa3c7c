#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "experiments/input/files/error_place.hpp"
#include "experiments/input/files/json_input.hpp"
#include "experiments/input/scenario/model_section.hpp"
#include "experiments/input/scenario/repeats.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

using nlohmann::json;

/// The current name of a number; some may be given by their old name.
std::string current_name(const std::string& kind, const std::string& key) {
  if (kind != "measured") return key;
  if (key == "kept_bytes") return "stash_bytes";
  return key == "pending_bytes" ? "pending_weight_bytes" : key;
}

/// A layer by its kind: every other key is a number of that kind.
LayerSpec read_part(const json& object, std::string source,
                    std::span<const std::string_view> others) {
  LayerSpec spec{.kind = object["kind"], .numbers = {}, .source = std::move(source)};
  for (const auto& [key, value] : object.items()) {
    if (std::find(others.begin(), others.end(), key) != others.end()) continue;
    const std::string name = current_name(spec.kind, key);
    if (name != key && object.contains(name)) {
      throw InputError(spec.source + pointer_step(key),
                       fmt::format("this is the old name of \"{}\", which is there too", name));
    }
    spec.numbers[name] = value.is_boolean() ? (value.get<bool>() ? 1.0 : 0.0) : value.get<double>();
  }
  return spec;
}

/// Keys of a layer in addition to the numbers of its kind.
constexpr std::array<std::string_view, 5> keys_of_block{"kind", "name", "repeat", "even", "parts"};

/// Refuses numbers on a block of several kinds; they belong to its parts.
void check_keys_of_block(const json& object, const std::string& source) {
  for (const auto& [key, value] : object.items()) {
    if (std::find(keys_of_block.begin(), keys_of_block.end(), key) != keys_of_block.end()) continue;
    throw InputError(source + pointer_step(key),
                     fmt::format("unknown key \"{}\"; beside \"parts\" there are name, repeat and "
                                 "even",
                                 key));
  }
}

/// An even cut counts the layers between embedding and head.
bool stands_at_an_end(const std::string& kind) { return kind == "embedding" || kind == "head"; }

/// A layer by its kind, or several layers that are never split.
BlockSpec read_block(const json& object, const std::string& source) {
  if (object.contains("kind") == object.contains("parts")) {
    throw InputError(source, "a layer has either a \"kind\" or, of several kinds, \"parts\"");
  }
  BlockSpec block;
  take(object, "name", block.name);
  take(object, "even", block.cut_evenly);
  if (object.contains("kind")) {
    if (!object.contains("even")) block.cut_evenly = !stands_at_an_end(object["kind"]);
    block.parts.push_back(read_part(object, source, keys_of_block));
    if (block.name.empty()) block.name = block.parts.front().kind;
    return block;
  }
  check_keys_of_block(object, source);
  constexpr std::array<std::string_view, 1> kind_only{"kind"};
  const json& parts = object["parts"];
  for (std::size_t i = 0; i < parts.size(); ++i) {
    block.parts.push_back(read_part(parts[i], fmt::format("{}/parts/{}", source, i), kind_only));
  }
  if (block.name.empty()) block.name = "block";
  return block;
}

}  // namespace

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
