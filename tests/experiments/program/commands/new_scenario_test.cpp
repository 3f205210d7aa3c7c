#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "experiments/input/scenario/document.hpp"
#include "tests/support/program.hpp"
#include "tests/support/says.hpp"
#include "tests/support/scratch.hpp"

namespace penstock::testing {
namespace {

namespace fs = std::filesystem;

const std::string llama = std::string(PENSTOCK_ROOT) + "/experiments/models/llama-3.1-8b.json";

/// A folder with a model in models/ and an empty out/.
struct StarterFolder : Desk {
  StarterFolder() {
    fs::create_directories(path("models"));
    fs::create_directories(path("out"));
    fs::copy_file(llama, path("models/llama.json"));
  }
};

TEST_CASE("new alone writes a scenario that runs") {
  const StarterFolder folder;
  const ProgramRun made = folder.run({"new"});
  CHECK(made.code == 0);
  CHECK(made.errors.empty());
  folder.file("my.json", made.output);
  CHECK(folder.run({"run", "my.json"}).code == 0);
  CHECK(folder.run({"new", "-o", "same.json"}).output.empty());
  CHECK(content_of(folder.path("same.json")) == made.output);
}

TEST_CASE("new names the model as seen from where the scenario will be") {
  const StarterFolder folder;
  const std::vector<std::string> asked{
      "new", "--model", "models/llama.json", "--hardware", "dgx-h100", "--devices", "8"};
  const ProgramRun here = folder.run(asked);
  CHECK(here.code == 0);
  CHECK(here.errors.starts_with("penstock: judged "));
  CHECK(nlohmann::json::parse(here.output)["model"]["file"] == "models/llama.json");
  folder.file("my.json", here.output);
  CHECK(folder.run({"run", "my.json"}).code == 0);

  CHECK(folder.run(with_words(asked, {"-o", "out/my.json"})).code == 0);
  const auto document = nlohmann::json::parse(content_of(folder.path("out/my.json")));
  CHECK(document["model"]["file"] == "../models/llama.json");
  CHECK(folder.run({"run", "out/my.json"}).code == 0);
}

TEST_CASE("new takes a machine by its file, as run does") {
  const StarterFolder folder;
  const std::string machines = std::string(PENSTOCK_ROOT) + "/hardware_models/catalogue/";
  auto machine = nlohmann::json::parse(content_of(machines + "dgx-h100.json"));
  machine["name"] = "mine";
  fs::create_directories(folder.path("hw"));
  folder.file("hw/mine.json", machine.dump());
  std::vector<std::string> asked{"new",        "--model",      "models/llama.json",
                                 "--hardware", "hw/mine.json", "--devices",
                                 "8",          "-o",           "out/my.json"};
  const ProgramRun made = folder.run(asked);
  CHECK(made.errors.starts_with("penstock: judged "));
  CHECK(made.code == 0);
  const auto document = nlohmann::json::parse(content_of(folder.path("out/my.json")));
  CHECK(document["hardware"]["file"] == "../hw/mine.json");
  CHECK_FALSE(document["hardware"].contains("name"));
  CHECK(folder.run({"run", "out/my.json"}).code == 0);
  // The same machine by its name gives the same layout.
  asked[4] = "dgx-h100";
  CHECK(folder.run(asked).errors == made.errors);

  fs::copy_file(machines + "h100-sxm5-80gb.json", folder.path("hw/device.json"));
  asked[4] = "hw/device.json";
  const ProgramRun device = folder.run(asked);
  CHECK(device.code == 3);
  CHECK(device.errors ==
        "penstock: error: hw/device.json: \"h100-sxm5-80gb\" is a device alone; --hardware needs a "
        "machine, which joins devices by links\n");
  asked[4] = "hw/none.json";
  CHECK(folder.run(asked).errors ==
        "penstock: error: hw/none.json: cannot open: No such file or directory\n");
  asked[4] = "dgx-h10";
  CHECK(says(folder.run(asked).errors, "did you mean \"dgx-h100\"?"));
}

TEST_CASE("new writes nothing where no layout fits") {
  const StarterFolder folder;
  const ProgramRun made = folder.run({"new", "--model", "models/llama.json", "--hardware", "dgx-1",
                                      "--devices", "2", "-o", "my.json"});
  CHECK(made.code == 1);
  CHECK(made.output.empty());
  CHECK(made.errors.starts_with("penstock: nothing written: "));
  CHECK_FALSE(folder.has("my.json"));
}

TEST_CASE("new refuses half a question, and an output that is its model") {
  const StarterFolder folder;
  const ProgramRun half = folder.run({"new", "--model", "models/llama.json", "--devices", "8"});
  CHECK(half.code == 2);
  CHECK(half.errors ==
        "penstock: error: --hardware is missing; give --model, --hardware and --devices, or none "
        "of them\n");
  CHECK(folder.run({"new", "--sequence", "8"}).code == 2);
  CHECK(folder
            .run({"new", "--model", "models/llama.json", "--hardware", "dgx-h100", "--devices", "8",
                  "-o", "models/llama.json"})
            .code == 2);
  const ProgramRun lost = folder.run({"new", "--model", "models/llama.json", "--hardware",
                                      "dgx-h100", "--devices", "8", "-o", "nowhere/my.json"});
  CHECK(lost.code == 2);
  CHECK(lost.errors ==
        "penstock: error: nowhere/my.json: cannot write: there is no folder nowhere\n");
  CHECK(folder.run({"new", "--model", "nowhere.json", "--hardware", "dgx-h100", "--devices", "8"})
            .code == 3);
}

TEST_CASE("a path is kept where it is absolute, and follows links of folders") {
  const StarterFolder folder;
  CHECK(path_seen_from("anywhere", "/models/m.json") == "/models/m.json");
  CHECK(path_seen_from("", "m.json") == "m.json");
  fs::create_directories(folder.path("deep/er"));
  fs::create_directory_symlink(folder.path("deep/er"), folder.path("link"));
  const std::string seen =
      path_seen_from(folder.path("link"), fs::relative(folder.path("models/llama.json")).string());
  CHECK(seen == "../../models/llama.json");
  const std::string lengths = R"({"batch": {"lengths": {"file": "lengths.txt"}}})";
  CHECK(says(moved_text(lengths, "layouts"), "../lengths.txt"));
  const std::string command = R"({"model": {"command": "train.sh"}})";
  CHECK(says(moved_text(command, "layouts"), "../train.sh"));
  CHECK(says(moved_text(command, "."), "\"train.sh\""));
}

}  // namespace
}  // namespace penstock::testing
