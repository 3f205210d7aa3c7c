#include "experiments/input/scenario/repeats.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"

namespace penstock {

std::uint32_t repeats(const nlohmann::json& layer, const std::string& source, std::size_t before) {
  const auto times = layer.value("repeat", std::uint32_t{1});
  if (before + times <= Limits::layers) return times;
  throw InputError(
      source + "/repeat",
      fmt::format("these are more than {} layers in all, which is the most there can be",
                  Limits::layers));
}

}  // namespace penstock
