#include "experiments/measure/torch_runs/torch_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

#include "experiments/input/files/table.hpp"
#include "experiments/input/formats/torch_csv.hpp"
#include "experiments/input/orders/torch_comms.hpp"
#include "experiments/run/layout/exchanges.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// The kinds of scenario_model.py with the numbers it follows; others must be 0. What only changes
/// how a device computes is free.
struct KnownKind {
  std::string_view kind;
  std::array<std::string_view, 5> numbers;
};
constexpr std::array known_kinds{
    KnownKind{"embedding", {"vocab", "hidden", "positions"}},
    KnownKind{"norm", {"hidden", "bias"}},
    KnownKind{"attention", {"hidden", "heads", "kv_heads", "head_dim", "causal"}},
    KnownKind{"mlp", {"hidden", "intermediate", "gated", "bias"}},
    KnownKind{"head", {"hidden", "vocab", "bias"}},
};
constexpr std::array<std::string_view, 3> free_numbers{"flash", "fp32_logits", "fused_loss"};

template <class List>
bool has(const List& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

std::optional<std::string> why_not_part(const LayerSpec& part) {
  const auto known = std::find_if(known_kinds.begin(), known_kinds.end(),
                                  [&](const KnownKind& one) { return one.kind == part.kind; });
  if (known == known_kinds.end()) return fmt::format("kind \"{}\"", part.kind);
  for (const auto& [name, value] : part.numbers) {
    if (value == 0 || std::isnan(value)) continue;
    if (!has(known->numbers, name) && !has(free_numbers, name)) {
      return fmt::format("kind \"{}\" with \"{}\"", part.kind, name);
    }
  }
  return std::nullopt;
}

/// Why not all layers can be built; also for a model that states times.
std::optional<std::string> why_not_kinds(const Layout& layout) {
  if (layout.spec.blocks.empty()) return "the model states times, not kinds of layers";
  for (const BlockSpec& block : layout.spec.blocks) {
    if (block.predicts_further) return "it predicts further tokens";
    for (const LayerSpec& part : block.parts) {
      if (auto why = why_not_part(part)) return "PyTorch's script has no " + *why;
    }
  }
  const double examples = layout.shape.microbatch;
  if (examples < 1 || examples != std::floor(examples)) {
    return fmt::format("a microbatch of {} examples is no whole number", examples);
  }
  if (layout.documents && examples != 1) {
    return "documents go into microbatches of one sequence; set /model/microbatch to 1";
  }
  return std::nullopt;
}

void require_chain(const ModelGraph& model) {
  const bool chain = std::all_of(model.edges.begin(), model.edges.end(), [](const auto& edge) {
    return index(edge.second) == index(edge.first) + 1;
  });
  if (!chain) throw UsageError("PyTorch's runtime has one chain of stages; this model branches");
}

TorchLayer timed_layer(const Layer& layer, double scale) {
  if (!layer.forward_us || (!layer.backward_us && !layer.backward_input_us)) {
    throw UsageError(
        "PyTorch's blocks need times: forward_us, and backward_us or backward_input_us; "
        "--model FILE.py brings layers of your own");
  }
  return {.forward_us = scale * *layer.forward_us,
          .input_us = scale * layer.backward_input_us.value_or(layer.backward_us.value_or(0)),
          .weight_us = scale * layer.backward_weight_us.value_or(0),
          .parts = {}};
}

/// The tensors of a model that states times, as floats.
std::uint32_t width_of(const ModelGraph& model) {
  constexpr double least = 64;
  constexpr double most = 1 << 20;
  double bytes = 0;
  for (const Layer& layer : model.layers) bytes = std::max(bytes, layer.activation_bytes);
  return static_cast<std::uint32_t>(std::clamp(bytes / sizeof(float), least, most));
}

void add_kinds(const Layout& layout, TorchModel& model) {
  model.bodies = TorchBodies::layers;
  for (const BlockSpec& block : layout.spec.blocks) {
    model.layers.emplace_back().parts = block.parts;
  }
  const auto hidden = layout.spec.blocks.front().parts.front().numbers.find("hidden");
  if (hidden != layout.spec.blocks.front().parts.front().numbers.end()) {
    model.width = static_cast<std::uint32_t>(hidden->second);
  }
  model.examples = static_cast<std::uint32_t>(layout.shape.microbatch);
  model.shape = {static_cast<std::uint32_t>(layout.shape.sequence)};
}

std::string why_not_layout(const Layout& layout) {
  if (layout.degrees.group() > 1 || layout.degrees.data > 1) {
    return "a rank is one process: set the degrees of /parallel but the pipeline to 1";
  }
  if (layout.module) return "all layers have one set of degrees: leave out /modules";
  if (!exchanges_of(layout).empty()) return "its stages exchange tokens inside their passes";
  if (!layout.codings.empty()) return "it encodes no activations";
  if (layout.overlap == Overlap::fused) return "it runs the parts of an overlap cell one by one";
  for (const Stage stage : layout.placement.stages()) {
    if (layout.placement.replicas(stage) > 1) return "a stage has one replica";
  }
  return "";
}

}  // namespace

