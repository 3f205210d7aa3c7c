#pragma once

#include <cstdint>
#include <string_view>

#include "experiments/run/layout/layout.hpp"
#include "experiments/run/layout/stage_demand.hpp"
#include "hardware_models/spec/machine.hpp"
#include "sim/plan/extras.hpp"

namespace penstock {

/// Whether any layer has parameters.
bool has_weights(const ModelGraph& model);

/// Whether weights have replicas, which reduce their gradients: data replicas, devices of one
/// rank's group, or several ranks with one stage.
bool shares_weights(const Layout& layout);

/// The level of ZeRO; 0 without replicas: there is nothing to shard.
std::uint32_t zero_level(const Layout& layout);

/// Whether ZeRO-3 gathers any weights: not where each device of a group has its own.
bool gathers_weights(const Layout& layout);

/// Whether gradients stay whole until the last microbatch.
bool keeps_whole_gradients(const Layout& layout);

/// Tasks and buffers of the plan beyond the actions of its order.
Extras extras_of(const Layout& layout);

/// Whether new weights are gathered behind the first forwards of the next step: as stated, else as
/// the stack of the device does.
bool overlaps_gathers(const Layout& layout);

/// What many replicas cost, each of which the others wait for: a factor of the time of layers.
double stretch_of(const StackConstants& stack, std::uint32_t data);

/// What the updates of a rank take together besides their memory traffic, unless that of each is
/// stated.
double step_us(const Layout& layout);

Training training_of(const Layout& layout);

/// Devices of a layout: pipeline ranks times all other degrees, and those of a module alone.
std::uint64_t devices_of(const Layout& layout);

/// Ranks of a layout without those of a module alone.
std::uint32_t pipeline_ranks(const Layout& layout);

/// Model stages per rank, for one copy of the model, without those of a module.
std::uint32_t chunks_of(const Layout& layout);

/// Samples per iteration over all data replicas.
double global_batch_of(const Layout& layout);

/// Whether a schedule may interleave the passes of two microbatches, one of which hides the
/// all-to-alls of the other's experts, as Megatron-LM does (--overlap-moe-expert-parallel-comm).
bool may_hide_experts(std::string_view schedule);

/// Why such a schedule hides no all-to-alls; nullptr: it does.
const char* why_no_hiding(std::uint32_t pipeline, std::uint32_t chunks, std::uint32_t expert);

/// Whether a layout has an option without effect, or one that no framework runs with its order:
/// such layouts run, but none is proposed.
bool is_proposed(const Layout& layout);

}  // namespace penstock
