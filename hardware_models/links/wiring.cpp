#include "hardware_models/links/wiring.hpp"

#include <fmt/format.h>

#include <charconv>

#include "sim/base/error.hpp"

namespace penstock {

std::optional<std::uint32_t> number_in(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || std::to_string(value) != text) return std::nullopt;
  return value;
}

std::map<std::string, std::uint32_t> numbers_by_name(const std::vector<NetworkLink>& links) {
  std::map<std::string, std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < links.size(); ++i) {
    const auto [found, is_new] = numbers.try_emplace(links[i].name, i);
    if (is_new) continue;
    throw InputError(fmt::format("/hardware/links/{}/name", i),
                     fmt::format("\"{}\" is already the name of link {}; names must be unique",
                                 links[i].name, found->second));
  }
  return numbers;
}

Wiring wiring_of(const HardwareSpec& spec) {
  if (spec.topology && (!spec.links.empty() || !spec.routes.empty())) {
    throw InputError("/hardware/topology",
                     "conflicts with \"links\" or \"routes\"; give either a topology or links");
  }
  if (spec.topology) return wiring_by_kind(spec);
  if (spec.links.empty()) {
    throw InputError("/hardware",
                     "custom hardware has no links; give \"links\" with \"routes\", "
                     "\"links\" with \"from\" and \"to\", or a \"topology\"");
  }
  return spec.routes.empty() ? wiring_by_ends(spec) : wiring_by_routes(spec);
}

}  // namespace penstock
