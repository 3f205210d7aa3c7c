#include "experiments/plan/sweeps/space/sweep_space.hpp"

#include <doctest/doctest.h>
#include <fmt/ranges.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/input/scenario/document.hpp"
#include "experiments/input/scenario/scenario.hpp"
#include "experiments/plan/sweeps/space/condition.hpp"
#include "experiments/plan/sweeps/space/read_sweep.hpp"
#include "sim/base/error.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch.hpp"

namespace penstock::testing {
namespace {

SweepRequest request_with(const std::vector<std::string>& axes) {
  SweepRequest request{.source = "s.json", .base = std::make_shared<nlohmann::json>()};
  for (const std::string& axis : axes) request.axes.push_back(axes_of(axis).front());
  return request;
}

/// "1 3 / 2 3": the values of each configuration.
std::string all_text(const SweepSpace& space) {
  std::string text;
  for (std::uint64_t i = 0; i < space.size(); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : " / ", fmt::join(space.values(i), " "));
  }
  return text;
}

std::string space_refusal(const std::vector<std::string>& axes) {
  return refused_with<UsageError>([&] { SweepSpace(request_with(axes)); });
}

SweepRequest with_condition(const std::string& condition) {
  SweepRequest request = request_with({"/p=2,4", "/m=1..4"});
  request.conditions.push_back(condition_of(condition, request.axes));
  return request;
}

}  // namespace

TEST_CASE("sweep space: the last axis varies first, and pointers of one axis together") {
  CHECK(all_text(SweepSpace(request_with({"/a=1,2", "/b=3,4&/c=5,6"}))) ==
        "1 3 5 / 1 4 6 / 2 3 5 / 2 4 6");
}

TEST_CASE("sweep space: conditions leave configurations out") {
  CHECK(all_text(SweepSpace(with_condition("/m >= /p"))) == "2 2 / 2 3 / 2 4 / 4 4");
  CHECK(all_text(SweepSpace(with_condition("/m<0.5*/p"))) == "4 1");
  CHECK(all_text(SweepSpace(with_condition("/m == 3"))) == "2 3 / 4 3");
  CHECK_THROWS_AS(SweepSpace(with_condition("/m > 4")), InputError);
  CHECK_THROWS_AS(with_condition("/m > /q"), InputError);
  CHECK_THROWS_AS(with_condition("/m"), InputError);
}

