#include "experiments/run/layout/stated_module.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "experiments/input/files/table.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

std::string pointer_of(const ModuleSection& module, const char* key) {
  return "/modules" + pointer_step(module.name) + "/" + key;
}

template <class Layers>
Layers cut_out(const Layers& layers, const std::string& name, bool of_module) {
  Layers part;
  for (const auto& layer : layers) {
    if ((layer.module == name) == of_module) part.push_back(layer);
  }
  return part;
}

/// Whether the layers of a module come before all others.
template <class Layers>
bool come_first(const Layers& layers, const std::string& name) {
  return std::is_partitioned(layers.begin(), layers.end(),
                             [&](const auto& layer) { return layer.module == name; });
}

/// A part of a scenario that excludes modules.
struct ExcludingPart {
  const char* pointer;
  const char* why;
  bool (*is_in)(const Scenario&) = nullptr;  // nullptr: it is where the document states it
};

/// Layouts of a search have codecs that no document states.
bool encodes(const Scenario& scenario) {
  return scenario.codec.encodes() || !scenario.codec.phases.empty();
}

constexpr std::array<ExcludingPart, 5> excluding_parts{
    {{"/codec", "codecs go with one set of degrees", encodes},
     {"/schedule/policy", "a policy orders one set of stages; name a schedule rule"},
     {"/partition/stages", "each part of the model is cut by itself; leave it out"},
     {"/model/edges", "the layers of a module are a chain before the others; leave it out"},
     {"/hardware/routes", "routes name ranks of one pipeline; give links with ends"}}};

/// nullptr: no part excludes modules.
const ExcludingPart* excluding_part(const Scenario& scenario) {
  const auto found = std::ranges::find_if(excluding_parts, [&](const ExcludingPart& part) {
    if (part.is_in != nullptr) return part.is_in(scenario);
    return scenario.document->contains(nlohmann::json::json_pointer(part.pointer));
  });
  return found == excluding_parts.end() ? nullptr : found;
}

void refuse_sections(const Scenario& scenario) {
  if (const ExcludingPart* part = excluding_part(scenario)) {
    throw InputError(part->pointer, fmt::format("{}, and /modules has two", part->why));
  }
  if (scenario.schedule.communication == Communicating::written) {
    throw InputError(
        "/schedule/communication",
        "SENDs and RECVs are written for one pipeline; with /modules they are implicit");
  }
}

void check_layers(const Scenario& scenario) {
  const std::string& name = scenario.module->name;
  const std::string pointer = "/modules" + pointer_step(name);
  if (part_of(scenario.model, name, true).layers() == 0) {
    throw InputError(pointer, fmt::format("no layer of the model states the module \"{}\"", name));
  }
  if (part_of(scenario.model, name, false).layers() == 0) {
    throw InputError(pointer, "all layers of the model state it; leave /modules out");
  }
  if (come_first(scenario.model.spec.blocks, name) && come_first(scenario.model.graph.layers, name))
    return;
  throw InputError(pointer, "its layers come first in a model, and others come before");
}

}  // namespace

ModelPart part_of(const ModelSection& model, const std::string& name, bool of_module) {
  ModelPart part{cut_out(model.spec.blocks, name, of_module),
                 {cut_out(model.graph.layers, name, of_module), {}}};
  part.graph.connect_as_chain();
  return part;
}

bool takes_module(const Scenario& scenario) {
  return scenario.schedule.communication != Communicating::written &&
         excluding_part(scenario) == nullptr;
}

void check_module(const Scenario& scenario) {
  refuse_sections(scenario);
  check_layers(scenario);
}

LayoutModule own_module(const ModuleSection& stated, std::uint32_t data) {
  LayoutModule module{.name = stated.name,
                      .degrees = {.tensor = stated.tensor,
                                  .data = stated.data.value_or(data),
                                  .sequence_parallel = stated.sequence},
                      .stages = stated.pipeline,
                      .frozen = stated.frozen};
  const std::uint32_t own = module.degrees.data;
  if (own % data != 0 && data % own != 0) {
    throw InputError(pointer_of(stated, "data"),
                     fmt::format("it is {}, and /parallel/data {}: one must divide the other, so "
                                 "that each replica feeds as many pipelines",
                                 own, data));
  }
  if (stated.order == ModuleOrder::bubbles) {
    throw InputError(pointer_of(stated, "order"),
                     "a module on devices of its own runs beside the pipeline, not in its bubbles; "
                     "leave it out, or set \"devices\" to \"shared\"");
  }
  module.ranks_in_turn = std::max(1U, own / data);
  module.share = std::max(1.0, double(data) / own);
  return module;
}

LayoutModule shared_module(const ModuleSection& stated, const Layout& pipeline) {
  const std::uint64_t group = pipeline.degrees.group();
  if (stated.pipeline > 1) {
    throw InputError(pointer_of(stated, "pipeline"),
                     "each rank of the pipeline holds the whole module; leave it out, or set "
                     "\"devices\" to \"own\"");
  }
  if (group % stated.tensor != 0) {
    throw InputError(pointer_of(stated, "tensor"),
                     fmt::format("it is {}, and does not divide the {} of a pipeline rank",
                                 stated.tensor, counted(group, "device")));
  }
  const std::uint32_t ranks = pipeline.placement.ranks();
  const auto groups = static_cast<std::uint32_t>(group / stated.tensor);
  const std::uint32_t data = ranks * pipeline.degrees.data * groups;
  if (stated.data && *stated.data != data) {
    throw InputError(pointer_of(stated, "data"),
                     fmt::format("it is {}, but the devices of the pipeline hold {} replicas; "
                                 "leave it out",
                                 *stated.data, data));
  }
  return {.name = stated.name,
          .degrees = {.tensor = stated.tensor, .data = data, .sequence_parallel = stated.sequence},
          .stages = 1,
          .shares_devices = true,
          .frozen = stated.frozen,
          .share = 1.0 / groups,
          .ranks_in_turn = ranks};
}

void leave_devices(const Scenario& scenario, const LayoutModule& module, Scenario& pipeline) {
  auto& devices = pipeline.hardware.devices;
  const std::uint64_t own = module.own_ranks() * module.devices_per_own_rank();
  if (!devices) return;
  if (*devices <= own) {
    throw InputError("/hardware/devices", fmt::format("it is {}, and \"{}\" alone takes {}",
                                                      *devices, scenario.module->name, own));
  }
  *devices -= own;
}

std::uint32_t stated_data(const Scenario& scenario) {
  if (scenario.parallel.data) return *scenario.parallel.data;
  throw InputError("/parallel/data",
                   "it is missing; replicas of a module on devices of its own follow from it");
}

}  // namespace penstock
