#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

// The tables of READMEs are true: what their first column names is there. Links of all documents
// lead to files.

namespace penstock::testing {
namespace {

namespace fs = std::filesystem;

const fs::path readmes_root = PENSTOCK_ROOT;

/// What stands between backticks in the first column of the tables of a README.
std::vector<std::string> names_in(const std::string& readme) {
  std::vector<std::string> names;
  std::istringstream lines(readme);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| ")) continue;
    const std::string cell = line.substr(0, line.find(" | ", 2));
    for (std::size_t open = cell.find('`'); open != std::string::npos;) {
      const std::size_t close = cell.find('`', open + 1);
      if (close == std::string::npos) break;
      names.push_back(cell.substr(open + 1, close - open - 1));
      open = cell.find('`', close + 1);
    }
  }
  return names;
}

/// Whether a name of a table stands for a file: its own, or that of a header or a source.
bool stands_for(const std::string& name, const std::string& file) {
  const std::string bare = name.ends_with('/') ? name.substr(0, name.size() - 1) : name;
  return file == bare || file.substr(0, file.find('.')) == bare;
}

std::string content_of(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// The files and folders of a room.
std::set<std::string> entries_of(const fs::path& room) {
  std::set<std::string> entries;
  for (const fs::directory_entry& entry : fs::directory_iterator(room)) {
    entries.insert(entry.path().filename());
  }
  return entries;
}

/// READMEs beside sources.
std::vector<fs::path> rooms_with_readme() {
  std::vector<fs::path> rooms;
  for (const char* folder : {"sim", "schedules", "hardware_models", "validate", "experiments"}) {
    for (const fs::directory_entry& entry :
         fs::recursive_directory_iterator(readmes_root / folder)) {
      if (entry.path().filename() != "README.md") continue;
      const auto entries = entries_of(entry.path().parent_path());
      const bool has_sources = std::any_of(entries.begin(), entries.end(), [](const auto& name) {
        return name.ends_with(".cpp") || name.ends_with(".hpp");
      });
      if (has_sources) rooms.push_back(entry.path().parent_path());
    }
  }
  return rooms;
}

/// The paths that a document links to, without the places inside them.
std::vector<std::string> links_in(const std::string& document) {
  std::vector<std::string> links;
  for (std::size_t at = document.find("]("); at != std::string::npos;) {
    const std::size_t begin = at + 2, end = document.find_first_of(")#: \n", begin);
    if (end == std::string::npos) break;
    if (document[end] == ')' || document[end] == '#') {
      links.push_back(document.substr(begin, end - begin));
    }
    at = document.find("](", end);
  }
  return links;
}

std::vector<fs::path> documents() {
  std::vector<fs::path> all{readmes_root / "README.md", readmes_root / "CHANGELOG.md"};
  for (const char* folder :
       {"sim", "schedules", "hardware_models", "validate", "experiments", "gui", "tests"}) {
    for (const fs::directory_entry& entry :
         fs::recursive_directory_iterator(readmes_root / folder)) {
      if (entry.path().extension() == ".md") all.push_back(entry.path());
    }
  }
  return all;
}

TEST_CASE("documents: what they link to is there") {
  for (const fs::path& document : documents()) {
    for (const std::string& link : links_in(content_of(document))) {
      CHECK_MESSAGE(fs::exists(document.parent_path() / link),
                    fmt::format("{}: {}", document.string(), link));
    }
  }
}

TEST_CASE("readmes: what the tables of a room name is there") {
  for (const fs::path& room : rooms_with_readme()) {
    const auto entries = entries_of(room);
    for (const std::string& name : names_in(content_of(room / "README.md"))) {
      const bool is_there =
          std::any_of(entries.begin(), entries.end(),
                      [&](const std::string& file) { return stands_for(name, file); }) ||
          fs::exists(room / name);
      CHECK_MESSAGE(is_there, fmt::format("{}: {}", room.string(), name));
    }
  }
}

TEST_CASE("document rules: links are paths, without addresses of the web") {
  CHECK(links_in("[a](b/c.md), [d](e.md#f) [g](#h) [i](https://j.k/l) and `x[1](y z)`") ==
        std::vector<std::string>{"b/c.md", "e.md", ""});
}

TEST_CASE("readme rules: names are those of the first column, with or without an ending") {
  CHECK(names_in("`no`\n| here | is |\n|---|---|\n| `plan`, `lower.cpp` | see `tail` |\n") ==
        std::vector<std::string>{"plan", "lower.cpp"});
  CHECK(stands_for("plan", "plan.hpp"));
  CHECK(stands_for("plan.hpp", "plan.hpp"));
  CHECK(stands_for("papers/", "papers"));
  CHECK(!stands_for("plan", "planes.hpp"));
}

}  // namespace
}  // namespace penstock::testing