TEST_CASE(
    "sweep space: a condition compares numbers with numbers and a text with those there are") {
  SweepRequest request = request_with({"/n=gpipe,1f1b", "/m=1..4", "/l=2,4", "/b=true,false"});
  const auto kept = [&](const std::string& condition) {
    request.conditions = {condition_of(condition, request.axes)};
    return SweepSpace(request).size();
  };
  CHECK(kept("/n != gpipe") == 16);
  CHECK(kept("\"1f1b\" == /n") == 16);
  CHECK(kept("/b == true") == 16);
  CHECK(kept("/m <= 4.0") == 32);
  CHECK(kept("/l == /m") == 8);
  for (const char* text :
       {"/m <= (4)", "/m <= four", "/m != 4.0.0", "/m == \"4\"", "/l != four", "/m > 4GB",
        "/m <= 1e999", "/m <= nan", "/m <= /n", "/n < gpipe", "/n >= 1f1b", "/n != gpip", "/n == 4",
        "/n == /m", "2*/n == 4", "/b > 0", "/b == yes", "1 < 2", "/m*2 > 4"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(condition_of(text, request.axes), InputError);
  }
}

TEST_CASE("sweep space: where no configuration is left, the condition that leaves none is named") {
  const auto error_of = [](const std::vector<std::string>& conditions) -> std::string {
    SweepRequest request = request_with({"/p=2,4", "/m=1..4"});
    for (const std::string& text : conditions) {
      request.conditions.push_back(condition_of(text, request.axes));
    }
    return refused_with<InputError>([&] { SweepSpace{request}; });
  };
  CHECK(error_of({"/p > 1", "/m > 4"}) == "none of 8 configurations fulfils /m > 4");
  CHECK(error_of({"/p > 2", "/m > 1", "/p < 4"}) ==
        "4 fulfil /p < 4, but none of them the conditions before it");
}

TEST_CASE("sweep space: a pointer varies once") {
  CHECK_THROWS_AS(SweepSpace(request_with({"/a=1,2", "/a=3"})), UsageError);
}

TEST_CASE("sweep space: an axis has each value once, pointers that vary together each pair") {
  CHECK(space_refusal({"/m=8,4,8"}) == "--vary /m=8,4,8: /m has 8 twice; give each value once");
  CHECK(space_refusal({"/p=2,4,2&/t=1,1,1"}) ==
        "--vary /p=2,4,2&/t=1,1,1: /p & /t has 2 & 1 twice; give each value once");
  CHECK(SweepSpace(request_with({"/p=2,4,2&/t=1,1,2"})).size() == 3);
}

TEST_CASE("sweep space: no axis overwrites what varies before it") {
  for (const auto& [earlier, later] : std::vector<std::pair<std::string, std::string>>{
           {"/a/b=1,2", "/a={},1"}, {"/a/0/b=1,2", "/a/*/b=3"}, {"/a/0/b=1,2", "/a/*=3"}}) {
    CAPTURE(later);
    CHECK_THROWS_AS(SweepSpace(request_with({earlier, later})), UsageError);
    CHECK_NOTHROW(SweepSpace(request_with({later, earlier})));
  }
  CHECK(space_refusal({"/a/b=1,2", "/a=3"}) ==
        "--vary /a=3: /a overwrites /a/b, which varies before it; give /a first");
  CHECK_NOTHROW(SweepSpace(request_with({"/a/b=1", "/a/bc=2", "/a/c/b=3", "/a/c/d=4"})));
}

TEST_CASE("sweep space: settings with & between them vary together, others by themselves") {
  const std::vector<Axis> axes = axes_of("/p=2,4&/t=4,2,/m=1..3");
  REQUIRE(axes.size() == 2);
  CHECK(axes[0].pointers == std::vector<std::string>{"/p", "/t"});
  CHECK(axes[0].values[1].text(0) == "4");
  CHECK(axes[1].size() == 3);
}

TEST_CASE("sweep space: conditions compare values with units") {
  SweepRequest request =
      request_with({"/a_bytes_per_s=800MB/s,2GB/s,3000000000", "/b_us=1,2", "/c_ms=1"});
  const auto kept = [&](const std::string& condition) {
    request.conditions = {condition_of(condition, request.axes)};
    return SweepSpace(request).size();
  };
  CHECK(kept("/a_bytes_per_s >= 1GB/s") == 4);
  CHECK(kept("8Gb/s > /a_bytes_per_s") == 2);
  CHECK(kept("/a_bytes_per_s == 2000MB/s") == 2);
  CHECK(kept("/b_us < 0.0015ms") == 3);
  CHECK(kept("/a_bytes_per_s > 1000000000*/b_us") == 3);
  CHECK_THROWS_AS(kept("/b_us < 2GB/s"), InputError);
  // A scenario refuses a number in quotes, and so does a condition.
  const SweepRequest quoted = request_with({"/a_bytes_per_s=\"2e9\",2GB/s"});
  CHECK_THROWS_AS(condition_of("/a_bytes_per_s >= 1GB/s", quoted.axes), InputError);
  CHECK_THROWS_AS(kept("/b_us < /c_ms"), InputError);
  CHECK(kept("/b_us <= 1.5*/c_ms") == 3);
}

TEST_CASE("sweep space: a sample draws the same points each time, others with another seed") {
  SweepRequest request = request_with({"/name=gpipe,1f1b", "/x=0.5..1.5"});
  request.sample = Sample{.method = SampleMethod::random, .count = 8, .seed = 1};
  const std::string first = all_text(SweepSpace(request));
  CHECK(first == all_text(SweepSpace(request)));
  request.sample->seed = 2;
  CHECK(first != all_text(SweepSpace(request)));
}

TEST_CASE("sweep space: the first 64 Sobol points fall into different 64ths of each axis") {
  SweepRequest request = request_with({"/x=0.0..1.0", "/y=0.0..1.0", "/z=0.0..1.0"});
  for (Axis& axis : request.axes) axis.values.front().progression = Progression{.to = 1};
  request.sample = Sample{.method = SampleMethod::sobol, .count = 64};
  const SweepSpace space(request);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    std::set<int> cells;
    for (std::uint64_t i = 0; i < 64; ++i) {
      cells.insert(static_cast<int>(std::stod(space.values(i)[axis]) * 64));
    }
    CHECK(cells.size() == 64);
  }
}

