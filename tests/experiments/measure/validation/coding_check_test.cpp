#include <doctest/doctest.h>

#include "experiments/measure/validation/validation.hpp"

namespace penstock::testing {

TEST_CASE("held memory: the text names the rank that differs most, else the one that holds most") {
  CHECK(held_text({}) == "");
  CHECK(held_text({{0, 0, 0}}) == "");
  CHECK(held_text({{0, 1024, 1024}, {1, 3 << 20, 3 << 20}}) ==
        "memory at its peak: 3 MiB on rank 1, counted as simulated\n");
  CHECK(held_text({{0, 1024, 1023}, {1, 3 << 20, 3 << 20}}) ==
        "memory at its peak: 1 KiB counted on rank 0, 1023 B simulated (-1 bytes)\n");
}

TEST_CASE("held memory: the stash of encoded activations reads the same way") {
  const std::string text = coding_text({}, {{2, 512, 2048}});
  CHECK(text.ends_with(
      "stash at its peak: 512 B counted on rank 2, 2 KiB simulated (+1536 bytes)\n"));
}

}  // namespace penstock::testing
