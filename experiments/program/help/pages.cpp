#include "experiments/program/help/pages.hpp"

#include <algorithm>

namespace penstock {

std::optional<HelpPage> find_page(std::span<const HelpPage> pages, std::string_view name) {
  const auto found =
      std::find_if(pages.begin(), pages.end(), [&](const HelpPage& page) { return page.name == name; });
  return found == pages.end() ? std::nullopt : std::optional(*found);
}

std::string title_of(const HelpPage& page) {
  const std::string_view line = page.text.substr(0, page.text.find('\n'));
  return std::string(line.substr(std::min(line.find_first_not_of("# "), line.size())));
}

}  // namespace penstock
