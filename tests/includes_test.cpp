#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

// Every file includes what it names, found in the text: a precompiled header or a unit of several
// files would hide an include that is missing.

namespace penstock::testing {
namespace {

namespace fs = std::filesystem;

const fs::path sources_root = PENSTOCK_ROOT;

/// Common names of the C++ library, and the headers that one of them must be included for.
const std::map<std::string, std::set<std::string>>& library_headers() {
  static const std::map<std::string, std::set<std::string>> table = {
      {"array", {"array"}},
      {"deque", {"deque"}},
      {"function", {"functional"}},
      {"map", {"map"}},
      {"mutex", {"mutex"}},
      {"optional", {"optional"}},
      {"set", {"set"}},
      {"shared_ptr", {"memory"}},
      {"span", {"span"}},
      {"string", {"string"}},
      {"string_view", {"string_view", "string"}},
      {"thread", {"thread"}},
      {"unique_ptr", {"memory"}},
      {"unordered_map", {"unordered_map"}},
      {"unordered_multimap", {"unordered_map"}},
      {"variant", {"variant"}},
      {"vector", {"vector"}},
  };
  return table;
}

/// A text without comments and literals, each of which leaves a blank.
std::string code_of(const std::string& text) {
  std::string code;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    if (text.compare(at, 2, "//") == 0) {
      end = text.find('\n', at);
    } else if (text.compare(at, 2, "R\"") == 0) {
      const std::size_t open = text.find('(', at);
      end = text.find(")" + text.substr(at + 2, open - at - 2) + "\"", open);
      if (end != std::string::npos) end = text.find('"', end) + 1;
    } else if (text[at] == '"' || (text[at] == '\'' && at > 0 && !std::isalnum(text[at - 1]))) {
      for (end = at + 1; end < text.size() && text[end] != text[at]; ++end) {
        if (text[end] == '\\') ++end;
      }
      ++end;
    }
    code += end == at ? text[at] : ' ';
    at = end == at ? at + 1 : std::min(end, text.size());
  }
  return code;
}

bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

struct Word {
  std::string text;
  std::string before;       // the word in front, where only blanks stand between
  bool qualified = false;   // behind "." or "::"
  bool of_library = false;  // behind "std::"
};

std::vector<Word> words_of(const std::string& code) {
  std::vector<Word> words;
  std::string last;
  for (std::size_t at = 0; at < code.size();) {
    if (!is_letter(code[at])) {
      if (!std::isspace(static_cast<unsigned char>(code[at]))) last.clear();
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < code.size() && is_letter(code[end])) ++end;
    const std::string text = code.substr(at, end - at);
    if (text == "alignas") {
      at = code.find(')', end) + 1;
      continue;
    }
    const bool qualified = at > 0 && (code[at - 1] == '.' || code[at - 1] == ':');
    words.push_back({text, last, qualified, at >= 5 && code.compare(at - 5, 5, "std::") == 0});
    last = text;
    at = end;
  }
  return words;
}

/// What a file says, as far as includes go.
struct Source {
  std::vector<std::string> includes;  // of the tree
  std::set<std::string> library;      // headers of the C++ library
  std::set<std::string> types;        // names that begin with a capital letter
  std::set<std::string> declared;     // types that it declares itself, if only by name
  std::set<std::string> of_library;   // what it names of std::
};

Source source_of(const std::string& text) {
  static const std::set<std::string> declares = {"struct", "class", "using"};
  Source source;
  const std::string code = code_of(text);
  for (std::size_t at = text.find("#include "); at != std::string::npos;
       at = text.find("#include ", at + 1)) {
    const std::size_t begin = at + 10;
    const std::string name = text.substr(begin, text.find_first_of("\">", begin) - begin);
    if (text[at + 9] == '"')
      source.includes.push_back(name);
    else
      source.library.insert(name);
  }
  for (const Word& word : words_of(code)) {
    if (word.of_library) source.of_library.insert(word.text);
    if (word.qualified || !std::isupper(static_cast<unsigned char>(word.text.front()))) continue;
    (declares.contains(word.before) ? source.declared : source.types).insert(word.text);
  }
  return source;
}

using Sources = std::map<std::string, Source>;

/// The file and all that it includes, directly or not.
std::set<std::string> read_by(const Sources& sources, const std::string& file) {
  std::set<std::string> all;
  std::vector<std::string> left{file};
  while (!left.empty()) {
    const std::string next = left.back();
    left.pop_back();
    const auto found = sources.find(next);
    if (found == sources.end() || !all.insert(next).second) continue;
    left.insert(left.end(), found->second.includes.begin(), found->second.includes.end());
  }
  return all;
}

/// Which headers declare a type, by its name.
std::map<std::string, std::set<std::string>> homes_of(const Sources& sources) {
  std::map<std::string, std::set<std::string>> homes;
  for (const auto& [file, source] : sources) {
    if (!file.ends_with(".hpp")) continue;
    for (const std::string& type : source.declared) homes[type].insert(file);
  }
  return homes;
}

/// What a file names whose header it does not include.
std::vector<std::string> missing_in(const Sources& sources, const std::string& file) {
  const auto homes = homes_of(sources);
  const Source& source = sources.at(file);
  const std::set<std::string> read = read_by(sources, file);
  const auto is_read = [&](const std::string& header) { return read.contains(header); };
  std::vector<std::string> missing;
  for (const std::string& type : source.types) {
    const auto home = homes.find(type);
    if (home == homes.end() || source.declared.contains(type)) continue;
    if (std::any_of(home->second.begin(), home->second.end(), is_read)) continue;
    missing.push_back(fmt::format("{}: {} is declared in {}", file, type, *home->second.begin()));
  }
  for (const std::string& name : source.of_library) {
    const auto known = library_headers().find(name);
    if (known == library_headers().end()) continue;
    const bool is_there = std::any_of(read.begin(), read.end(), [&](const std::string& header) {
      return std::any_of(
          known->second.begin(), known->second.end(),
          [&](const std::string& wanted) { return sources.at(header).library.contains(wanted); });
    });
    if (!is_there) missing.push_back(fmt::format("{}: std::{}", file, name));
  }
  return missing;
}

Sources sources_of_tree() {
  Sources sources;
  for (const char* folder : {"sim", "schedules", "hardware_models", "validate", "experiments"}) {
    for (const fs::directory_entry& entry :
         fs::recursive_directory_iterator(sources_root / folder)) {
      if (entry.path().extension() != ".cpp" && entry.path().extension() != ".hpp") continue;
      std::ifstream stream(entry.path(), std::ios::binary);
      const std::string text{std::istreambuf_iterator<char>(stream), {}};
      sources[entry.path().lexically_relative(sources_root).generic_string()] = source_of(text);
    }
  }
  return sources;
}

TEST_CASE("includes: every file includes what it names") {
  const Sources sources = sources_of_tree();
  REQUIRE(!sources.empty());
  for (const auto& [file, source] : sources) {
    for (const std::string& text : missing_in(sources, file)) FAIL_CHECK(text);
  }
}

TEST_CASE("include rules: comments and literals are no code") {
  CHECK(code_of("a // b\nc") == "a  \nc");
  CHECK(code_of("f(\"Plan \\\" x\", 'x', 1'000)") == "f( ,  , 1'000)");
  CHECK(code_of("R\"(Plan \")\" b") == "  b");
}

TEST_CASE("include rules: a name is missing until its header is included, by whatever way") {
  Sources sources;
  sources["a.hpp"] = source_of("struct Plan {};\n#include <vector>\n");
  sources["b.hpp"] = source_of("#include \"a.hpp\"\n");
  sources["c.cpp"] = source_of("Plan plan; std::vector<int> numbers;");
  CHECK(missing_in(sources, "c.cpp") ==
        std::vector<std::string>{"c.cpp: Plan is declared in a.hpp", "c.cpp: std::vector"});
  sources["c.cpp"] = source_of("#include \"b.hpp\"\nPlan plan; std::vector<int> numbers;");
  CHECK(missing_in(sources, "c.cpp").empty());
  sources["c.cpp"] = source_of("struct Plan; const Plan& plan();  // a std::vector");
  CHECK(missing_in(sources, "c.cpp").empty());
}

}  // namespace
}  // namespace penstock::testing
