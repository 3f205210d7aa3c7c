#include "experiments/input/orders/torch_version.hpp"

#include <fmt/format.h>

namespace penstock {

std::string_view name(TorchVersion version) {
  constexpr std::array<std::string_view, torch_versions.size()> names{"2.9", "2.14", "2.15"};
  return names[static_cast<std::size_t>(version)];
}

std::optional<TorchVersion> torch_version(std::string_view text) {
  for (const TorchVersion version : torch_versions) {
    if (text == name(version) || text.starts_with(fmt::format("{}.", name(version)))) {
      return version;
    }
  }
  return std::nullopt;
}

std::string why_not_loadable(const Schedule& schedule, const Placement& placement) {
  if (placement.chains().size() > 1) {
    return fmt::format(
        "it trains {} copies of the model, and PyTorch's runtime has one chain of "
        "stages",
        placement.chains().size());
  }
  if (!schedule.has_backward()) {
    return "it has no backwards, and PyTorch's loader requires one for each microbatch and stage";
  }
  return "";
}

std::string why_trained_otherwise(std::uint32_t slices, WeightUse weights) {
  if (slices > 1) {
    return fmt::format("the {} slices of a sequence would run as microbatches of their own",
                       slices);
  }
  if (weights != WeightUse::flushed) {
    return "weights would change once, at the end of the iteration, and not within it";
  }
  return "";
}

}  // namespace penstock
