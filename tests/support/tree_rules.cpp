#include "tests/support/tree_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <sstream>

// What needs no table of the tree; the others are in tests/tree_test.cpp.

namespace penstock::tree {
namespace {

/// What a file is called without its ending: a header and its source are one.
std::string stem_of(const std::string& file) { return file.substr(0, file.rfind('.')); }

}  // namespace

std::string fault(const Include& include, const std::string& what) {
  return fmt::format("{}:{}: {}{}{}: {}", include.file, include.line, include.quoted ? '"' : '<',
                     include.name, include.quoted ? '"' : '>', what);
}

std::vector<Include> includes_of(const std::string& file, const std::string& text) {
  static const std::regex pattern(R"(\s*#\s*include\s*([<"])([^>"]+)[>"].*)");
  std::vector<Include> includes;
  std::istringstream lines(text);
  std::smatch match;
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (std::regex_match(line, match, pattern)) {
      includes.push_back({file, number, match[2], match[1] == "\""});
    }
  }
  return includes;
}

std::vector<std::vector<std::string>> circles(const std::vector<Include>& includes) {
  std::map<std::string, std::set<std::string>> reads;
  for (const Include& include : includes) {
    if (stem_of(include.file) != stem_of(include.name)) {
      reads[stem_of(include.file)].insert(stem_of(include.name));
    }
  }
  std::vector<std::vector<std::string>> found;
  std::set<std::string> done;
  std::vector<std::string> way;
  const std::function<void(const std::string&)> visit = [&](const std::string& file) {
    if (const auto on_way = std::find(way.begin(), way.end(), file); on_way != way.end()) {
      found.emplace_back(on_way, way.end());
    } else if (!done.contains(file)) {
      way.push_back(file);
      for (const std::string& next : reads[file]) visit(next);
      way.pop_back();
      done.insert(file);
    }
  };
  std::vector<std::string> files;
  for (const auto& [file, read] : reads) files.push_back(file);
  for (const std::string& file : files) visit(file);
  return found;
}

std::vector<std::string> types_of(const std::string& text) {
  static const std::regex pattern(
      R"((?:struct|class|enum class)(?: alignas\(\d+\))? (\w+)(?: final)?(?: ?:[^;{]*)? *\{.*)");
  std::vector<std::string> types;
  std::istringstream lines(text);
  std::smatch match;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_match(line, match, pattern)) types.push_back(match[1]);
  }
  return types;
}

std::vector<std::size_t> dropped_properties(const std::string& text) {
  static const std::string call = "rc::check";
  std::vector<std::size_t> lines;
  for (std::size_t at = text.find(call + '('); at != std::string::npos;
       at = text.find(call + '(', at + 1)) {
    const std::size_t before = at == 0 ? at : text.find_last_not_of(" \n", at - 1);
    const bool used =
        at > 0 && before != std::string::npos && (text[before] == '(' || text[before] == '=');
    if (used) continue;
    const auto begin = text.begin();
    lines.push_back(1 + static_cast<std::size_t>(
                            std::count(begin, begin + static_cast<std::ptrdiff_t>(at), '\n')));
  }
  return lines;
}

}  // namespace penstock::tree
