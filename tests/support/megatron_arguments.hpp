#pragma once

#include <string>

namespace penstock::testing {

/// What every Megatron-LM command needs.
inline const std::string least =
    "--num-layers 4 --hidden-size 64 --num-attention-heads 8 --max-position-embeddings 128 "
    "--padded-vocab-size 1000 ";

/// The error of a command, with its place; "accepted" if there is none.
std::string megatron_args_refusal(const std::string& text);
/// A number of the first layer of a kind; 0 if it has none.
double number(const std::string& arguments, const std::string& kind, const std::string& name);
/// The layers of each stage: "0 1 | 2 3".
std::string stages(const std::string& arguments);

}  // namespace penstock::testing
