#pragma once

#include <fmt/format.h>

#include <string>

#include "experiments/input/formats/reading/read_model_file.hpp"
#include "tests/support/model_files.hpp"

namespace penstock::testing {

/// What every Megatron-LM command needs.
inline const std::string least =
    "--num-layers 4 --hidden-size 64 --num-attention-heads 8 --max-position-embeddings 128 "
    "--padded-vocab-size 1000 ";

/// The error of a command, with its place; "accepted" if there is none.
inline std::string megatron_args_refusal(const std::string& text) {
  return refusal_of_model(text, "megatron-args");
}

/// A number of the first layer of a kind; 0 if it has none.
inline double number(const std::string& arguments, const std::string& kind,
                     const std::string& name) {
  const LayerSpec found = layer(parse_model_file(least + arguments), kind);
  const auto value = found.numbers.find(name);
  return value == found.numbers.end() ? 0 : value->second;
}

/// The layers of each stage: "0 1 | 2 3".
inline std::string stages(const std::string& arguments) {
  std::string text;
  for (const auto& stage : parse_model_file(least + arguments).stages) {
    if (!text.empty()) text += "| ";
    for (const LayerIndex one : stage) text += fmt::format("{} ", index(one));
  }
  if (!text.empty()) text.pop_back();
  return text;
}

}  // namespace penstock::testing
