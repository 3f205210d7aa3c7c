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
#include <string>
#include <utility>
#include <vector>

#include "tests/support/tree_rules.hpp"

// The rules of the tree: who may include whom, where each outside library is at home, and what
// stands at the top. The rules take text; tree_rules_test.cpp shows with wrong examples that each
// of them can fail.

namespace penstock::tree {
namespace {

namespace fs = std::filesystem;

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
  /// Wings that do not see each other: the order keeps the second from the first, this pair the
  /// first from the second.
  std::vector<std::pair<std::string, std::string>> apart = {};
};

const std::map<std::string, Rooms>& rooms() {
  static const std::map<std::string, Rooms> table = {
      {"sim", {{"base", "order", "model", "plan", "costs", "timeline", "engines", "report"}}},
      {"schedules",
       {{"patterns", "", "policies/choosing", "policies", "partitioners/problem",
         "partitioners/chain", "partitioners/graph", "partitioners/simulation", "partitioners",
         "search"}}},
      {"hardware_models",
       {{"collectives/rounds", "collectives", "topologies/machines", "topologies", "spec",
         "codecs/coding", "codecs", "codecs/reference", "layers/building", "layers", "links",
         "times", "", "model"}}},
      {"validate",
       {{"wire",
         "statistics",
         "kernels/steps",
         "kernels/images",
         "kernels",
         "machine",
         "backends/cuda/arithmetic",
         "backends/cuda/layers",
         "job",
         "comparison",
         "store",
         "transports",
         "launch/mpi",
         "launch",
         "training",
         "ranks",
         "probes/timing",
         "probes",
         "calibration",
         "calibration/gpu",
         "processes",
         "backends/cuda",
         "backends/cuda/programs",
         "backends/cuda/stages",
         "backends/cuda/running",
         "backends/cuda/measuring",
         "backends/cuda/check",
         "backends/gpu",
         "backends/nccl",
         "backends/multi",
         "backends"}}},
      {"experiments",
       {{"input/long_work",
         "input/files",
         "input/fields",
         "input/catalogue",
         "input/model_files",
         "input/profiles",
         "input/formats/graphs",
         "input/formats/transformers",
         "input/formats/megatron",
         "input/formats/torchtitan",
         "input/formats/traces",
         "input/formats",
         "input/formats/reading",
         "input/scenario",
         "input/orders",
         "run/layout",
         "run/batch",
         "run/timing",
         "run",
         "run/changes",
         "show/pictures",
         "show/pictures/lanes",
         "show/pictures/plots",
         "show/results",
         "show/explanation",
         "plan/order_search",
         "plan/planner/space",
         "plan/planner/bounds",
         "plan/planner",
         "plan/starter",
         "plan/changes",
         "plan/studies",
         "plan/cuts",
         "plan/sweeps/space",
         "plan/sweeps",
         "plan/sweeps/tables",
         "measure/gpu_probes",
         "measure/kernel_runs",
         "measure/measured_runs",
         "measure/torch_runs",
         "measure/calibration",
         "measure/comparison",
         "measure/causes",
         "measure/validation",
         "measure/reproduction",
         "program/help",
         "program/pages",
         "program/cluster",
         "program/commands/line",
         "program/commands",
         "program",
         "program/bench",
         "embedding",
         "python"},
        {"first_run", "version.hpp.in"},
        {{"measure", "plan"}}}},
      {"gui",
       {{"models/run", "models/tracks", "models/lanes", "models/view", "models/strips",
         "models/drawing", "models/facts", "models/change", "views/canvas", "views/panels",
         "views/output", "views/window", "program", "bench"}}},
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
       std::regex("(sim/(model/model_graph|costs/topology)|validate/statistics/bootstrap|"
                  "experiments/plan/sweeps/space/sweep_space)\\.cpp")},
      {std::regex("(Eigen|unsupported)/.*"), std::regex("(hardware_models/codecs|validate)/.*")},
      {std::regex("mpi\\.h"),
       std::regex(
           "experiments/program/cluster/dealing_mpi\\.cpp|validate/launch/mpi/.*_mpi\\.cpp")},
      {std::regex("cairo.*"), std::regex("experiments/show/pictures/.*")},
      {std::regex("CLI/.*"), std::regex("experiments/program/commands/.*")},
      {std::regex("valijson/.*"), std::regex("experiments/input/files/schema_check\\.cpp")},
      {std::regex("md4c\\.h"), std::regex("experiments/program/help/markdown\\.cpp")},
      {std::regex("muParser.*"), std::regex("experiments/measure/reproduction/formula\\.cpp")},
      {std::regex("zlib\\.h"),
       std::regex("experiments/input/files/byte_stream\\.cpp|tests/support/png\\.cpp")},
      {std::regex("protozero/.*"), std::regex("experiments/input/formats/chakra\\.cpp")},
      {std::regex("sqlite3.*"), std::regex("validate/store/database\\.cpp")},
      {std::regex("nanobind/.*"), std::regex("experiments/python/.*")},
      {std::regex("benchmark/.*"), std::regex("(experiments/program|gui)/bench/.*")},
      {std::regex("(simgrid|xbt)/.*"), std::regex("tests/oracle/.*")},
      {std::regex("coin/.*"), std::regex("tests/oracle/integer_program\\.cpp")},
      {std::regex("Q[A-Z].*|Qt.*"), std::regex("(gui|tests/gui)/views/.*|gui/(program|bench)/.*")},
      {std::regex("(cuda|nccl|cublasLt).*"),
       std::regex("validate/backends/cuda/.*\\.cuh?|tests/nccl/.*")},
      {std::regex("(doctest|rapidcheck).*"), std::regex("tests/.*")},
  };
  return table;
}

