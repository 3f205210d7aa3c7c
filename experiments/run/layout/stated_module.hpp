#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/layout/layout.hpp"

namespace penstock {

/// Layers of the model, or of a part of it.
struct ModelPart {
  std::vector<BlockSpec> blocks;
  ModelGraph graph;

  std::size_t layers() const { return blocks.size() + graph.layers.size(); }
};

/// The layers of a module, or the others.
ModelPart part_of(const ModelSection& model, const std::string& name, bool of_module);

/// Whether no other section of a scenario excludes a module with degrees of its own.
bool takes_module(const Scenario& scenario);

/// Throws InputError for sections that exclude a module, and where its layers are not the first
/// ones of several.
void check_module(const Scenario& scenario);

/// The module on devices of its own, for a pipeline with `data` replicas.
LayoutModule own_module(const ModuleSection& stated, std::uint32_t data);

/// The module on every rank of a settled pipeline.
LayoutModule shared_module(const ModuleSection& stated, const Layout& pipeline);

/// Takes the module's devices from those of the scenario. Data replicas must be stated, since the
/// devices of both parts follow from them.
void leave_devices(const Scenario& scenario, const LayoutModule& module, Scenario& pipeline);

std::uint32_t stated_data(const Scenario& scenario);

}  // namespace penstock
