#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

// The rules of the tree: who may include whom, where each outside library is at home, and what
// stands at the top. The rules take text, so that wrong examples show that each of them can fail.

namespace penstock {
namespace {

namespace fs = std::filesystem;

struct Include {
  std::string file;  // from the root, as are quoted names
  std::size_t line = 0;
  std::string name;
  bool quoted = false;
};

using Faults = std::vector<std::string>;

/// Which folders a folder may include beside itself.
const std::map<std::string, std::set<std::string>> allowed = {
    {"sim", {}},
    {"schedules", {"sim"}},
    {"hardware_models", {"sim"}},
    {"validate", {"sim", "hardware_models"}},
    {"experiments", {"sim", "schedules", "hardware_models", "validate"}},
    {"gui", {"sim", "experiments"}},
    {"tests", {"sim", "schedules", "hardware_models", "validate", "experiments", "gui"}},
};

/// The rooms of a folder, each of which may include those before it; "" is the folder itself. Files
/// at the top of a folder that is no room itself concern all of its rooms, and are listed.
struct Rooms {
  std::vector<std::string> order;
  std::set<std::string> at_top = {};
};

const std::map<std::string, Rooms>& rooms() {
  static const std::map<std::string, Rooms> table = {
      {"sim",
       {{"base", "order", "model", "plan", "costs", "timeline", "engines", "report", "rerun"}}},
      {"schedules",
       {{"patterns", "", "policies/choosing", "policies", "partitioners/problem",
         "partitioners/chain", "partitioners/graph", "partitioners/simulation", "partitioners",
         "search"}}},
      {"hardware_models",
       {{"collectives/rounds", "collectives", "topologies/machines", "topologies", "spec",
         "codecs/coding", "codecs", "codecs/reference", "layers/building", "layers", "links",
         "times", "", "model"}}},
      {"validate",
       {{"wire", "statistics", "kernels/steps", "kernels", "machine", "job", "comparison", "store",
         "transports", "training", "ranks", "probes/timing", "probes", "calibration", "processes",
         "backends/cuda", "backends/gpu", "backends"}}},
      {"experiments",
       {{"long_work",
         "files",
         "help",
         "pictures",
         "catalogue",
         "model_files",
         "profiles",
         "formats/graphs",
         "formats/transformers",
         "formats/megatron",
         "formats/traces",
         "formats",
         "formats/orders",
         "formats/reading",
         "scenario",
         "orders",
         "layout",
         "run",
         "order_search",
         "planner/space",
         "planner/bounds",
         "planner",
         "starter",
         "measured_runs",
         "torch_runs",
         "calibration",
         "studies",
         "results",
         "explanation",
         "comparison",
         "validation",
         "reproduction",
         "cuts",
         "sweeps/space",
         "sweeps",
         "sweeps/tables",
         "pages",
         "cluster",
         "commands/line",
         "commands",
         "program",
         "bench"},
        {"first_run", "version.hpp.in"}}},
      {"gui",
       {{"models/run", "models/lanes", "models/view", "models/drawing", "models/change",
         "views/canvas", "views/panels", "views/window", "program", "bench"}}},
  };
  return table;
}

struct Home {
  std::regex library;
  std::regex files;
};

/// Which files may include which outside library.
const std::vector<Home>& homes() {
  static const std::vector<Home> table = {
      {std::regex("nlohmann/json_fwd\\.hpp"), std::regex("(experiments|tests)/.*")},
      {std::regex("nlohmann/(?!json_fwd\\.hpp).*"), std::regex("(experiments|tests)/.*\\.cpp")},
      {std::regex("boost/.*"),
       std::regex(
           "(sim/(model/model_graph|costs/topology)|experiments/sweeps/space/sample)\\.cpp")},
      {std::regex("(Eigen|unsupported)/.*"), std::regex("(hardware_models/codecs|validate)/.*")},
      {std::regex("mpi\\.h"), std::regex("experiments/cluster/dealing_mpi\\.cpp")},
      {std::regex("cairo.*"), std::regex("experiments/pictures/.*")},
      {std::regex("CLI/.*"), std::regex("experiments/commands/.*")},
      {std::regex("valijson/.*"), std::regex("experiments/files/schema_check\\.cpp")},
      {std::regex("md4c\\.h"), std::regex("experiments/help/markdown\\.cpp")},
      {std::regex("muParser.*"), std::regex("experiments/reproduction/formula\\.cpp")},
      {std::regex("zlib\\.h"), std::regex("experiments/files/gzip\\.cpp")},
      {std::regex("protozero/.*"), std::regex("experiments/formats/chakra\\.cpp")},
      {std::regex("sqlite3.*"), std::regex("validate/store/database\\.cpp")},
      {std::regex("benchmark/.*"), std::regex("(experiments|gui)/bench/.*")},
      {std::regex("(simgrid|xbt)/.*"), std::regex("tests/oracle/.*")},
      {std::regex("Q[A-Z].*|Qt.*"), std::regex("(gui|tests/gui)/views/.*|gui/(program|bench)/.*")},
      {std::regex("(cuda|nccl).*"), std::regex("validate/backends/cuda/.*\\.cu")},
      {std::regex("(doctest|rapidcheck).*"), std::regex("tests/.*")},
  };
  return table;
}

std::string folder_of(const std::string& file) { return file.substr(0, file.find('/')); }

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

Faults direction_faults(const Include& include) {
  const std::string from = folder_of(include.file);
  const std::string to = folder_of(include.name);
  if (from == to || !allowed.contains(to) || allowed.at(from).contains(to)) return {};
  const std::string known = fmt::format("{}", fmt::join(allowed.at(from), ", "));
  return {fault(include, fmt::format("{} may include {}", from,
                                     known.empty() ? "no other folder" : "only " + known))};
}

std::string room_of(const std::string& file) {
  const std::string folder = folder_of(file);
  const std::string rest = file.substr(folder.size() + 1);
  const std::size_t slash = rest.rfind('/');
  return slash == std::string::npos ? "" : rest.substr(0, slash);
}

Faults room_faults(const Include& include) {
  const std::string folder = folder_of(include.file);
  if (!rooms().contains(folder) || folder_of(include.name) != folder) return {};
  const std::vector<std::string>& order = rooms().at(folder).order;
  const auto is_room = [&](const std::string& file) {
    return std::find(order.begin(), order.end(), room_of(file)) != order.end();
  };
  // What stands at the top concerns every room.
  if (!is_room(include.file) || (room_of(include.name).empty() && !is_room(include.name)))
    return {};
  const auto from = std::find(order.begin(), order.end(), room_of(include.file));
  if (std::find(order.begin(), from + 1, room_of(include.name)) != from + 1) return {};
  return {fault(include, fmt::format("{} stands before it in {}; see rooms() in "
                                     "tests/tree_test.cpp",
                                     room_of(include.file), folder))};
}

/// What a file is called without its ending: a header and its source are one.
std::string stem_of(const std::string& file) { return file.substr(0, file.rfind('.')); }

/// Files that include each other in a circle, by their names without ending: each circle once, in
/// the order of its includes.
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

/// Whether a folder has a place for a file: in one of its rooms, or listed at its top.
bool has_place(const std::string& folder, const std::string& room, const std::string& name) {
  static const std::set<std::string> everywhere = {"CMakeLists.txt", "README.md"};
  const Rooms& own = rooms().at(folder);
  const bool is_room = std::find(own.order.begin(), own.order.end(), room) != own.order.end();
  return is_room || (room.empty() && (everywhere.contains(name) || own.at_top.contains(name)));
}

Faults name_faults(const Include& include, const std::function<bool(const std::string&)>& exists) {
  if (!include.quoted) {
    if (!allowed.contains(folder_of(include.name))) return {};
    return {fault(include, "a file of the tree is included in quotes")};
  }
  const bool plain = fs::path(include.name).lexically_normal() == include.name;
  // A generated header stands in the tree as its template.
  if (plain && (exists(include.name) || exists(include.name + ".in"))) return {};
  return {fault(include, "no such file; name it from the root of the tree")};
}

Faults home_faults(const Include& include) {
  if (include.quoted && allowed.contains(folder_of(include.name))) return {};
  for (const Home& home : homes()) {
    if (std::regex_match(include.name, home.library) &&
        !std::regex_match(include.file, home.files)) {
      return {
          fault(include, "this library is at home elsewhere; see homes() in tests/tree_test.cpp")};
    }
  }
  return {};
}

/// What is built with nvcc alone, so that it can be carried to a machine that has nothing else.
bool is_of_gpu_side(const std::string& file) { return file.starts_with("validate/backends/cuda/"); }

/// Such a file has no outside library but CUDA, and nothing of the tree beside its own folder.
Faults gpu_side_faults(const Include& include) {
  static const std::regex standard("[a-z_0-9]+|(cuda|nccl).*");
  if (!is_of_gpu_side(include.file)) return {};
  const bool own =
      include.quoted ? is_of_gpu_side(include.name) : std::regex_match(include.name, standard);
  if (own) return {};
  return {fault(include, "validate/backends/cuda needs nvcc and the C++ library alone")};
}

/// Types that a header's text defines for all, by name. Two of one name would link, and one file
/// use the other's functions.
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

/// What stands at the top beside sources: hidden files, and what the text of .gitignore names.
bool may_stand_at_top(const std::string& name, const std::string& ignored) {
  static const std::set<std::string> known = {"CMakeLists.txt", "CMakePresets.json", "LICENSE",
                                              "README.md", "cmake"};
  if (known.contains(name) || allowed.contains(name) || name.starts_with('.')) return true;
  return ("\n" + ignored + "\n").find("\n/" + name + "/\n") != std::string::npos;
}

std::string read(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  REQUIRE_MESSAGE(stream, path.string());
  return {std::istreambuf_iterator<char>(stream), {}};
}

const fs::path root = PENSTOCK_ROOT;

std::vector<Include> includes_of_tree() {
  std::vector<Include> all;
  for (const auto& row : allowed) {
    const fs::path folder = root / row.first;
    if (!fs::exists(folder)) continue;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
      const std::string extension = entry.path().extension();
      if (extension != ".cpp" && extension != ".hpp" && extension != ".cu") continue;
      const std::string file = entry.path().lexically_relative(root).generic_string();
      std::ranges::copy(includes_of(file, read(entry.path())), std::back_inserter(all));
    }
  }
  return all;
}

void check_tree(const std::function<Faults(const Include&)>& rule) {
  const std::vector<Include> includes = includes_of_tree();
  REQUIRE(!includes.empty());
  for (const Include& include : includes) {
    for (const std::string& text : rule(include)) FAIL_CHECK(text);
  }
}

bool in_tree(const std::string& file) { return fs::is_regular_file(root / file); }

Include quoted(const std::string& file, const std::string& name) { return {file, 3, name, true}; }
Include angled(const std::string& file, const std::string& name) { return {file, 3, name, false}; }

TEST_CASE("tree: a folder includes only the folders below it") { check_tree(direction_faults); }

TEST_CASE("tree: a room includes only the rooms before it") { check_tree(room_faults); }

TEST_CASE("tree: no files include each other in a circle") {
  std::vector<Include> own = includes_of_tree();
  std::erase_if(own, [](const Include& include) { return !include.quoted; });
  for (const auto& circle : circles(own)) FAIL_CHECK(fmt::format("{}", fmt::join(circle, " -> ")));
}

TEST_CASE("tree: every source stands in a room, and every room has a README") {
  static const std::set<std::string> sources = {".cpp", ".hpp", ".cu", ".in"};
  for (const auto& [folder, own] : rooms()) {
    for (const std::string& room : own.order) {
      CHECK_MESSAGE(fs::exists(root / folder / room / "README.md"),
                    fmt::format("{}/{}", folder, room));
    }
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / folder)) {
      if (!entry.is_regular_file()) continue;
      const std::string file = entry.path().lexically_relative(root).generic_string();
      const std::string room = room_of(file);
      // Data stands in folders of its own.
      if (!room.empty() && !sources.contains(entry.path().extension())) continue;
      CHECK_MESSAGE(has_place(folder, room, entry.path().filename()), file);
    }
  }
}