std::string folder_of(const std::string& file) { return file.substr(0, file.find('/')); }

std::string room_of(const std::string& file) {
  const std::string folder = folder_of(file);
  const std::string rest = file.substr(folder.size() + 1);
  const std::size_t slash = rest.rfind('/');
  return slash == std::string::npos ? "" : rest.substr(0, slash);
}

/// What is built with nvcc alone, so that it can be carried to a machine that has nothing else.
bool is_of_gpu_side(const std::string& file) { return file.starts_with("validate/backends/cuda/"); }

}  // namespace

Faults direction_faults(const Include& include) {
  const std::string from = folder_of(include.file);
  const std::string to = folder_of(include.name);
  if (from == to || !allowed.contains(to) || allowed.at(from).contains(to)) return {};
  const std::string known = fmt::format("{}", fmt::join(allowed.at(from), ", "));
  return {fault(include, fmt::format("{} may include {}", from,
                                     known.empty() ? "no other folder" : "only " + known))};
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
  for (const auto& [later, earlier] : rooms().at(folder).apart) {
    if (room_of(include.file).starts_with(later + "/") &&
        room_of(include.name).starts_with(earlier + "/")) {
      return {fault(include, fmt::format("{} does not see {}", later, earlier))};
    }
  }
  const auto from = std::find(order.begin(), order.end(), room_of(include.file));
  if (std::find(order.begin(), from + 1, room_of(include.name)) != from + 1) return {};
  return {fault(include, fmt::format("{} stands before it in {}; see rooms() in "
                                     "tests/tree_test.cpp",
                                     room_of(include.file), folder))};
}

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

Faults gpu_side_faults(const Include& include) {
  static const std::regex standard(
      "[a-z_0-9]+|(cuda|nccl|cublasLt).*|(dlfcn|signal|unistd|sys/wait)\\.h");
  if (!is_of_gpu_side(include.file)) return {};
  const bool own =
      include.quoted ? is_of_gpu_side(include.name) : std::regex_match(include.name, standard);
  if (own) return {};
  return {fault(include, "validate/backends/cuda needs nvcc and the C++ library alone")};
}

bool may_stand_at_top(const std::string& name, const std::string& ignored) {
  static const std::set<std::string> known = {
      "CHANGELOG.md", "CMakeLists.txt", "CMakePresets.json", "LICENSE",
      "README.md",    "cmake",          "pyproject.toml"};
  if (known.contains(name) || allowed.contains(name) || name.starts_with('.')) return true;
  return ("\n" + ignored + "\n").find("\n/" + name + "/\n") != std::string::npos;
}

namespace {

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
      if (extension != ".cpp" && extension != ".hpp" && extension != ".cu" && extension != ".cuh") {
        continue;
      }
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

}  // namespace

TEST_CASE("tree: a folder includes only the folders below it") { check_tree(direction_faults); }

TEST_CASE("tree: a room includes only the rooms before it") { check_tree(room_faults); }

TEST_CASE("tree: no files include each other in a circle") {
  std::vector<Include> own = includes_of_tree();
  std::erase_if(own, [](const Include& include) { return !include.quoted; });
  for (const auto& circle : circles(own)) FAIL_CHECK(fmt::format("{}", fmt::join(circle, " -> ")));
}

TEST_CASE("tree: every source stands in a room, and every room has a README") {
  static const std::set<std::string> sources = {".cpp", ".hpp", ".cu", ".cuh", ".in"};
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

}  // namespace penstock::tree
