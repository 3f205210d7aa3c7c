#include "experiments/plan/planner/space/restrictions.hpp"

#include <doctest/doctest.h>

#include "sim/base/error.hpp"

namespace penstock::testing {
namespace {

TEST_CASE("planner: restrictions name axes of layouts") {
  const Restrictions only({"/parallel/pipeline=2,4"});
  CHECK(only.allow("/parallel/pipeline", 4U));
  CHECK_FALSE(only.allow("/parallel/pipeline", 8U));
  CHECK(only.allow("/parallel/tensor", 8U));
  const Restrictions both({"/parallel/tensor=1..8*2,/parallel/pipeline=4"});
  CHECK(both.text() == "/parallel/pipeline=4 /parallel/tensor=1,2,4,8");
  for (const char* text :
       {"/parallel/pipelin=2", "/parallel/pipeline", "/parallel/tensor=banana",
        "/parallel/tensor=0", "/parallel/tensor=2.5", "/parallel/tensor=-4",
        "/parallel/tensor=\"4\"", "/parallel/tensor=[4]", "/parallel/tensor=4GB",
        "/parallel/tensor=0.5..1.5", "/parallel/tensor=4,", "/memory/zero=4", "/schedule/name=1f1c",
        "/schedule/name=1f1b&/memory/zero=1", "/recompute/mode=most", "/parallel/sequence=yes",
        "/codec/link=zip", "/partition/name=evn"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(Restrictions({text}), UsageError);
  }
  CHECK_THROWS_AS(Restrictions({"/memory/zero=1", "/memory/zero=2"}), UsageError);
}

}  // namespace
}  // namespace penstock::testing
