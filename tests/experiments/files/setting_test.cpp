#include "experiments/files/setting.hpp"

#include <doctest/doctest.h>

#include "sim/base/error.hpp"

namespace penstock::testing {

TEST_CASE("an option is set by its key, or by its pointer in a scenario") {
  using Pair = std::pair<std::string, std::string>;
  CHECK(option_setting("group=2", "schedule") == Pair{"group", "2"});
  CHECK(option_setting("/schedule/group=2", "schedule") == Pair{"group", "2"});
  CHECK(option_setting("backward_order=ascending", "schedule") ==
        Pair{"backward_order", "ascending"});
  CHECK(option_setting("backward_order=\"ascending\"", "schedule") ==
        Pair{"backward_order", "ascending"});
  CHECK_THROWS_AS(option_setting("group", "schedule"), UsageError);
  CHECK_THROWS_AS(option_setting("=2", "schedule"), UsageError);
}

}  // namespace penstock::testing
