#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "experiments/model_files/model_file.hpp"
#include "experiments/scenario/scenario.hpp"

namespace penstock {

/// Reads the "model" of a scenario, which the schema has checked; of a model from a file, only what
/// stands in the scenario itself.
void read_model(const nlohmann::json& model, Scenario& scenario);

/// What a model's file says of how it is trained stands in for what the scenario leaves open; to
/// be called before the sections of the scenario are read.
void use_command(const TrainingCommand& command, Scenario& scenario);

/// Cuts the layers of a model as a file says. Throws InputError with a pointer into the scenario.
void use_cut(const ModelFile& cut, const ModelFile& model, Scenario& scenario);

/// Puts a model that was read from a file in its place; to be called when the scenario has been
/// read. Throws InputError with a pointer into the scenario.
void use_model(ModelFile file, Scenario& scenario);

/// Settles the examples of a microbatch, its tokens, and how many microbatches there are. Throws
/// InputError with a pointer into the scenario.
void settle_batch(Scenario& scenario);

}  // namespace penstock