TEST_CASE("sweep space: what an option says that cannot be is refused with its text") {
  CHECK(space_refusal({"/x=0.5..1.5"}) ==
        "--vary /x=0.5..1.5: /x has no steps; give 0.5..1.5:STEP, 0.5..1.5*FACTOR or --sample N");
  CHECK(space_refusal({"/a=1,2&/b=3"}) ==
        "--vary /a=1,2&/b=3: /a has 2 values and /b has 1; those that go together have equally "
        "many");
  CHECK(space_refusal({"/a=1..1000000", "/b=1..1000000"}) ==
        "--vary /b=1..1000000: there are more than 1000000000 configurations");
  const Scratch scratch;
  SweepArguments arguments{.file = scratch.file("s.json", "{}"),
                           .settings = {},
                           .axes = {"/m=1..4"},
                           .conditions = {"/m > 4"},
                           .results = {}};
  const auto refused = [&] {
    return refused_with<UsageError>([&] { SweepSpace(read_sweep(arguments)); });
  };
  CHECK(refused() == "--where /m > 4: none of 4 configurations fulfils /m > 4");
  arguments.axes = {"/a=0.5..1.5", "/b=0.5..1.5"};
  arguments.conditions.clear();
  arguments.sample = Sample{.count = 25'000'001};
  CHECK(refused() == "--sample 25000001: count times axes is above 50000000");
}

TEST_CASE("sweep space: its hash changes with a value and a condition") {
  const SweepRequest request = request_with({"/a=1,2"});
  const std::string hash = SweepSpace(request).hash();
  CHECK(hash.size() == 16);
  CHECK(hash == SweepSpace(request).hash());
  CHECK(hash != SweepSpace(request_with({"/a=1,3"})).hash());
  CHECK(SweepSpace(with_condition("/m > 1")).hash() != SweepSpace(with_condition("/m > 2")).hash());
}

TEST_CASE(
    "sweep space: its hash changes with any file that it names, in a section of an axis too") {
  const Scratch scratch;
  const auto hash = [&](const std::string& axis, const nlohmann::json& base,
                        const std::string& content) {
    SweepRequest request = request_with({axis});
    request.source = scratch.file("s.json", "{}");
    request.base = std::make_shared<nlohmann::json>(base);
    scratch.file("a.txt", content);
    return SweepSpace(request).hash();
  };
  const auto changes = [&](const std::string& axis, const nlohmann::json& base) {
    return hash(axis, base, "1") != hash(axis, base, "2");
  };
  for (const std::string_view pointer : file_pointers) {
    CAPTURE(pointer);
    nlohmann::json base;
    base[nlohmann::json::json_pointer(std::string(pointer))] = "a.txt";
    CHECK(changes("/m=1,2", base));
    CHECK(changes(fmt::format("{}=a.txt,b.txt", pointer), {}));
    const std::string section(pointer.substr(0, pointer.rfind('/')));
    const std::string key(pointer.substr(pointer.rfind('/') + 1));
    CHECK(changes(fmt::format(R"({}={{"{}":"a.txt"}},{{}})", section, key), {}));
  }
  CHECK_FALSE(changes("/title=a.txt,b.txt", {{"title", "a.txt"}}));
}

