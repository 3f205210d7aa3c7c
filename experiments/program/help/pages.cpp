#include "experiments/program/help/pages.hpp"

#include <algorithm>
#include <vector>

#include "experiments/program/help/key_page.hpp"

namespace penstock {

std::span<const HelpPage> guides() {
  static const std::vector<HelpPage> all = [] {
    std::vector<HelpPage> pages(guide_files().begin(), guide_files().end());
    pages.push_back({"scenario", scenario_page()});
    std::sort(pages.begin(), pages.end(),
              [](const HelpPage& a, const HelpPage& b) { return a.name < b.name; });
    return pages;
  }();
  return all;
}

std::optional<HelpPage> find_page(std::span<const HelpPage> pages, std::string_view name) {
  const auto found = std::find_if(pages.begin(), pages.end(),
                                  [&](const HelpPage& page) { return page.name == name; });
  return found == pages.end() ? std::nullopt : std::optional(*found);
}

std::string title_of(const HelpPage& page) {
  const std::string_view line = page.text.substr(0, page.text.find('\n'));
  return std::string(line.substr(std::min(line.find_first_not_of("# "), line.size())));
}

}  // namespace penstock
