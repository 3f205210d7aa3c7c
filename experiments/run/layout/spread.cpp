#include "experiments/run/layout/spread.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/run/layout/training.hpp"
#include "hardware_models/times/roofline_time.hpp"

namespace penstock {
namespace {

constexpr double wider = 1.5;

/// Mean time of the kernels of all layers in F, I and W; 0: hosts launch whole graphs, or there are
/// no kernels.
double mean_kernel_us(const Layout& layout) {
  const HardwareSpec& spec = layout.hardware.spec;
  if (!spec.machine || spec.machine->device.kernel_issue_us == 0) return 0;
  const KernelTimes times(spec.machine->device, spec.precision);
  double us = 0, count = 0;
  for (const Layer& layer : layout.model.layers) {
    for (const Kernel& kernel : layer.work.kernels) {
      us += kernel.count * times.us(kernel);
      count += kernel.count;
    }
  }
  return count > 0 ? us / count : 0;
}

/// The fewest tokens that an expert multiplies at once; 0: no experts.
double fewest_tokens(const Layout& layout) {
  double fewest = 0;
  for (const Layer& layer : layout.model.layers) {
    for (const Kernel& kernel : layer.work.kernels) {
      const bool counts = kernel.grouped && kernel.kind == KernelKind::matrix &&
                          kernel.pass == Pass::forward && kernel.rows > 0;
      if (counts) fewest = fewest == 0 ? kernel.rows : std::min(fewest, kernel.rows);
    }
  }
  return fewest;
}

}  // namespace

RunSize size_of(const Layout& layout) {
  return {.devices = double(devices_of(layout)),
          .kernel_us = mean_kernel_us(layout),
          .expert_tokens = fewest_tokens(layout)};
}

RunSpread spread_of(const Confidence& confidence, const RunSize& size) {
  const FittedRange& fitted = confidence.fitted;
  RunSpread spread{.value = confidence.spread, .because = confidence.because, .beyond = {}};
  const auto widen = [&](bool beyond, const std::string& why) {
    if (!beyond) return;
    spread.value *= wider;
    spread.beyond.push_back(why);
  };
  widen(fitted.devices > 0 && size.devices > fitted.devices,
        fmt::format("{:.0f} devices, at most {:.0f} in fitted runs", size.devices, fitted.devices));
  widen(size.expert_tokens > 0 && size.expert_tokens < fitted.expert_tokens,
        fmt::format("{:.4g} tokens an expert, at least {:.4g} in fitted runs", size.expert_tokens,
                    fitted.expert_tokens));
  widen(size.kernel_us > 0 && size.kernel_us < fitted.kernel_us,
        fmt::format("{:.4g} us a kernel, at least {:.4g} in fitted runs", size.kernel_us,
                    fitted.kernel_us));
  if (size.kernel_us > 0 && size.kernel_us < short_kernel_us) {
    spread.longer = short_kernel_us / size.kernel_us;
    spread.beyond.push_back(
        fmt::format("hosts of other frameworks take up to {:.0f} us a kernel", short_kernel_us));
  }
  return spread;
}

RunSpread spread_of(const Layout& layout) {
  return spread_of(*layout.hardware.confidence, size_of(layout));
}

}  // namespace penstock
