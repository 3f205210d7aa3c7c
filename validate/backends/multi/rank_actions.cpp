#include "validate/backends/multi/rank_actions.hpp"

#include <algorithm>
#include <utility>

#include "validate/backends/cuda/measuring/gpu_amounts.hpp"
#include "validate/backends/gpu/gpu_job_program.hpp"

namespace penstock {
namespace {

/// Parts of fused cells have the layers of their stage.
void give_layers_to_cells(GpuWork work, GpuProgram& program) {
  for (GpuBody& body : program.bodies) {
    if (body.work == work || body.pass == GpuPass::none) continue;
    const auto known = std::find_if(
        program.bodies.begin(), program.bodies.end(),
        [&](const GpuBody& other) { return other.work == work && other.stage == body.stage; });
    if (known == program.bodies.end()) continue;
    body.work = work;
    body.amount = known->amount;
  }
}

GpuProgram with_amounts(const RankDevice& device, GpuWork work, GpuProgram program) {
  give_amounts(device.whole(), work, program);
  if (layer_kind_of(work) != nullptr) give_layers_to_cells(work, program);
  return program;
}

}  // namespace

RankActions::RankActions(const RankDevice& device, ActionWork work, GpuProgram program)
    : work_(gpu_work(work)),
      program_(with_amounts(device, work_, std::move(program))),
      actions_(device.whole(), program_) {}

std::string RankActions::name() const { return penstock::name(work_); }

std::string RankActions::layers() const {
  const GpuLayerKind* const kind = layer_kind_of(work_);
  return kind == nullptr ? std::string() : shape_text(kind->numbers(program_.sizes));
}

}  // namespace penstock
