#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware_models/layers/registry.hpp"

namespace penstock::testing {

using NumbersByName = std::map<std::string, double, std::less<>>;
using Layers = std::vector<LayerSpec>;

/// Numbers with these instead of, or beside, their own.
NumbersByName with(NumbersByName numbers, const NumbersByName& more);

/// A layer of this kind.
LayerSpec spec(std::string_view kind, const NumbersByName& numbers);

/// The work of a layer.
LayerWork work_of(std::string_view kind, const NumbersByName& numbers, const CellShape& shape = {});

/// The summed work of several layers, with kernels and collectives in sequence. The input is that
/// of the first layer, the output that of the last.
LayerWork work_of(const Layers& layers, const CellShape& shape = {});

/// FLOPs of the kernels of a pass on one device, and bytes of kernels that are not matrix products.
double flops_of(const LayerWork& work, Pass pass);
double vector_bytes_of(const LayerWork& work, Pass pass);

/// The collectives of a pass over a group, in their order: "all_gather 8, reduce_scatter 8".
std::string collectives_of(const LayerWork& work, Pass pass, Group group);

/// A GPT block of 2020: LayerNorms, attention that stores scores, a plain MLP four times as wide.
/// `trained`: with biases and dropout.
Layers classic_block(double hidden, double heads, bool trained = true);

/// A file of the folder PENSTOCK_ORACLES. Prints a message if it is missing.
std::optional<nlohmann::json> oracle(const std::string& file);

}  // namespace penstock::testing
