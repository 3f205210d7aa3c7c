#include "tests/support/tree_rules.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

// Wrong examples show that each rule of the tree can fail.

namespace penstock::tree {
namespace {

Include quoted(const std::string& file, const std::string& name) { return {file, 3, name, true}; }
Include angled(const std::string& file, const std::string& name) { return {file, 3, name, false}; }

}  // namespace

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

TEST_CASE("tree rules: a property whose result is dropped is found, one that is used is not") {
  const std::string call = std::string("rc::") + "check([] {});\n";
  CHECK(dropped_properties("{\n  " + call + "  for (;;) " + call + call) ==
        std::vector<std::size_t>{2, 3, 4});
  CHECK(dropped_properties("CHECK(" + call + "bool holds =\n    " + call + "REQUIRE(\n  " + call)
            .empty());
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
  CHECK(room_faults(
            quoted("experiments/measure/validation/a.cpp", "experiments/plan/sweeps/b.hpp")) ==
        Faults{"experiments/measure/validation/a.cpp:3: \"experiments/plan/sweeps/b.hpp\": measure "
               "does not see plan"});
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
           {"nlohmann/json.hpp", "experiments/input/files/files.cpp",
            "experiments/input/files/files.hpp"},
           {"nlohmann/json.hpp", "tests/sim/a_test.cpp", "sim/plan/plan.cpp"},
           {"nlohmann/json_fwd.hpp", "experiments/input/files/files.hpp", "schedules/registry.hpp"},
           {"boost/graph/adjacency_list.hpp", "sim/model/model_graph.cpp",
            "sim/model/model_graph.hpp"},
           {"Eigen/Core", "hardware_models/codecs/reference/codec.cpp",
            "hardware_models/roofline.cpp"},
           {"cairo/cairo.h", "experiments/show/pictures/canvas.cpp", "experiments/run/run.cpp"},
           {"cairo.h", "experiments/show/pictures/canvas.cpp", "gui/view.cpp"},
           {"CLI/CLI.hpp", "experiments/program/commands/run.cpp", "experiments/program/main.cpp"},
           {"valijson/schema.hpp", "experiments/input/files/schema_check.cpp",
            "experiments/input/scenario/scenario.cpp"},
           {"muParser.h", "experiments/measure/reproduction/formula.cpp",
            "experiments/run/run.cpp"},
           {"zlib.h", "experiments/input/files/byte_stream.cpp", "experiments/input/files/files.cpp"},
           {"protozero/pbf_builder.hpp", "experiments/input/formats/chakra.cpp",
            "experiments/input/formats/chakra.hpp"},
           {"sqlite3.h", "validate/store/database.cpp", "validate/store/profile_store.cpp"},
           {"benchmark/benchmark.h", "experiments/program/bench/heap.cpp", "tests/main.cpp"},
           {"simgrid/s4u.hpp", "tests/oracle/flows.cpp", "sim/engines/fair_share.cpp"},
           {"QWidget", "gui/views/lanes.cpp", "experiments/run/run.cpp"},
           {"QtCore/QString", "gui/program/main.cpp", "gui/models/tracks/track.hpp"},
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

}  // namespace penstock::tree
