#include "experiments/measure/torch_runs/runtime_order.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/input/formats/torch_csv.hpp"
#include "experiments/input/orders/torch_comms.hpp"

namespace penstock {
namespace {

std::string why_not_layout(const Layout& layout) {
  if (layout.degrees.group() > 1 || layout.degrees.data > 1) {
    return "a rank is one process: set the degrees of /parallel but the pipeline to 1";
  }
  if (!layout.codings.empty()) return "it encodes no activations";
  if (layout.overlap == Overlap::fused) return "it runs the parts of an overlap cell one by one";
  for (const Stage stage : layout.placement.stages()) {
    if (layout.placement.replicas(stage) > 1) return "a stage has one replica";
  }
  return "";
}

/// Files bear it.
std::string file_name(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return c == '/' || c <= ' '; }, '-');
  return name;
}

}  // namespace

std::string why_not_in_torch(const Layout& layout, const Schedule& order) {
  std::string why = why_not_layout(layout);
  if (why.empty()) why = why_not_loadable(order, layout.placement);
  if (why.empty()) why = why_trained_otherwise(layout.slices, order.weights().use);
  if (!why.empty()) return "PyTorch's runtime: " + why;
  const auto left_out = torch_order(order).left_out;
  if (left_out.empty()) return "";
  return fmt::format("PyTorch's notation cannot express {}", left_out.front());
}

RuntimeOrder runtime_order(const std::string& name, const Layout& layout, const Schedule& order) {
  RuntimeOrder made{.name = file_name(name),
                    .placement = layout.placement,
                    .schedule = order,
                    .csv = write_torch_csv(order).text,
                    .stages = {}};
  for (std::vector<LayerIndex> stage : layout.partition.stages) {
    std::sort(stage.begin(), stage.end());
    auto& own = made.stages.emplace_back();
    for (const LayerIndex layer : stage) own.push_back(index(layer));
  }
  return made;
}

}  // namespace penstock
