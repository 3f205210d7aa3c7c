#include "experiments/program/help/pages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "experiments/input/files/json_input.hpp"
#include "experiments/input/scenario/scenario.hpp"

namespace penstock {
namespace {

using Json = nlohmann::ordered_json;

std::string about(const Json& schema) { return schema.value("description", ""); }

/// "- `zero`: what replicas shard (a whole number from 0 to 3)".
std::string item(const std::string& key, const Json& schema) {
  const std::string takes = taken_text(schema, scenario_schema());
  const std::string means = about(schema);
  return means.empty() ? fmt::format("- `{}`: {}\n", key, takes)
                       : fmt::format("- `{}`: {} ({})\n", key, means, takes);
}

/// The keys of an object and of the objects in it, by their pointers below the section.
void add_items(const Json& object, const std::string& place, std::string& text) {
  const Json properties = object.value("properties", Json::object());
  for (const auto& [key, schema] : properties.items()) {
    if (key == "description") continue;
    text += item(place + key, schema);
    add_items(schema, place + key + "/", text);
    if (schema.contains("items")) add_items(schema["items"], place + key + "/0/", text);
  }
  const Json others = object.value("additionalProperties", Json(false));
  if (others.is_object()) text += item(place + "…", others);
}

std::string page_of_schema(const Json& root) {
  std::string text =
      "# All keys of a scenario\n\n"
      "A scenario is a JSON file of these sections. `--set /section/key=value` changes one key. A "
      "section may have a `description`. `penstock schema scenario` prints the same as a schema.\n";
  for (const auto& [name, section] : root["properties"].items()) {
    if (!section.contains("properties")) continue;
    const std::string means = about(section);
    text += fmt::format("\n## /{}\n\n{}", name, means.empty() ? "" : means + "\n\n");
    add_items(section, "", text);
  }
  return text;
}

/// The page "scenario": every key of a scenario, what it takes and what it means. Markdown.
std::string_view scenario_page() {
  static const std::string text = page_of_schema(Json::parse(scenario_schema_text()));
  return text;
}

}  // namespace

std::span<const HelpPage> guides() {
  static const std::vector<HelpPage> all = [] {
    std::vector<HelpPage> pages(guide_files().begin(), guide_files().end());
    pages.push_back({"scenario", scenario_page()});
    std::ranges::sort(pages, [](const HelpPage& a, const HelpPage& b) { return a.name < b.name; });
    return pages;
  }();
  return all;
}

std::optional<HelpPage> find_page(std::span<const HelpPage> pages, std::string_view name) {
  const auto found =
      std::ranges::find_if(pages, [&](const HelpPage& page) { return page.name == name; });
  return found == pages.end() ? std::nullopt : std::optional(*found);
}

std::string title_of(const HelpPage& page) {
  const std::string_view line = page.text.substr(0, page.text.find('\n'));
  return std::string(line.substr(std::min(line.find_first_not_of("# "), line.size())));
}

}  // namespace penstock