TEST_CASE("tree: an include names an existing file from the root, in quotes") {
  check_tree([](const Include& include) { return name_faults(include, in_tree); });
}

TEST_CASE("tree: an outside library is included only where it is at home") {
  check_tree(home_faults);
}

TEST_CASE("tree: the GPU side needs nvcc and the C++ library alone") {
  check_tree(gpu_side_faults);
}

TEST_CASE("tree: headers of the program define each type once") {
  std::map<std::string, std::string> home;
  for (const auto& row : allowed) {
    if (row.first == "tests" || !fs::exists(root / row.first)) continue;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / row.first)) {
      if (entry.path().extension() != ".hpp") continue;
      const std::string file = entry.path().lexically_relative(root).generic_string();
      for (const std::string& type : types_of(read(entry.path()))) {
        const auto [known, is_new] = home.emplace(type, file);
        CHECK_MESSAGE(is_new, fmt::format("{} stands in {} and {}", type, known->second, file));
      }
    }
  }
  CHECK(home.at("Plan") == "sim/plan/plan.hpp");
}

TEST_CASE("tree: nothing unknown stands at the top") {
  const std::string ignored = read(root / ".gitignore");
  for (const fs::directory_entry& entry : fs::directory_iterator(root)) {
    const bool build_folder = fs::exists(entry.path() / "CMakeCache.txt");
    const std::string name = entry.path().filename();
    CHECK_MESSAGE((build_folder || may_stand_at_top(name, ignored)), name);
  }
}

