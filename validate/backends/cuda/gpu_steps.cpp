#include "validate/backends/cuda/gpu_steps.hpp"

#include <algorithm>

#include "validate/backends/cuda/layers/host_run.hpp"

namespace penstock {

void run_on_host(const GpuLaunch& launch) {
  if (const auto* product = std::get_if<LayerProduct<Bf16>>(&launch)) return multiply(*product);
  std::visit([](const auto& kernel) { run_on_host(kernel); }, std::get<GpuStep>(launch).kernel);
}

std::uint64_t threads_of(const GpuStep& step) {
  return std::visit([](const auto& kernel) { return kernel.count * std::max(kernel.lanes, 1U); },
                    step.kernel);
}

}  // namespace penstock
