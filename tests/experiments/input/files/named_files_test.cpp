#include "experiments/input/files/named_files.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/program.hpp"
#include "tests/support/says.hpp"
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
  const Desk desk;
  std::filesystem::create_directories(desk.path("own"));
  desk.file("own/s.json", scenario_plain);
  for (const char* secret : {"hunter2:x\nsecond\n", "{\"hunter2\": 1}", "{\"hunter2", "hunter2,3\n",
                             "[\"hunter2\"]", "'hunter2'"}) {
    CAPTURE(secret);
    desk.file("secret", secret);
    for (const std::string& setting : settings_for("../secret")) {
      CAPTURE(setting);
      const ProgramRun run = desk.run({"run", "own/s.json", "--set", setting});
      CHECK(run.code == 3);
      CHECK(says(run.errors, "own/../secret"));
      CHECK(!says(run.errors, "hunter2"));
    }
  }
}

TEST_CASE("named files: --confine takes paths below its folder, with links resolved") {
  const Desk desk;
  std::filesystem::create_directories(desk.path("own/below"));
  desk.file("own/s.json", scenario_plain);
  desk.file("own/below/order.csv", "0F0,0B0\n1F0,1B0\n");
  desk.file("order.csv", "0F0,0B0\n1F0,1B0\n");
  std::filesystem::create_symlink("../order.csv", desk.path("own/link.csv"));
  std::filesystem::create_symlink("below/order.csv", desk.path("own/inner.csv"));
  const auto code = [&](const std::string& order) {
    return desk
        .run({"run", "own/s.json", "--confine", "own", "--set",
              "/schedule={\"file\": \"" + order + "\"}"})
        .code;
  };
  CHECK(code("below/order.csv") == 0);
  CHECK(code("inner.csv") == 0);
  CHECK(code("../own/below/order.csv") == 0);
  CHECK(code("../order.csv") == 3);
  CHECK(code("link.csv") == 3);
  CHECK(code(desk.path("order.csv")) == 3);
  for (const std::string& setting : settings_for("../missing")) {
    CAPTURE(setting);
    const ProgramRun run = desk.run({"run", "own/s.json", "--confine", "own", "--set", setting});
    CHECK(run.code == 3);
    CHECK(says(run.errors, "it leads out of own (--confine)"));
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
