#include "experiments/program/help/pages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <vector>

#include "experiments/input/files/json_input.hpp"
#include "experiments/input/files/output_file.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/input/scenario/scenario.hpp"
#include "experiments/program/help/markdown.hpp"
#include "experiments/version.hpp"

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

/// Text as roff reads it: no line is taken for a request, no character for another.
std::string roff(std::string_view text) {
  std::string escaped;
  bool at_start = true;
  for (const char c : text) {
    if (at_start && (c == '.' || c == '\'')) escaped += "\\&";
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
    at_start = c == '\n';
  }
  return escaped;
}

std::string roff(const std::vector<TextRun>& runs) {
  std::string text;
  for (const TextRun& run : runs) {
    const std::string piece = roff(run.text);
    text += run.style == TextRun::Style::plain ? piece : "\\fB" + piece + "\\fR";
  }
  return text;
}

std::string as_it_is(std::string_view text) {
  return fmt::format(".PP\n.RS 4\n.nf\n{}.fi\n.RE\n", roff(text));
}

std::string block_roff(const PageBlock& block) {
  switch (block.kind) {
    case PageBlock::Kind::heading: {
      std::string title = plain_text(block.runs);
      std::transform(title.begin(), title.end(), title.begin(),
                     [](unsigned char c) { return std::toupper(c); });
      return fmt::format(".SH {}\n", roff(title));
    }
    case PageBlock::Kind::paragraph:
      return fmt::format(".PP\n{}\n", roff(block.runs));
    case PageBlock::Kind::item:
      return fmt::format(".IP \\(bu 2\n{}\n", roff(block.runs));
    case PageBlock::Kind::code:
      return as_it_is(plain_text(block.runs));
    case PageBlock::Kind::table:
      break;
  }
  return as_it_is(aligned(block.rows, {0}));
}

std::string head(const std::string& name, int section, std::string_view what) {
  return fmt::format(".TH \"{}\" {} \"\" \"penstock {}\"\n.\\\" {}\n.SH NAME\n{} \\- {}\n",
                     roff(name), section, version, own_mark, roff(name), roff(what));
}

std::string options_roff(const CommandHelp& help) {
  std::string text;
  for (const ArgumentInfo& argument : help.arguments) {
    text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(head_of(argument)), roff(argument.help));
  }
  for (const CommandHelp& sub : help.subcommands) {
    text +=
        fmt::format(".SS {}\n{}\n{}", roff(usage_of(sub)), roff(sub.summary), options_roff(sub));
  }
  return text;
}

/// The blocks of a page behind its title.
std::string body_roff(const HelpPage& page) {
  std::string text;
  bool is_title = true;
  bool has_section = false;
  for (const PageBlock& block : parse_markdown(page.text)) {
    const bool heading = block.kind == PageBlock::Kind::heading;
    if (!is_title && !heading && !has_section) text += ".SH DESCRIPTION\n";
    has_section = has_section || !is_title;
    if (!is_title) text += block_roff(block);
    is_title = false;
  }
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

std::string man_page(const CommandHelp& help, const HelpPage& page) {
  std::string name = help.name;
  std::replace(name.begin(), name.end(), ' ', '-');
  return head(name, 1, help.summary) +
         fmt::format(".SH SYNOPSIS\n\\fB{}\\fR\n.SH OPTIONS\n{}", roff(usage_of(help)),
                     options_roff(help)) +
         body_roff(page);
}

std::string man_page(const HelpPage& guide) {
  return head(fmt::format("penstock-{}", guide.name), 7, title_of(guide)) + body_roff(guide);
}

}  // namespace penstock