TEST_CASE("tree rules: includes are found with their line, whatever their spacing") {
  const auto found = includes_of("sim/a.cpp",
                                 "// see #include <x>\n"
                                 "#include <vector>\n"
                                 "  #  include \"sim/a.hpp\"  // why\n"
                                 "#include\"gui/b.hpp\"\n");
  REQUIRE(found.size() == 3);
  CHECK(fault(found[0], "x") == "sim/a.cpp:2: <vector>: x");
  CHECK(fault(found[1], "x") == "sim/a.cpp:3: \"sim/a.hpp\": x");
  CHECK(fault(found[2], "x") == "sim/a.cpp:4: \"gui/b.hpp\": x");
}

TEST_CASE("tree rules: types that a header defines for all are found, others are not") {
  CHECK(types_of("struct A {\n  struct Inner {\nenum class B : int { x };\nclass C : public A {\n"
                 "struct D;\nstruct alignas(64) E {\nclass F final : A { int x; };\n") ==
        std::vector<std::string>{"A", "B", "C", "E", "F"});
}

TEST_CASE("tree rules: a wrong direction is a fault that names file, line and include") {
  CHECK(direction_faults(quoted("sim/a.cpp", "schedules/registry.hpp")) ==
        Faults{"sim/a.cpp:3: \"schedules/registry.hpp\": sim may include no other folder"});
  CHECK(direction_faults(quoted("validate/a.cpp", "experiments/run/run.hpp")) ==
        Faults{"validate/a.cpp:3: \"experiments/run/run.hpp\": validate may include only "
               "hardware_models, sim"});
  struct Example {
    std::string from;
    std::string to;
  };
  for (const Example& example : std::vector<Example>{{"schedules", "hardware_models"},
                                                     {"hardware_models", "schedules"},
                                                     {"validate", "schedules"},
                                                     {"experiments", "gui"},
                                                     {"experiments", "tests"},
                                                     {"gui", "schedules"},
                                                     {"gui", "validate"},
                                                     {"sim", "tests"}}) {
    CAPTURE(example.from);
    const std::string file = example.from + "/a.hpp";
    CHECK(direction_faults(quoted(file, example.to + "/b.hpp")).size() == 1);
    CHECK(direction_faults(quoted(file, example.from + "/deep/b.hpp")).empty());
    CHECK(direction_faults(quoted("tests/a.cpp", example.to + "/b.hpp")).empty());
  }
  CHECK(direction_faults(quoted("experiments/a.cpp", "validate/b.hpp")).empty());
  CHECK(direction_faults(angled("sim/a.cpp", "vector")).empty());
}

