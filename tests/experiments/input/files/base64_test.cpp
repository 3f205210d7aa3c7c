#include "experiments/input/files/base64.hpp"

#include <doctest/doctest.h>

#include <string>

namespace penstock {

TEST_CASE("base64 is that of RFC 4648, and is read again") {
  CHECK(base64("") == "");
  CHECK(base64("f") == "Zg==");
  CHECK(base64("fo") == "Zm8=");
  CHECK(base64("foobar") == "Zm9vYmFy");
  CHECK(base64("\xff\xfe") == "//4=");
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    CHECK(bytes_of_base64(base64(bytes)) == bytes);
    bytes += static_cast<char>(i * 7);
  }
  for (const char* const wrong : {"Zg=", "Zm8", "Z!==", "Zm9v\n"}) {
    CHECK(!bytes_of_base64(wrong).has_value());
  }
}

}  // namespace penstock
