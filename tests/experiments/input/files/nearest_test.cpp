#include <doctest/doctest.h>

#include "experiments/input/files/plain_text.hpp"

namespace penstock::testing {

TEST_CASE(
    "the nearest word differs in a third of the letters at most; swapped neighbours count once") {
  const std::vector<std::string> words{"run", "explain", "compare"};
  CHECK(nearest("rnu", words) == "run");
  CHECK(nearest("explian", words) == "explain");
  CHECK(nearest("comapre", words) == "compare");
  CHECK(nearest("rn", words) == "run");
  CHECK(nearest("h100-sxm", {"b200-sxm", "h100-sxm5-80gb"}) == "h100-sxm5-80gb");
  CHECK(nearest("RUN", words) == "run");
  CHECK(nearest("1F1B", {"gpipe", "1f1b"}) == "1f1b");
  CHECK(!nearest("frobnicate", words));
  CHECK(!nearest("", words));
  CHECK(!nearest("run", {}));
}

TEST_CASE("the nearest word may be held to fewer wrong letters") {
  const std::vector<std::string> words{"--hidden-size", "--num-layers"};
  CHECK(nearest("--hiden-size", words, 2) == "--hidden-size");
  CHECK(nearest("--num-workers", words) == "--num-layers");
  CHECK(!nearest("--num-workers", words, 2));
}

TEST_CASE("an unknown name is followed by the nearest one and by all") {
  CHECK(unknown_text("name \"gpip\"", "gpip", "gpipe, naive") ==
        "unknown name \"gpip\"; did you mean \"gpipe\"? known: gpipe, naive");
  CHECK(unknown_text("name \"x\"", "x", "gpipe, naive") ==
        "unknown name \"x\"; known: gpipe, naive");
  CHECK(split_names("a, b c, d") == std::vector<std::string>{"a", "b c", "d"});
  CHECK(split_names("").empty());
}

}  // namespace penstock::testing
