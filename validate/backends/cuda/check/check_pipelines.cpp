#include "validate/backends/cuda/check/check_steps.hpp"
#include "validate/backends/cuda/gpu_owners.hpp"
#include "validate/backends/cuda/measuring/gpu_trials.hpp"
#include "validate/backends/cuda/programs/gpu_pipeline.hpp"

namespace penstock {
namespace {

std::uint64_t tensor_bytes(const CheckRun& run) {
  return std::uint64_t{1} << (run.quick ? 10 : 20);
}

constexpr GpuOrdering all_orderings[] = {GpuOrdering::host_graphs, GpuOrdering::graph,
                                         GpuOrdering::host_issued};

NamedProgram named_pipeline(const GpuPipeline& pipeline) {
  return {"1f1b_p" + std::to_string(pipeline.ranks) + "_m" + std::to_string(pipeline.microbatches),
          one_f_one_b(pipeline)};
}

/// With each ordering.
void record_pipeline(const CheckRun& run, const NamedProgram& named) {
  const GpuDevice device(run.calls, named.program.ranks, named.program.links);
  for (const GpuOrdering ordering : all_orderings) {
    record_program(run, device, named, {.ordering = ordering});
  }
}

/// F and B of each rank have bodies of their own, since ranks may have different SMs.
NamedProgram with_amounts(const GpuDevice& device, NamedProgram named, GpuWork work) {
  GpuProgram& program = named.program;
  for (GpuTask& task : program.tasks) {
    if (!program.is_transfer(task)) task.body = 2 * task.lane + (task.body % 2);
  }
  for (std::uint32_t body = 0; body < 2 * program.ranks; ++body) {
    program.bodies.push_back({.pass = body % 2 == 0 ? GpuPass::forward : GpuPass::backward});
  }
  give_amounts(device, work, program);
  return named;
}

}  // namespace

void check_pipelines(const CheckRun& run) {
  for (const std::uint32_t ranks : rank_counts(run)) {
    for (const std::uint32_t times : {1U, 2U, 4U}) {
      record_pipeline(run, named_pipeline({.ranks = ranks,
                                           .microbatches = times * ranks,
                                           .transfer_bytes = tensor_bytes(run)}));
    }
    NamedProgram free =
        named_pipeline({.ranks = ranks, .microbatches = 2 * ranks, .transfer_ns = 0});
    free.name += "_free_transfers";
    record_pipeline(run, free);
  }
}

void check_programs(const CheckRun& run) {
  for (const NamedProgram& named : run.programs) {
    const GpuProgram& program = named.program;
    const GpuDevice device(run.calls, program.ranks, program.links, work_of_ranks(program));
    for (const GpuOrdering ordering : all_orderings) {
      record_program(run, device, named, {.ordering = ordering});
    }
  }
}

void check_body(const CheckRun& run, GpuWork work, std::uint32_t ranks) {
  GpuPipeline pipeline{
      .ranks = ranks, .microbatches = 2 * ranks, .transfer_bytes = tensor_bytes(run)};
  if (run.quick && layer_kind_of(work) != nullptr) pipeline.forward_ns = 100;  // of a few layers
  NamedProgram plain = named_pipeline(pipeline);
  plain.program.sizes = layer_sizes(run);
  const GpuDevice device(run.calls, ranks, plain.program.links);
  NamedProgram named;
  try {
    named = with_amounts(device, plain, work);
  } catch (const GpuError& error) {  // a body that does not run here says nothing of the others
    run.output.facts("fault",
                     {{"program", json(plain.name)},
                      {"bodies", json(name(work))},
                      {"fault", json(std::string(error.what()))}},
                     true);
    return;
  }
  for (const GpuOrdering ordering : {GpuOrdering::host_graphs, GpuOrdering::graph}) {
    record_program(run, device, named, {.ordering = ordering});
  }
}

void check_bodies(const CheckRun& run) {
  for (const GpuWork work : {GpuWork::flops, GpuWork::bytes}) {
    for (const std::uint32_t ranks : rank_counts(run)) check_body(run, work, ranks);
  }
}

void check_bounce(const CheckRun& run) {
  for (const std::uint32_t ranks : rank_counts(run)) {
    NamedProgram named = named_pipeline({.ranks = ranks,
                                         .microbatches = 2 * ranks,
                                         .transfer_ns = 0,
                                         .transfer_bytes = 16 * tensor_bytes(run)});
    named.name += "_16MiB";
    const GpuDevice device(run.calls, ranks, named.program.links);
    for (const GpuOrdering ordering : {GpuOrdering::host_graphs, GpuOrdering::graph}) {
      record_program(run, device, named, {.ordering = ordering, .links = GpuLinkKind::host});
    }
  }
}

void check_layer_bodies(const CheckRun& run) {
  if (*run.calls.why_no_products() != '\0') return;
  for (const GpuLayerKind& kind : layer_kinds()) {
    for (const std::uint32_t ranks : rank_counts(run)) check_body(run, kind.work, ranks);
  }
}

/// Files without passes of stages say nothing of layers.
void check_layer_programs(const CheckRun& run) {
  if (*run.calls.why_no_products() != '\0') return;
  for (NamedProgram named : run.programs) {
    GpuProgram& program = named.program;
    if (program.bodies.empty()) continue;
    program.sizes = layer_sizes(run);
    const GpuDevice device(run.calls, program.ranks, program.links, work_of_ranks(program));
    give_amounts(device, GpuWork::transformer, program);
    for (const GpuOrdering ordering : {GpuOrdering::host_graphs, GpuOrdering::graph}) {
      record_program(run, device, named, {.ordering = ordering});
    }
  }
}

}  // namespace penstock
