#include "validate/backends/cuda/programs/gpu_program.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "experiments/measure/validation/validation.hpp"
#include "experiments/run/layout/layout.hpp"
#include "experiments/run/simulation.hpp"
#include "experiments/run/stage_formats.hpp"
#include "sim/base/error.hpp"
#include "validate/backends/gpu/gpu_backend.hpp"

namespace penstock {
namespace {

PricedPlan priced_order(const Layout& layout) {
  auto lowered = Simulation(layout).priced_order();
  if (const auto* finding = std::get_if<Finding>(&lowered)) throw UsageError(finding->text);
  return std::get<PricedPlan>(std::move(lowered));
}

}  // namespace

Job gpu_job(const Scenario& scenario) {
  const Layout layout = with_codecs(settle(scenario));
  if (layout.degrees.data > 1) throw UsageError("a GPU program has one data replica");
  if (layout.documents) throw UsageError("a GPU program has equal microbatches; leave /batch out");
  PricedPlan priced = priced_order(layout);
  const auto obstacle = gpu_obstacle(priced, nullptr);
  if (obstacle && !obstacle->of_machine) {
    throw UsageError(fmt::format("a GPU does not run {}", obstacle->text));
  }
  const std::uint32_t ranks = priced.plan.ranks;
  return job_of(std::move(priced), gpu_job_length(ranks));
}

std::string gpu_program_file(const Scenario& scenario) {
  const std::string name = std::filesystem::path(scenario.source).stem();
  return program_text({name.empty() ? "program" : name, gpu_program(gpu_job(scenario))});
}

}  // namespace penstock
