#include "validate/backends/multi/rank_actions.hpp"

#include <utility>

#include "validate/backends/cuda/measuring/gpu_amounts.hpp"
#include "validate/backends/gpu/gpu_job_program.hpp"

namespace penstock {
namespace {

GpuProgram with_amounts(const RankDevice& device, GpuWork work, GpuProgram program) {
  give_amounts(device.whole(), work, program);
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
