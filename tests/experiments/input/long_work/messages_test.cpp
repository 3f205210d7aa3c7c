#include <doctest/doctest.h>

#include <string>

#include "experiments/input/long_work/progress.hpp"

namespace penstock::testing {

TEST_CASE("messages: control characters are shown, not obeyed; other text stays as it is") {
  CHECK(printable("a\tb\n") == "a\tb\n");
  CHECK(printable("µs × 2 日本 \xf0\x9f\x98\x80") == "µs × 2 日本 \xf0\x9f\x98\x80");
  CHECK(printable("\x1b[31mred\x1b[0m") == "\\u001b[31mred\\u001b[0m");
  CHECK(printable("\x07\r\x7f") == "\\u0007\\u000d\\u007f");
  CHECK(printable(std::string("\0", 1)) == "\\u0000");
  CHECK(printable("\xc2\x9b"
                  "31m") == "\\u009b31m");  // the same command in one character
}

TEST_CASE("messages: bytes that are no UTF-8 are no commands either") {
  CHECK(printable("a\x9b") == "a\\u009b");
  CHECK(printable("\x9b\x9b") == "\\u009b\\u009b");
  CHECK(printable("\xe6\x97\xa5\x9b") == "\xe6\x97\xa5\\u009b");
  CHECK(printable("\xff\x1b") == "\xff\\u001b");
}

}  // namespace penstock::testing
