#include "experiments/run/layout/measured_stages.hpp"

#include <fmt/format.h>

#include "experiments/input/files/plain_text.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

void check_stages(const Layout& layout) {
  const std::size_t stages = layout.placement.chains().front().size();
  const std::size_t layers = layout.model.layers.size();
  if (layers >= stages) return;
  throw InputError(
      "/schedule/name",
      fmt::format("{} has {} stages on {} ranks, and the times of the model's file are of {} "
                  "layers; measure a run with {} stages too: penstock trace takes the traces of "
                  "several runs",
                  layout.name, stages, layout.placement.ranks(), layers, stages));
}

void check_split(const Layout& layout) {
  if (!layout.schedule.has(Pass::backward_input)) return;
  for (const Layer& layer : layout.model.layers) {
    if (layer.backward_input_us && layer.backward_weight_us) continue;
    throw InputError(
        "/schedule/name",
        fmt::format("{} splits the backward into I and W, and \"{}\" of the model's file has "
                    "backward_us alone; measure a run that splits it too, such as zb-h1: penstock "
                    "trace takes the traces of several runs",
                    layout.name, shortened(layer.name)));
  }
}

}  // namespace

void check_measured_stages(const Scenario& scenario, const Layout& layout) {
  const bool measured = scenario.model.from_file && !scenario.model.by_kind();
  if (!measured || layout.rule == nullptr) return;
  bool stated = true;  // layers without times are priced by their work
  for (const Layer& layer : layout.model.layers) stated = stated && layer.forward_us.has_value();
  if (!stated) return;
  check_stages(layout);
  check_split(layout);
}

}  // namespace penstock
