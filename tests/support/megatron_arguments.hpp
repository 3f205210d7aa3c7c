#pragma once

#include <string>
#include <string_view>

#include "experiments/input/model_files/model_file.hpp"
#include "hardware_models/spec/model_spec.hpp"

namespace penstock::testing {

/// What every Megatron-LM command needs.
inline const std::string least =
    "--num-layers 4 --hidden-size 64 --num-attention-heads 8 --max-position-embeddings 128 "
    "--padded-vocab-size 1000 ";

ModelFile megatron_args_model(const std::string& text);
/// The error of a command, with its place; "accepted" if there is none.
std::string megatron_args_refusal(const std::string& text);
/// The first layer of a kind. Throws std::runtime_error if there is none.
LayerSpec layer(const ModelFile& file, const std::string& kind);
/// A number of the first layer of a kind; 0 if it has none.
double number(const std::string& arguments, const std::string& kind, const std::string& name);
/// The layers of each stage: "0 1 | 2 3".
std::string stages(const std::string& arguments);
/// For each block, "1" if it has experts.
std::string megatron_args_expert_layers(const std::string& arguments);
bool has_note(const ModelFile& file, std::string_view part);

}  // namespace penstock::testing