TEST_CASE("sweep space: every file that the schema of a scenario knows counts for the hash") {
  std::set<std::string> files;
  const std::function<void(const nlohmann::json&, const std::string&)> find =
      [&](const nlohmann::json& schema, const std::string& place) {
        if (!schema.contains("properties")) return;
        for (const auto& [key, value] : schema["properties"].items()) {
          const bool is_text = value.contains("type") && value["type"] == "string";
          const bool named = key == "file" || key == "command" || key == "profile";
          if (is_text && named) files.insert(place + "/" + key);
          find(value, place + "/" + key);
        }
      };
  find(scenario_schema(), "");
  CHECK(files == std::set<std::string>(file_pointers.begin(), file_pointers.end()));
}

/// A link by the name of that of the GPUs in a DGX A100.
constexpr const char* slow_nvlink =
    R"({"penstock": 1, "is": "link", "name": "nvlink-3", "summary": "slow",
        "bandwidth_bytes_per_s": {"value": 1e9, "assumption": "made up"},
        "links": {"value": 1, "assumption": "made up"},
        "latency_us": {"value": 1, "assumption": "made up"}})";

TEST_CASE("sweep space: its hash changes with a file beside the machine of a scenario") {
  const Scratch folder;
  SweepRequest request = request_with({"/m=1,2"});
  request.source = folder.file("s.json", "{}");
  folder.file("machine.json", read_catalogue().at("dgx-a100").text);
  request.base =
      std::make_shared<nlohmann::json>(nlohmann::json{{"hardware", {{"file", "machine.json"}}}});
  const std::string before = SweepSpace(request).hash();
  folder.file("other.json", slow_nvlink);  // not by its name: it is not taken
  CHECK(SweepSpace(request).hash() == before);
  folder.file("nvlink-3.json", slow_nvlink);
  CHECK(SweepSpace(request).hash() != before);
}

TEST_CASE("sweep space: its hash changes with files of the user's catalogue that it may take") {
  const Scratch folder;
  const Variable folders("PENSTOCK_HARDWARE", folder.path(""));
  const auto hash = [](const std::string& machine, const std::string& axis) {
    SweepRequest request = request_with({axis});
    request.base =
        std::make_shared<nlohmann::json>(nlohmann::json{{"hardware", {{"name", machine}}}});
    return SweepSpace(request).hash();
  };
  const auto hashes = [&] {
    return std::vector{hash("ideal", "/m=1,2"), hash("dgx-1", "/m=1,2"), hash("dgx-a100", "/m=1,2"),
                       hash("ideal", "/hardware/name=dgx-a100,dgx-1")};
  };
  const std::vector<std::string> before = hashes();
  folder.file("mine.json", slow_nvlink);
  const std::vector<std::string> after = hashes();
  CHECK(before[0] == after[0]);
  CHECK(before[1] == after[1]);
  CHECK(before[2] != after[2]);
  CHECK(before[3] != after[3]);
}

TEST_CASE("sweep file: axes, conditions, a sample and settings, and the command line behind them") {
  const Scratch scratch;
  scratch.file("base.json", R"({"schedule": {"name": "gpipe"}})");
  const std::string file = scratch.file("sweep.json", R"({
    "scenario": "base.json",
    "set": {"/schedule/microbatches": 8},
    "vary": [{"/p": [2, 4]}, {"/a": [1, 2], "/b": {"from": 10, "to": 20, "step": 10}}],
    "where": ["/p > /a"],
    "results": ["/ranks/0/idle_us"]})");
  const SweepRequest request = read_sweep({.file = file,
                                           .settings = {"/schedule/name=1f1b"},
                                           .axes = {"/m=1..2"},
                                           .conditions = {},
                                           .results = {}});
  CHECK(request.base->dump() == R"({"schedule":{"microbatches":8,"name":"1f1b"}})");
  CHECK(all_text(SweepSpace(request)) ==
        "2 1 10 1 / 2 1 10 2 / 4 1 10 1 / 4 1 10 2 / 4 2 20 1 / 4 2 20 2");
  CHECK(request.results == std::vector<std::string>{"/ranks/0/idle_us"});
}

}  // namespace penstock::testing