TEST_CASE("tree rules: an include of a later room is a fault, one of an earlier room is none") {
  CHECK(room_faults(quoted("sim/plan/a.cpp", "sim/report/b.hpp")) ==
        Faults{"sim/plan/a.cpp:3: \"sim/report/b.hpp\": plan stands before it in sim; see rooms() "
               "in tests/tree_test.cpp"});
  CHECK(room_faults(quoted("sim/report/a.cpp", "sim/plan/b.hpp")).empty());
  CHECK(room_faults(quoted("sim/plan/a.cpp", "sim/plan/b.hpp")).empty());
  CHECK(room_faults(quoted("schedules/patterns/a.cpp", "schedules/registry.hpp")).size() == 1);
  CHECK(room_faults(quoted("schedules/gpipe.cpp", "schedules/patterns/b.hpp")).empty());
  CHECK(room_faults(quoted("sim/plan/a.cpp", "sim/cellar/b.hpp")).size() == 1);
  CHECK(room_faults(quoted("validate/job/a.cpp", "sim/plan/b.hpp")).empty());
  CHECK(room_faults(quoted("experiments/run/a.cpp", "experiments/version.hpp")).empty());
}

TEST_CASE("tree rules: files that include each other are found, a header and its source are one") {
  CHECK(circles({quoted("a.cpp", "a.hpp"), quoted("a.hpp", "b.hpp"), quoted("c.cpp", "a.hpp")})
            .empty());
  CHECK(circles({quoted("a.cpp", "b.hpp"), quoted("b.cpp", "c.hpp"), quoted("c.hpp", "a.hpp")}) ==
        std::vector<std::vector<std::string>>{{"a", "b", "c"}});
}

