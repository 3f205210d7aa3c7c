#include "validate/backends/cuda/stages/gpu_stages.hpp"

#include <algorithm>
#include <stdexcept>
#include <variant>
#include <vector>

#include "validate/backends/cuda/gpu_owners.hpp"

namespace penstock {
namespace {

/// Calls `visit(slot, body)` for the passes of a rank that run layers.
template <class Visitor>
void for_each_layered(const GpuProgram& program, std::uint32_t rank, const Visitor& visit) {
  for (const GpuTask& task : program.tasks) {
    if (task.lane != rank) continue;
    program.for_each_part(task, [&](const GpuPart& part) {
      const GpuBody body = program.body(part.pass.body);
      if (layer_kind_of(body.work) != nullptr) visit(part.pass.slot, body);
    });
  }
}

/// Of a rank: the first of its bodies that runs layers.
const GpuLayerKind* kind_on(const GpuProgram& program, std::uint32_t rank) {
  const GpuLayerKind* kind = nullptr;
  for_each_layered(program, rank, [&](std::uint32_t, const GpuBody& body) {
    if (kind == nullptr) kind = layer_kind_of(body.work);
  });
  return kind;
}

GpuOwner<void> zeros(const GpuDevice& device, std::uint64_t bytes) {
  const GpuCalls& calls = device.calls();
  auto memory = make_memory(calls, bytes);
  check(calls, calls.fill(memory.get(), 0, bytes, device.conductor()), "clearing memory of layers");
  return memory;
}

}  // namespace

void launch_all(const GpuCalls& calls, GpuStream stream, const GpuLaunches& launches,
                GpuProducts& products, std::uint32_t sms) {
  for (const GpuLaunch& launch : launches.all) {
    if (const auto* product = std::get_if<LayerProduct<Bf16>>(&launch)) {
      products.launch(stream, *product);
    } else {
      check(calls, calls.launch_step(stream, std::get<GpuStep>(launch), sms),
            "launching a kernel of a layer");
    }
  }
}

GpuStages::GpuStages(const GpuDevice& device, const GpuProgram& program, std::uint32_t rank,
                     std::uint64_t most_bytes)
    : device_(device),
      calls_(device.calls()),
      rank_(rank),
      sizes_(program.sizes),
      kind_(kind_on(program, rank)),
      bytes_(kind_->bytes(sizes_)),
      slots_(nullptr, calls_.free_memory),
      scratch_(zeros(device, bytes_.scratch)),
      products_(std::make_unique<GpuProducts>(calls_, device.sms_of_rank(rank))) {
  make_stages(program);
  make_slots(program, most_bytes);
  device_.wait_for(device_.conductor(), "making the stages of rank", rank_);
  warm_up();
}

void GpuStages::make_stages(const GpuProgram& program) {
  for_each_layered(program, rank_, [&](std::uint32_t, const GpuBody& body) {
    if (layer_kind_of(body.work) != kind_) throw std::logic_error("a rank has two kinds of layers");
    const auto [place, fresh] = stages_.try_emplace(
        body.stage, Stage{0, {nullptr, calls_.free_memory}, {nullptr, calls_.free_memory}});
    place->second.layers = std::max(place->second.layers, body.amount);
    deepest_ = std::max(deepest_, body.amount);
  });
  const auto weights = std::make_unique_for_overwrite<std::byte[]>(bytes_.weights);
  kind_->draw(sizes_, weights.get());
  for (auto& [number, stage] : stages_) {
    stage.weights = make_memory(calls_, stage.layers * bytes_.weights);
    stage.sums = zeros(device_, stage.layers * bytes_.sums);
    for (std::uint64_t layer = 0; layer < stage.layers; ++layer) {
      auto* const to = static_cast<std::byte*>(stage.weights.get()) + layer * bytes_.weights;
      check(calls_, calls_.write(to, weights.get(), bytes_.weights), "writing weights");
    }
  }
}

/// A slot has the inputs of all layers and what goes on, then the gradients from the last layer to
/// the first, then what layers keep.
void GpuStages::make_slots(const GpuProgram& program, std::uint64_t most_bytes) {
  slot_bytes_ = 2 * (deepest_ + 1) * bytes_.ends + deepest_ * bytes_.kept;
  std::uint64_t slots = 0;
  for_each_layered(program, rank_, [&](std::uint32_t slot, const GpuBody&) {
    slots = std::max<std::uint64_t>(slots, slot + 1);
  });
  const std::uint64_t most = std::max<std::uint64_t>(most_bytes / slot_bytes_, 1);
  slot_count_ = static_cast<std::uint32_t>(std::min(slots, most));
  slots_ = zeros(device_, slot_count_ * slot_bytes_);
  device_.wait_for(device_.conductor(), "clearing the buffers of rank", rank_);
  std::vector<Bf16> drawn(bytes_.ends / sizeof(Bf16));
  for (std::uint64_t slot = 0; slot < slot_count_; ++slot) {
    const auto number = static_cast<std::uint32_t>(slot);
    for (const std::uint64_t back : {0, 1}) {
      draw_numbers(drawn.data(), drawn.size(), 100 + 2 * slot + back, 1);
      std::byte* const to = end_at(number, back * (deepest_ + 1));
      check(calls_, calls_.write(to, drawn.data(), bytes_.ends), "writing what comes into slot",
            number);
    }
  }
}

void GpuStages::warm_up() {
  for (const auto& [number, stage] : stages_) {
    for (std::uint32_t slot = 0; slot < slot_count_; ++slot) {
      launch({kind_->work, stage.layers, GpuPass::forward, number}, slot);
      launch({kind_->work, stage.layers, GpuPass::backward, number}, slot);
    }
  }
  device_.wait_for(device_.lane(rank_), "running the layers of rank", rank_);
}

/// A layer's input or output, or, from `deepest_` + 1 on, the gradients from the last to the first.
std::byte* GpuStages::end_at(std::uint32_t slot, std::uint64_t number) const {
  return static_cast<std::byte*>(slots_.get()) + slot % slot_count_ * slot_bytes_ +
         number * bytes_.ends;
}

std::optional<GpuStageEnds> GpuStages::ends(const GpuBody& body, std::uint32_t slot) const {
  const bool back = body.pass == GpuPass::backward || body.pass == GpuPass::input_gradient;
  if (!back && body.pass != GpuPass::forward) return std::nullopt;
  const std::uint64_t first = back ? deepest_ + 1 : 0;
  return GpuStageEnds{end_at(slot, first), end_at(slot, first + stages_.at(body.stage).layers),
                      bytes_.ends};
}

GpuLayerMemory GpuStages::memory_of(const Stage& stage, std::uint64_t layer,
                                    std::uint32_t slot) const {
  const auto at = [](const GpuOwner<void>& memory, std::uint64_t offset) {
    return static_cast<std::byte*>(memory.get()) + offset;
  };
  const std::uint64_t begin = slot % slot_count_ * slot_bytes_;
  const auto end = [&](std::uint64_t number) {
    return reinterpret_cast<Bf16*>(end_at(slot, number));
  };
  const std::uint64_t behind = deepest_ + stage.layers - layer;  // the gradient of its output
  return {.weights = at(stage.weights, layer * bytes_.weights),
          .sums = at(stage.sums, layer * bytes_.sums),
          .kept = at(slots_, begin + 2 * (deepest_ + 1) * bytes_.ends + layer * bytes_.kept),
          .scratch = at(scratch_, 0),
          .ends = {end(layer), end(layer + 1), end(behind), end(behind + 1)}};
}

void GpuStages::add(const Stage& stage, GpuPass pass, std::uint32_t slot,
                    GpuLaunches& launches) const {
  if (pass == GpuPass::backward) {
    add(stage, GpuPass::input_gradient, slot, launches);
    return add(stage, GpuPass::weight_gradient, slot, launches);
  }
  for (std::uint64_t turn = 0; turn < stage.layers; ++turn) {
    const std::uint64_t layer = pass == GpuPass::forward ? turn : stage.layers - 1 - turn;
    kind_->launch(sizes_, memory_of(stage, layer, slot), pass, launches);
  }
}

GpuLaunches GpuStages::launches(const GpuBody& body, std::uint32_t slot) const {
  const Stage& stage = stages_.at(body.stage);
  GpuLaunches launches;
  if (body.recomputes) add(stage, GpuPass::forward, slot, launches);
  add(stage, body.pass, slot, launches);
  return launches;
}

void GpuStages::launch(const GpuBody& body, std::uint32_t slot) const {
  launch_all(calls_, device_.lane(rank_), launches(body, slot), *products_,
             device_.sms_of_rank(rank_));
}

std::vector<std::unique_ptr<GpuStages>> make_stages(const GpuDevice& device,
                                                    const GpuProgram& program) {
  std::vector<std::unique_ptr<GpuStages>> stages(program.ranks);
  for (std::uint32_t rank = 0; rank < program.ranks; ++rank) {
    if (kind_on(program, rank) == nullptr) continue;
    try {
      stages[rank] = std::make_unique<GpuStages>(device, program, rank,
                                                 device.most_action_bytes() / program.ranks);
    } catch (const GpuError& error) {
      throw GpuError(error.what() + ("; making the stages of rank " + std::to_string(rank)));
    }
  }
  return stages;
}

}  // namespace penstock
