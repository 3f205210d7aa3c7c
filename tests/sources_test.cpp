#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include "tests/support/tree_rules.hpp"

// What sources must not say, wherever they stand.

namespace penstock::tree {
namespace {

namespace fs = std::filesystem;

const fs::path source_root = PENSTOCK_ROOT;

/// Calls `visit(path, text)` for each source below a folder.
void for_each_source(const std::string& folder, const std::set<std::string>& extensions,
                     const std::function<void(const fs::path&, const std::string&)>& visit) {
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(source_root / folder)) {
    if (!extensions.contains(entry.path().extension().string())) continue;
    std::ifstream stream(entry.path(), std::ios::binary);
    REQUIRE_MESSAGE(stream, entry.path().string());
    visit(entry.path(), {std::istreambuf_iterator<char>(stream), {}});
  }
}

}  // namespace

TEST_CASE("sources: the result of every property is checked") {
  for_each_source("tests", {".cpp"}, [](const fs::path& path, const std::string& text) {
    for (const std::size_t line : dropped_properties(text)) {
      FAIL_CHECK(fmt::format("{}:{}: write CHECK(rc::check(…))",
                             path.lexically_relative(source_root).generic_string(), line));
    }
  });
}

TEST_CASE(
    "sources: JSON of unknown origin is read by json_input alone, long traces by kineto_trace") {
  const std::regex parsing(R"(json::parse\([^;]*(read_file|nullptr))");
  for_each_source("experiments", {".cpp"}, [&](const fs::path& path, const std::string& text) {
    if (path.stem() == "json_input") return;
    CAPTURE(path);
    CHECK(text.find("json::accept(") == std::string::npos);
    CHECK((path.stem() == "kineto_trace" || text.find("sax_parse(") == std::string::npos));
    CHECK(!std::regex_search(text, parsing));
  });
}

TEST_CASE("sources: the clock of the day names dates alone, so its jumps change no measured time") {
  const std::set<std::string> dated = {"profile_rows.cpp", "calibrate.cpp", "check_steps.cpp"};
  const std::regex clock(
      R"(system_clock|CLOCK_REALTIME|gettimeofday|std::time\(|QDateTime|QTime\b|high_resolution_clock)");
  for (const char* folder :
       {"sim", "schedules", "hardware_models", "validate", "experiments", "gui"}) {
    for_each_source(
        folder, {".cpp", ".hpp", ".cu"}, [&](const fs::path& path, const std::string& text) {
          CAPTURE(path);
          CHECK(std::regex_search(text, clock) == dated.contains(path.filename().string()));
        });
  }
}

TEST_CASE(
    "sources: views of ranges are not used, for the clang of Debian 12 does not compile them") {
  for (const char* folder : {"sim", "schedules", "hardware_models", "validate", "experiments"}) {
    for_each_source(folder, {".cpp", ".hpp"}, [](const fs::path& path, const std::string& text) {
      CAPTURE(path);
      CHECK(text.find("views::") == std::string::npos);
    });
  }
}

}  // namespace penstock::tree