TEST_CASE("tree rules: a file at the top of a folder is listed, or a fault") {
  CHECK(has_place("sim", "plan", "anything.cpp"));
  CHECK(has_place("experiments", "", "first_run"));
  CHECK(has_place("schedules", "", "gpipe.cpp"));
  CHECK(has_place("sim", "", "README.md"));
  CHECK(!has_place("sim", "", "plan.cpp"));
  CHECK(!has_place("experiments", "", "run.cpp"));
  CHECK(!has_place("sim", "cellar", "plan.cpp"));
}

TEST_CASE("tree rules: a name that is not from the root, not there, or in angles is a fault") {
  const auto exists = [](const std::string& file) {
    return file == "sim/plan/plan.hpp" || file == "experiments/version.hpp.in";
  };
  CHECK(name_faults(quoted("sim/a.cpp", "sim/plan/plan.hpp"), exists).empty());
  CHECK(name_faults(quoted("sim/a.cpp", "experiments/version.hpp"), exists).empty());
  CHECK(name_faults(angled("sim/a.cpp", "vector"), exists).empty());
  for (const char* name : {"plan.hpp", "../sim/plan.hpp", "sim/../sim/plan.hpp", "sim/plane.hpp"}) {
    CAPTURE(name);
    CHECK(name_faults(quoted("sim/a.cpp", name), exists).size() == 1);
  }
  CHECK(name_faults(angled("sim/a.cpp", "sim/plan/plan.hpp"), exists).size() == 1);
}