std::string_view name(TorchBodies bodies) {
  constexpr std::array<std::string_view, 4> names{"sleep", "compute", "layers", "own"};
  return names[static_cast<std::size_t>(bodies)];
}

TorchModel torch_model(const Layout& layout, const TorchModelRequest& request) {
  require_chain(layout.model);
  TorchModel model;
  if (!request.file.empty()) {
    if (layout.documents) {
      throw UsageError("--model: layers of your own know no documents; leave out /batch");
    }
    model.bodies = TorchBodies::own;
    model.file = request.file;
    model.layers.resize(layout.model.layers.size());
    model.width = width_of(layout.model);
    return model;
  }
  const auto why_not = why_not_kinds(layout);
  if (request.bodies == Bodies::layers && why_not) {
    throw UsageError(fmt::format("--bodies layers: {}", *why_not));
  }
  if (!why_not && (request.bodies == Bodies::automatic || request.bodies == Bodies::layers)) {
    add_kinds(layout, model);
    return model;
  }
  if (layout.documents && !layout.spec.blocks.empty()) {
    throw UsageError(fmt::format("PyTorch does not run this batch: {}",
                                 why_not.value_or("its layers are by kind; leave out --bodies")));
  }
  model.bodies = request.bodies == Bodies::busy ? TorchBodies::compute : TorchBodies::sleep;
  model.scale = request.scale;
  model.width = width_of(layout.model);
  for (const Layer& layer : layout.model.layers) {
    model.layers.push_back(timed_layer(layer, request.scale));
  }
  return model;
}

std::string why_not_in_torch(const Layout& layout, const Schedule& order) {
  std::string why = why_not_layout(layout);
  if (why.empty()) {
    why = why_not_trained(order, layout.placement, layout.slices, order.weights().use);
  }
  if (!why.empty()) return "PyTorch's runtime: " + why;
  const auto left_out = torch_order(order).left_out;
  if (left_out.empty()) return "";
  return fmt::format("PyTorch's notation cannot express {}", left_out.front());
}

RuntimeOrder runtime_order(const std::string& name, const Layout& layout, const Schedule& order) {
  RuntimeOrder made{.name = name,
                    .placement = layout.placement,
                    .schedule = order,
                    .csv = write_torch_csv(order, layout.communication).text,
                    .with_communication = layout.communication.written(),
                    .stages = {}};
  // Files bear the name.
  std::ranges::replace_if(
      made.name, [](unsigned char c) { return c == '/' || c <= ' '; }, '-');
  for (std::vector<LayerIndex> stage : layout.partition.stages) {
    std::sort(stage.begin(), stage.end());
    auto& own = made.stages.emplace_back();
    for (const LayerIndex layer : stage) own.push_back(index(layer));
  }
  return made;
}

std::vector<MicrobatchShares> microbatch_shares(const PricedPlan& plain, const PricedPlan& drawn) {
  const Plan& plan = plain.plan;
  const std::vector<double> equal(plan.microbatches, 1);
  std::vector<MicrobatchShares> shares(plan.model_stage.size(), {equal, equal, equal});
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const WorkClass& work = plan.class_of(task);
    const Time usual = plain.costs.duration_of(plan, task);
    if (plan.is_link(work.resource) || usual == Time{}) continue;
    const double share = to_us(drawn.costs.duration_of(drawn.plan, task)) / to_us(usual);
    MicrobatchShares& own = shares[index(work.stage)];
    const std::size_t microbatch = index(plan.microbatch[task]);
    if (microbatch >= equal.size()) {
      throw UsageError(fmt::format("PyTorch numbers {} from 0 on; this order has number {}",
                                   counted(equal.size(), "microbatch", "microbatches"),
                                   microbatch));
    }
    if (work.pass == Pass::forward) own.forward[microbatch] = share;
    if (gives_gradient(work.pass)) own.input[microbatch] = share;
    if (ends_activation(work.pass)) own.weight[microbatch] = share;
  }
  return shares;
}

}  // namespace penstock
