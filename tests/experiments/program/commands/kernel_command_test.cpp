#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/program.hpp"
#include "tests/support/scratch.hpp"

namespace penstock::testing {

TEST_CASE("kernel: a faulty file is a wrong input with its place, a wrong size a wrong option") {
  const Desk desk;
  auto machine =
      nlohmann::json::parse(content_of(PENSTOCK_ROOT "/hardware_models/catalogue/dgx-h100.json"));
  machine["zzz"] = 1;
  desk.file("bad.json", machine.dump());
  desk.file("cut.json", "{\n");
  const std::string size = "bytes=1e9";
  struct Case {
    std::vector<std::string> options;
    int code;
    std::string error;  // its beginning
  };
  for (const Case& one : std::vector<Case>{
           {{"--hardware", "bad.json", "--set", size}, 3, "bad.json: /zzz: unknown key \"zzz\""},
           {{"--hardware", "cut.json", "--set", size}, 3, "cut.json: line 2, column 1: "},
           {{"--hardware", "none.json", "--set", size}, 3, "none.json: cannot open"},
           {{"--hardware", "dgx-h10", "--set", size}, 2, "--hardware: unknown device or machine"},
           {{"--hardware", "dgx-h100"}, 2, "--set bytes: \"bytes\" is missing"},
           {{"--hardware", "dgx-h100", "--set", "bytes=0"}, 2, "--set bytes: 0 is not"},
           {{"--hardware", "dgx-h100", "--set", size, "--attention", "no"},
            2,
            "--attention: unknown attention kernel \"no\""}}) {
    const ProgramRun run = desk.run(with_words({"kernel", "stream"}, one.options));
    CAPTURE(run.errors);
    CHECK(run.code == one.code);
    CHECK(run.errors.starts_with("penstock: error: " + one.error));
  }
}

}  // namespace penstock::testing
