#include <doctest/doctest.h>

#include "experiments/input/files/setting.hpp"
#include "sim/base/error.hpp"

namespace penstock::testing {
namespace {

/// The values of a setting: "1 2 4".
std::string values_text(const std::string& text) {
  const ValueList values = settings_of("--vary", text).front().values;
  std::string all;
  for (std::uint64_t i = 0; i < values.size(); ++i) all += (i == 0 ? "" : " ") + values.text(i);
  return all;
}

}  // namespace

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
