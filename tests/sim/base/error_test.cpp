#include "sim/base/error.hpp"

#include <doctest/doctest.h>

#include <string>

namespace penstock::testing {

TEST_CASE("the text of an error does not end at a NUL") {
  using namespace std::string_literals;
  const InputError error("a.json", "/b", "unknown name \"x\0y\""s);
  CHECK(std::string(error.what()) == "a.json: /b: unknown name \"x\\u0000y\"");
  CHECK(error.message() == "unknown name \"x\\u0000y\"");
  CHECK(std::string(UsageError("\0"s).what()) == "\\u0000");
}

}  // namespace penstock::testing
