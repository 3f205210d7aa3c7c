#include "experiments/sweeps/space/axis.hpp"

#include <doctest/doctest.h>

#include "experiments/sweeps/space/axis_text.hpp"
#include "sim/base/error.hpp"

namespace penstock::testing {
namespace {

/// The values of an axis with one pointer: "1 2 4".
std::string values_text(const std::string& axis) {
  const Axis read = axis_of(axis);
  std::string text;
  for (std::uint64_t i = 0; i < read.size(); ++i) {
    text += (i == 0 ? "" : " ") + read.values.front().text(i);
  }
  return text;
}

}  // namespace

TEST_CASE("axes: a list has JSON values, and texts without quotes") {
  CHECK(values_text("/schedule/name=gpipe,1f1b,zb-h1") == R"("gpipe" "1f1b" "zb-h1")");
  CHECK(values_text("/a=1,2.5,true,\"x,y\",[1,2]") == R"(1 2.5 true "x,y" [1,2])");
}

TEST_CASE("axes: a range has its end where the step meets it, and whole numbers stay whole") {
  CHECK(values_text("/m=8..64:8") == "8 16 24 32 40 48 56 64");
  CHECK(values_text("/m=8..63:8") == "8 16 24 32 40 48 56");
  CHECK(values_text("/m=2..5") == "2 3 4 5");
  CHECK(values_text("/m=3..3") == "3");
  CHECK(values_text("/x=0..1:0.1") == "0 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1");
}

TEST_CASE("axes: a factor multiplies, exactly for whole numbers") {
  CHECK(values_text("/m=1..1024*2") == "1 2 4 8 16 32 64 128 256 512 1024");
  CHECK(values_text("/m=1e9..1e12*10") == "1000000000 10000000000 100000000000 1000000000000");
}

TEST_CASE("axes: numbers of a range have the units of their key") {
  CHECK(values_text("/hardware/bandwidth_bytes_per_s=1GB/s..4GB/s*2") ==
        "1000000000 2000000000 4000000000");
  CHECK(values_text("/model/stages/*/forward_us=1ms..2ms:500us") == "1000 1500 2000");
  CHECK(values_text("/memory/capacity_bytes=1GiB..2GiB:1GiB") == "1073741824 2147483648");
  CHECK(values_text("/m=1GB..2GB") == R"("1GB..2GB")");  // a text: the key has no unit
}

TEST_CASE("axes: points lie between both ends, in equal steps or by equal factors") {
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

TEST_CASE("axes: pointers with & between them take their values together") {
  const Axis axis = axis_of("/parallel/pipeline=2,4&/parallel/tensor=4,2");
  CHECK(axis.pointers == std::vector<std::string>{"/parallel/pipeline", "/parallel/tensor"});
  CHECK(axis.size() == 2);
  CHECK(axis.values[1].text(0) == "4");
}

TEST_CASE("axes: a continuous range takes any number, a whole one each as often as any other") {
  const Axis axis = axis_of("/x=0.5..1.5");
  CHECK(axis.is_continuous());
  CHECK(axis.values.front().text_at(0.25) == "0.75");
  AxisValues whole;
  whole.progression = Progression{.from = 1, .to = 4, .whole = true};
  for (const auto& [share, text] : {std::pair{0.0, "1"}, {0.24, "1"}, {0.26, "2"}, {0.99, "4"}}) {
    CHECK(whole.text_at(share) == text);
  }
}

TEST_CASE("axes: what is no axis is refused with the reason") {
  for (const char* text : {"m=1,2", "/m", "/m=", "/m=1,,2", "/m=5..2", "/m=1..4:0", "/m=1..4*1",
                           "/m=0..4*2", "/m=1..4:x"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(axis_of(text), UsageError);
  }
}

}  // namespace penstock::testing
