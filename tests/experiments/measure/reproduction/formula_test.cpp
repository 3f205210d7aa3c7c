#include "experiments/measure/reproduction/formula.hpp"

#include <doctest/doctest.h>

#include "sim/base/error.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/says.hpp"

namespace penstock::testing {
namespace {

std::string formula_refusal(const std::string& formula) {
  return refused_with<InputError>([&] { value_of(formula, {{"m", 4}, {"b", 2}}); });
}

}  // namespace

TEST_CASE("formula: arithmetic over names, with rounding and conditions") {
  const Names names{{"m", 4}, {"b", 2.5}};
  CHECK(value_of("m*b + 1", names) == 11);
  CHECK(value_of("ceil(b) + floor(b)", names) == 5);
  CHECK(value_of("m == 4 && b > 2", names) == 1);
  CHECK(value_of("m != 4 || b > 3", names) == 0);
  CHECK(value_of("m > 3 ? 10 : 20", names) == 10);
  CHECK(value_of("max(m, 7)^2", names) == 49);
}

TEST_CASE("formula: errors name what is known") {
  CHECK(says(formula_refusal("m * speed"), "speed"));
  CHECK(says(formula_refusal("m * speed"), "b, m"));
  CHECK(says(formula_refusal("m +"), "is invalid"));
  CHECK(says(formula_refusal(""), "is invalid"));
  CHECK(says(formula_refusal("m / 0"), "not a finite number"));
  CHECK(says(formula_refusal("sqrt(-m)"), "not a finite number"));
  CHECK(says(formula_refusal(std::string(100000, '(')), "is invalid"));
}

}  // namespace penstock::testing
