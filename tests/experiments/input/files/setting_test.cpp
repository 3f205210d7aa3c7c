#include "experiments/input/files/setting.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/input/files/json_input.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "sim/base/error.hpp"
#include "tests/support/refusal.hpp"

namespace penstock::testing {
namespace {

using nlohmann::json;

/// "/a=1,2 & /b=3": the settings of a text, with their values as JSON.
std::string settings_text(const std::string& text) {
  std::string all;
  for (const Setting& setting : settings_of("--vary", text)) {
    if (!all.empty()) all += setting.joined ? " & " : " ";
    all += setting.pointer + "=";
    for (std::uint64_t i = 0; i < setting.values.size(); ++i) {
      all += (i == 0 ? "" : ",") + setting.values.text(i);
    }
  }
  return all;
}

template <class Read>
std::string setting_error(Read read) {
  return refused_with<std::runtime_error>([&] { read(); });
}

/// The values of a setting: "1 2 4".
std::string values_text(const std::string& text) {
  const ValueList values = settings_of("--vary", text).front().values;
  std::string all;
  for (std::uint64_t i = 0; i < values.size(); ++i) all += (i == 0 ? "" : " ") + values.text(i);
  return all;
}

}  // namespace

TEST_CASE("settings: a text has several of them, and each its values") {
  CHECK(settings_text("/a=1,2,/b=3") == "/a=1,2 /b=3");
  CHECK(settings_text("/a=1,2&/b=3,4,/c=5") == "/a=1,2 & /b=3,4 /c=5");
  CHECK(settings_text("/model/file=/data/a.json,/data/b.json") ==
        R"(/model/file="/data/a.json","/data/b.json")");
  CHECK(settings_text(R"(/a={"x": [1, 2], "y": "&,/b=1"},2)") ==
        R"(/a={"x":[1,2],"y":"&,/b=1"},2)");
  CHECK(settings_text(R"(/a="say \"1,2\"")") == R"(/a="say \"1,2\"")");
}

TEST_CASE("settings: what is none is refused with the option, its text and the reason") {
  for (const char* text : {"",
                           "m=1,2",
                           "/m",
                           "/",
                           "/=1",
                           "=1",
                           "/m=",
                           "/m=1,,2",
                           "/m=1,",
                           "/m=,1",
                           "/m=1&",
                           "/m=1&2",
                           "/m=1&n=2",
                           "/m=5..2",
                           "/m=1..4:0",
                           "/m=1..4:-1",
                           "/m=1..4*1",
                           "/m=0..4*2",
                           "/m=1..4:x",
                           "/m=1..",
                           "/m=1..x",
                           "/m=1..4:2:2",
                           "/m=1..4/2",
                           "/m=4x..8",
                           "/m=1,0.5..1.5,2",
                           "/m=[1,2",
                           "/m=1]",
                           "/m={1}",
                           "/m=\"a",
                           "/m=a\"b\"",
                           "/m='a'",
                           "/m=[a]",
                           "/m={\"a\":1,\"a\":2}",
                           "/a=1,/a=2",
                           "/a~b=1",
                           "/m=\xff",
                           "/m=1..1000000000,2"}) {
    CAPTURE(text);
    const std::string error = setting_error([&] { settings_of("--vary", text); });
    CHECK(error.starts_with(fmt::format("--vary {}: ", shortened(text))));
  }
  std::string deep;
  for (int i = 0; i < 65; ++i) deep += "/a";
  CHECK_THROWS_AS(settings_of("--vary", deep + "=1"), UsageError);
  CHECK_THROWS_AS(settings_of("--set", "/a=" + std::string(100'000, '[')), UsageError);
}

TEST_CASE("settings: one value each where several make no sense") {
  const auto set = [](const std::string& text) {
    json document = json::object();
    apply_settings(document, {text});
    return document.dump();
  };
  CHECK(set("/a=1,/b=x y") == R"({"a":1,"b":"x y"})");
  CHECK(set("/a=[1, 2]") == R"({"a":[1,2]})");
  CHECK(set(R"(/a="1,2")") == R"({"a":"1,2"})");
  CHECK(set(R"(/a=[{"b":1},{}],/a/*/b=3)") == R"({"a":[{"b":3},{"b":3}]})");
  CHECK(set(R"(/a=[{"b":1},{}],/a/*=3)") == R"({"a":[3,3]})");
  CHECK(set(R"(/a=[[1],[2,3]],/a/*/*=0)") == R"({"a":[[0],[0,0]]})");
  CHECK(setting_error([&] { set("/a=1,/a/*/b=3"); }) ==
        "--set /a=1,/a/*/b=3: /a is no list with items in the scenario");
  CHECK(setting_error([&] { set("/a=1,2"); }) ==
        "--set /a=1,2: /a takes one value, got 2; a list has brackets, a text with a comma is "
        "given in quotes");
  CHECK(setting_error([&] { set("/a=1..4"); }) ==
        "--set /a=1..4: /a takes one value; --vary takes a range");
  CHECK(setting_error([&] { set("/a=1&/b=2"); }) ==
        "--set /a=1&/b=2: & goes with --vary alone; , stands between settings");
}

TEST_CASE("settings: an option is set by its key, or by its pointer in a scenario") {
  using Pair = std::pair<std::string, std::string>;
  CHECK(option_setting("group=2", "schedule") == Pair{"group", "2"});
  CHECK(option_setting("/schedule/group=2", "schedule") == Pair{"group", "2"});
  CHECK(option_setting("order=ascending", "schedule") == Pair{"order", "\"ascending\""});
  CHECK(option_setting("order=\"ascending\"", "schedule") == Pair{"order", "\"ascending\""});
  CHECK(option_setting("speeds=[1,2]", "partition") == Pair{"speeds", "[1,2]"});
  for (const char* text : {"group", "=2", "/schedule/=2", "group=2,3", "group=2,/a=3", "group="}) {
    CAPTURE(text);
    CHECK_THROWS_AS(option_setting(text, "schedule"), UsageError);
  }
}

TEST_CASE("conditions: two sides and a comparison, and nothing else") {
  const ConditionText read = condition_text_of("/a/*/b <= 2.5 * /c");
  CHECK(read.left.pointer == "/a/*/b");
  CHECK(read.relation == Relation::at_most);
  CHECK(read.right.pointer == "/c");
  CHECK(read.right.factor == 2.5);
  CHECK(condition_text_of("/a!=\"<=\"").right.value == "\"<=\"");
  for (const char* text :
       {"", "/a", "/a <=", "<= 1", "/a = 1", "/a => 1", "/a =< 1", "/a <> 1", "/a === 1",
        "1 < /a < 3", "/a < 1 && /b > 2", "/a < x*/b", "/a < [1", "/a < nan*/b", "/a == 'x'"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(condition_text_of(text), InputError);
  }
}

TEST_CASE("values: a list has JSON values, and texts without quotes") {
  CHECK(values_text("/schedule/name=gpipe,1f1b,zb-h1") == R"("gpipe" "1f1b" "zb-h1")");
  CHECK(values_text("/a=1,2.5,true,\"x,y\",[1,2]") == R"(1 2.5 true "x,y" [1,2])");
  CHECK(values_text("/a = 1, 1f1b , 4..8:2,x") == R"(1 "1f1b" 4 6 8 "x")");
}

TEST_CASE("values: a range has its end where the step meets it, and whole numbers stay whole") {
  CHECK(values_text("/m=8..64:8") == "8 16 24 32 40 48 56 64");
  CHECK(values_text("/m=8..63:8") == "8 16 24 32 40 48 56");
  CHECK(values_text("/m=2..5") == "2 3 4 5");
  CHECK(values_text("/m=3..3") == "3");
  CHECK(values_text("/x=0..1:0.1") == "0 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1");
}

TEST_CASE("values: a factor multiplies, exactly for whole numbers") {
  CHECK(values_text("/m=1..1024*2") == "1 2 4 8 16 32 64 128 256 512 1024");
  CHECK(values_text("/m=1e9..1e12*10") == "1000000000 10000000000 100000000000 1000000000000");
}

TEST_CASE("values: numbers of a range have the units of their key") {
  CHECK(values_text("/hardware/bandwidth_bytes_per_s=1GB/s..4GB/s*2") ==
        "1000000000 2000000000 4000000000");
  CHECK(values_text("/model/stages/*/forward_us=1ms..2ms:500us") == "1000 1500 2000");
  CHECK(values_text("/memory/capacity_bytes=1GiB..2GiB:1GiB") == "1073741824 2147483648");
  CHECK_THROWS_AS(values_text("/m=1GB..2GB"), UsageError);  // the key has no unit
}

TEST_CASE("values: points lie between both ends, in equal steps or by equal factors") {
  const Progression linear = progression_of({.from = 0, .to = 1, .points = 5});
  CHECK(linear.count == 5);
  CHECK(linear.at(1) == 0.25);
  CHECK(linear.at(4) == 1);
  const Progression factors =
      progression_of({.from = 1, .to = 100, .points = 5, .logarithmic = true});
  // The square root of ten, rounded to 12 digits.
  CHECK(json_number(factors.at(1)) == "3.16227766017");
  CHECK(factors.at(2) == 10);
  CHECK(factors.at(4) == 100);
}

TEST_CASE("values: a continuous range takes any number, a whole one each as often as any other") {
  const ValueList values = settings_of("--vary", "/x=0.5..1.5").front().values;
  CHECK(values.is_continuous());
  CHECK(values.text_at(0.25) == "0.75");
  ValueList whole;
  whole.progression = Progression{.from = 1, .to = 4, .whole = true};
  for (const auto& [share, text] : {std::pair{0.0, "1"}, {0.24, "1"}, {0.26, "2"}, {0.99, "4"}}) {
    CHECK(whole.text_at(share) == text);
  }
}

}  // namespace penstock::testing