TEST_CASE("tree rules: a library away from home is a fault, whichever way it is included") {
  struct Example {
    const char* library;
    const char* home;
    const char* away;
  };
  for (const Example& example : std::vector<Example>{
           {"nlohmann/json.hpp", "experiments/files/files.cpp", "experiments/files/files.hpp"},
           {"nlohmann/json.hpp", "tests/sim/a_test.cpp", "sim/plan/plan.cpp"},
           {"nlohmann/json_fwd.hpp", "experiments/files/files.hpp", "schedules/registry.hpp"},
           {"boost/graph/adjacency_list.hpp", "sim/model/model_graph.cpp",
            "sim/model/model_graph.hpp"},
           {"Eigen/Core", "hardware_models/codecs/reference/codec.cpp",
            "hardware_models/roofline.cpp"},
           {"cairo/cairo.h", "experiments/pictures/canvas.cpp", "experiments/run/run.cpp"},
           {"cairo.h", "experiments/pictures/canvas.cpp", "gui/view.cpp"},
           {"CLI/CLI.hpp", "experiments/commands/run.cpp", "experiments/program/main.cpp"},
           {"valijson/schema.hpp", "experiments/files/schema_check.cpp",
            "experiments/scenario/scenario.cpp"},
           {"muParser.h", "experiments/reproduction/formula.cpp", "experiments/run/run.cpp"},
           {"zlib.h", "experiments/files/gzip.cpp", "experiments/files/files.cpp"},
           {"protozero/pbf_builder.hpp", "experiments/formats/chakra.cpp",
            "experiments/formats/chakra.hpp"},
           {"sqlite3.h", "validate/store/database.cpp", "validate/store/profile_store.cpp"},
           {"benchmark/benchmark.h", "experiments/bench/heap.cpp", "tests/main.cpp"},
           {"simgrid/s4u.hpp", "tests/oracle/flows.cpp", "sim/engines/fair_share.cpp"},
           {"QWidget", "gui/views/lanes.cpp", "experiments/run/run.cpp"},
           {"QtCore/QString", "gui/program/main.cpp", "gui/models/lanes/track.hpp"},
           {"cuda_runtime.h", "validate/backends/cuda/cuda_calls.cu",
            "validate/backends/gpu/gpu_backend.cpp"},
           {"cudaTypedefs.h", "validate/backends/cuda/a.cu", "validate/backends/cuda/a.hpp"},
           {"doctest/doctest.h", "tests/main.cpp", "sim/plan/plan.cpp"},
           {"rapidcheck.h", "tests/sim/a_test.cpp", "sim/plan/plan.cpp"}}) {
    CAPTURE(example.library);
    CAPTURE(example.away);
    CHECK(home_faults(angled(example.home, example.library)).empty());
    CHECK(home_faults(angled(example.away, example.library)).size() == 1);
    CHECK(home_faults(quoted(example.away, example.library)).size() == 1);
  }
  CHECK(home_faults(angled("sim/a.cpp", "queue")).empty());
}

TEST_CASE("tree rules: the GPU side includes itself, CUDA and the C++ library") {
  const std::string own = "validate/backends/cuda/a.cu";
  CHECK(gpu_side_faults(quoted(own, "validate/backends/cuda/a.hpp")).empty());
  CHECK(gpu_side_faults(angled(own, "cuda_runtime.h")).empty());
  CHECK(gpu_side_faults(angled(own, "vector")).empty());
  CHECK(gpu_side_faults(quoted(own, "sim/plan/plan.hpp")).size() == 1);
  CHECK(gpu_side_faults(quoted(own, "validate/job/backend.hpp")).size() == 1);
  CHECK(gpu_side_faults(angled(own, "fmt/format.h")).size() == 1);
  CHECK(gpu_side_faults(angled(own, "Eigen/Core")).size() == 1);
  CHECK(gpu_side_faults(angled("validate/backends/gpu/gpu_backend.cpp", "fmt/format.h")).empty());
}

TEST_CASE("tree rules: at the top stand sources, hidden files and ignored outputs") {
  const std::string ignored = "/build/\n/penstock-out/";
  for (const char* name :
       {"sim", "gui", "cmake", "README.md", ".github", "build", "penstock-out"}) {
    CAPTURE(name);
    CHECK(may_stand_at_top(name, ignored));
  }
  for (const char* name : {"src", "docs", "README", "build-2", "penstock", "NOTES.md"}) {
    CAPTURE(name);
    CHECK(!may_stand_at_top(name, ignored));
  }
}

}  // namespace
}  // namespace penstock
