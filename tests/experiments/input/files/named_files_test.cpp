#include "experiments/input/files/named_files.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/program.hpp"
#include "tests/support/scratch.hpp"
#include "tests/support/small_scenarios.hpp"

namespace penstock::testing {
namespace {

/// Every place of a scenario that takes a path.
std::vector<std::string> settings_for(const std::string& path) {
  const std::string file = "{\"file\": \"" + path + "\"";
  return {"/schedule=" + file + "}",
          "/model=" + file + "}",
          "/partition=" + file + "}",
          "/hardware=" + file + ", \"devices\": 2}",
          "/model={\"command\": \"" + path + "\"}",
          "/hardware={\"name\": \"measured\", \"profile\": \"" + path + "\"}"};
}

}  // namespace

TEST_CASE("named files: of a file from elsewhere, no error prints what is in it") {
  const Scratch scratch;
  std::filesystem::create_directories(scratch.path("own"));
  scratch.file("own/s.json", scenario_plain);
  for (const char* secret : {"hunter2:x\nsecond\n", "{\"hunter2\": 1}", "{\"hunter2", "hunter2,3\n",
                             "[\"hunter2\"]", "'hunter2'"}) {
    CAPTURE(secret);
    scratch.file("secret", secret);
    for (const std::string& setting : settings_for("../secret")) {
      CAPTURE(setting);
      const ProgramRun run =
          run_penstock({"run", "own/s.json", "--set", setting}, scratch.path(""));
      CHECK(run.code == 3);
      CHECK(run.errors.find("own/../secret") != std::string::npos);
      CHECK(run.errors.find("hunter2") == std::string::npos);
    }
  }
}

TEST_CASE("named files: --confine takes paths below its folder, with links resolved") {
  const Scratch scratch;
  std::filesystem::create_directories(scratch.path("own/below"));
  scratch.file("own/s.json", scenario_plain);
  scratch.file("own/below/order.csv", "0F0,0B0\n1F0,1B0\n");
  scratch.file("order.csv", "0F0,0B0\n1F0,1B0\n");
  std::filesystem::create_symlink("../order.csv", scratch.path("own/link.csv"));
  std::filesystem::create_symlink("below/order.csv", scratch.path("own/inner.csv"));
  const auto code = [&](const std::string& order) {
    return run_penstock({"run", "own/s.json", "--confine", "own", "--set",
                         "/schedule={\"file\": \"" + order + "\"}"},
                        scratch.path(""))
        .code;
  };
  CHECK(code("below/order.csv") == 0);
  CHECK(code("inner.csv") == 0);
  CHECK(code("../own/below/order.csv") == 0);
  CHECK(code("../order.csv") == 3);
  CHECK(code("link.csv") == 3);
  CHECK(code(scratch.path("order.csv")) == 3);
  for (const std::string& setting : settings_for("../missing")) {
    CAPTURE(setting);
    const ProgramRun run =
        run_penstock({"run", "own/s.json", "--confine", "own", "--set", setting}, scratch.path(""));
    CHECK(run.code == 3);
    CHECK(run.errors.find("it leads out of own (--confine)") != std::string::npos);
  }
}

TEST_CASE("named files: quotes are left out from the first to the last") {
  CHECK(std::string(without_quotes(InputError("row 0", "\"a\" b \"c\" is none")).what()) ==
        "what is there is none");
  CHECK(std::string(without_quotes(InputError("row 0", "nothing")).what()) == "nothing");
  CHECK(leads_below("/usr", "/usr/bin/../lib"));
  CHECK(!leads_below("/usr/lib", "/usr/lib64"));
  CHECK(!leads_below("/usr/lib", "/usr/lib/../bin"));
}

}  // namespace penstock::testing
