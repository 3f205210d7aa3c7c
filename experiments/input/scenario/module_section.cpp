#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/input/scenario/sections.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

using nlohmann::json;

const Fields& module_fields() {
  using M = ModuleSection;
  const Takes degree = whole(1, 16'384);
  static const Fields fields{
      "the first layers of the model, those that state this module, with degrees of their own",
      {note(),
       field<&M::devices>("devices", words({"own", "shared"}),
                          "own: behind those of the other layers, and every replica feeds the "
                          "pipelines in turn, or several at once; shared: each pipeline rank also "
                          "runs the whole module, for its share of the microbatches; default own"),
       field<&M::pipeline>("pipeline", degree,
                           "pipeline ranks of a replica, on devices of its own"),
       field<&M::tensor>("tensor", degree),
       field<&M::data>("data", degree,
                       "replicas over all devices, a multiple of /parallel/data or a divisor of "
                       "it; default /parallel/data, and with shared devices what these make"),
       field<&M::sequence>("sequence", truth(), "sequence parallelism of its tensor groups"),
       field<&M::order>("order", words({"first", "bubbles"}),
                        "on shared devices: its forwards before the other work of a rank and its "
                        "backwards behind it, or both in the rank's bubbles; default first"),
       field<&M::frozen>("frozen", truth(),
                         "it has no backward, and keeps no activations, gradients or optimizer "
                         "state; default false")}};
  return fields;
}

}  // namespace

const Fields& modules_fields() {
  static const Fields fields{
      "by name, the part of the model that has degrees of its own, such as an encoder of pictures "
      "(\"vision\" in configs that have one); /parallel is about the other layers",
      {note()},
      {},
      object_of(module_fields())};
  return fields;
}

std::optional<ModuleSection> read_module(const json& section) {
  const std::vector<std::string> names = other_keys(modules_fields(), section);
  if (names.empty()) return std::nullopt;
  if (names.size() > 1) {
    throw InputError(
        "/modules/" + names[1],
        fmt::format("one module has degrees of its own, and \"{}\" does already", names[0]));
  }
  ModuleSection module{.name = names[0]};
  read_fields(module_fields(), section[names[0]], &module);
  return module;
}

}  // namespace penstock
