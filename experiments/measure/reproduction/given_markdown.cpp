#include <optional>

#include "experiments/input/files/plain_text.hpp"
#include "experiments/measure/reproduction/given_constants.hpp"

namespace penstock {
namespace {

/// The rest of a line after its beginning.
std::optional<std::string_view> after(std::string_view line, std::string_view beginning) {
  if (!line.starts_with(beginning)) return std::nullopt;
  return line.substr(beginning.size());
}

/// Adds "name = 1.2 unit" to a set, and what is in front of the name to its group.
void take_constant(std::string_view text, GivenSet& set) {
  const std::size_t equals = text.find(" = ");
  if (equals == std::string_view::npos) return;
  std::string_view name = text.substr(0, equals);
  if (const std::size_t colon = name.rfind(": "); colon != std::string_view::npos) {
    set.apart = name.substr(0, colon);
    name.remove_prefix(colon + 2);
  }
  const std::string_view value = text.substr(equals + 3);
  if (const auto number = plain_number(value.substr(0, value.find(' ')))) {
    set.values[std::string(name)] = *number;
  }
}

/// "- group: one = 1.2 unit, two = 3 (fitted to 5 rows, 1 % off)".
GivenSet set_of_line(std::string_view line, std::string_view table, std::string_view judgement) {
  GivenSet set{std::string(table), std::string(judgement), {}, {}};
  line = line.substr(0, line.rfind(" (fitted to "));
  while (!line.empty()) {
    const std::size_t comma = line.find(", ");
    take_constant(line.substr(0, comma), set);
    line.remove_prefix(comma == std::string_view::npos ? line.size() : comma + 2);
  }
  return set;
}

}  // namespace

std::vector<GivenSet> sets_of_markdown(std::string_view text) {
  std::vector<GivenSet> sets;
  std::string_view table, judgement;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (const auto title = after(line, "## ")) table = title->substr(0, title->find(": "));
    if (const auto name = after(line, "### ")) judgement = *name;
    const auto item = after(line, "- ");
    if (!item || item->find(" (fitted to ") == std::string_view::npos) continue;
    GivenSet set = set_of_line(*item, table, judgement);
    if (!set.values.empty()) sets.push_back(std::move(set));
  }
  return sets;
}

}  // namespace penstock
