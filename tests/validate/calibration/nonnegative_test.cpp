#include "validate/calibration/nonnegative.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "validate/statistics/bootstrap.hpp"

namespace penstock::testing {
namespace {

using Matrix = std::vector<std::vector<double>>;

/// A number between -1 and 1.
double drawn(std::uint32_t system, std::uint32_t place) {
  return drawn_number(7, "systems", system, place, 2'000'001) * 1e-6 - 1;
}

/// More equations than unknowns, any signs.
std::vector<Equation> random_system(std::uint32_t system, std::size_t rows, std::size_t columns) {
  std::vector<Equation> equations(rows);
  std::uint32_t place = 0;
  for (Equation& equation : equations) {
    for (std::size_t c = 0; c < columns; ++c) equation.factors.push_back(drawn(system, place++));
    equation.wanted = drawn(system, place++);
  }
  return equations;
}

double missed(const Equation& equation, const std::vector<double>& values) {
  double sum = -equation.wanted;
  for (std::size_t c = 0; c < values.size(); ++c) sum += equation.factors[c] * values[c];
  return sum;
}

double squares(const std::vector<Equation>& equations, const std::vector<double>& values) {
  double sum = 0;
  for (const Equation& equation : equations) sum += std::pow(missed(equation, values), 2);
  return sum;
}

/// Gauss-Jordan with the largest pivot of each column.
std::vector<double> solved(Matrix matrix) {
  const std::size_t size = matrix.size();
  for (std::size_t i = 0; i < size; ++i) {
    std::size_t pivot = i;
    for (std::size_t r = i; r < size; ++r) {
      if (std::abs(matrix[r][i]) > std::abs(matrix[pivot][i])) pivot = r;
    }
    std::swap(matrix[i], matrix[pivot]);
    for (std::size_t r = 0; r < size; ++r) {
      const double factor = r == i ? 0 : matrix[r][i] / matrix[i][i];
      for (std::size_t c = i; c <= size; ++c) matrix[r][c] -= factor * matrix[i][c];
    }
  }
  std::vector<double> values;
  for (std::size_t i = 0; i < size; ++i) values.push_back(matrix[i][size] / matrix[i][i]);
  return values;
}

/// Least squares of the unknowns of a set, the others at zero, by its normal equations.
std::vector<double> least_squares(const std::vector<Equation>& equations, std::uint32_t set) {
  std::vector<std::size_t> chosen;
  for (std::size_t c = 0; c < equations[0].factors.size(); ++c) {
    if ((set >> c & 1U) != 0) chosen.push_back(c);
  }
  Matrix normal(chosen.size(), std::vector<double>(chosen.size() + 1));
  for (const Equation& equation : equations) {
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const double factor = equation.factors[chosen[i]];
      for (std::size_t j = 0; j < chosen.size(); ++j) {
        normal[i][j] += factor * equation.factors[chosen[j]];
      }
      normal[i].back() += factor * equation.wanted;
    }
  }
  const std::vector<double> found = solved(normal);
  std::vector<double> values(equations[0].factors.size());
  for (std::size_t i = 0; i < chosen.size(); ++i) values[chosen[i]] = found[i];
  return values;
}

/// The least squares over all sets of unknowns of which none comes out negative.
double least_of_all_sets(const std::vector<Equation>& equations) {
  const std::uint32_t sets = 1U << equations[0].factors.size();
  double least = std::numeric_limits<double>::infinity();
  for (std::uint32_t set = 0; set < sets; ++set) {
    const std::vector<double> values = least_squares(equations, set);
    bool allowed = true;
    for (const double value : values) allowed = allowed && value >= 0;
    if (allowed) least = std::min(least, squares(equations, values));
  }
  return least;
}

}  // namespace

TEST_CASE("nonnegative: what was put in comes out, however far apart the sizes of terms are") {
  const std::vector<double> truth{3e3, 0, 2e-9, 5};
  std::vector<Equation> equations;
  for (std::uint32_t row = 0; row < 12; ++row) {
    Equation equation{{1, 10 + drawn(1, row), 1e12 * (2 + drawn(2, row)), 4 + drawn(3, row)}};
    for (std::size_t c = 0; c < 4; ++c) equation.wanted += truth[c] * equation.factors[c];
    equations.push_back(equation);
  }
  const std::vector<double> found = solve_nonnegative(equations);
  REQUIRE(found.size() == 4);
  for (std::size_t c = 0; c < 4; ++c) {
    CAPTURE(c);
    CHECK(found[c] == doctest::Approx(truth[c]).epsilon(1e-9));
  }
}

// With up to six unknowns every set of those that are not zero can be tried.
TEST_CASE("nonnegative: no set of unknowns does better, in 300 random systems") {
  for (std::uint32_t system = 0; system < 300; ++system) {
    CAPTURE(system);
    const auto equations = random_system(system, 8 + system % 5, 1 + system % 6);
    const std::vector<double> found = solve_nonnegative(equations);
    for (const double value : found) CHECK(value >= 0);
    CHECK(squares(equations, found) == doctest::Approx(least_of_all_sets(equations)).epsilon(1e-9));
  }
}

// Of the least squares, an unknown above zero has slope 0 and one at zero does not fall (Karush,
// Kuhn and Tucker).
TEST_CASE("nonnegative: nothing is gained by moving any unknown, in 100 systems of 20") {
  for (std::uint32_t system = 0; system < 100; ++system) {
    CAPTURE(system);
    const auto equations = random_system(1000 + system, 40, 20);
    const std::vector<double> found = solve_nonnegative(equations);
    for (std::size_t c = 0; c < 20; ++c) {
      double slope = 0;
      for (const Equation& equation : equations) {
        slope += equation.factors[c] * missed(equation, found);
      }
      CHECK(slope >= -1e-9);
      if (found[c] > 0) CHECK(std::abs(slope) < 1e-9);
    }
  }
}

TEST_CASE("nonnegative: terms that are not there, or twice, are no trouble") {
  CHECK(solve_nonnegative({}).empty());
  const std::vector<Equation> absent{{{0, 1}, 2}, {{0, 2}, 4}};
  CHECK(solve_nonnegative(absent)[0] == 0);
  CHECK(solve_nonnegative(absent)[1] == doctest::Approx(2));
  const std::vector<Equation> twice{{{1, 1}, 2}, {{2, 2}, 4}, {{3, 3}, 6}};
  const std::vector<double> found = solve_nonnegative(twice);
  CHECK(found[0] + found[1] == doctest::Approx(2));
  const std::vector<Equation> against{{{1}, -1}, {{2}, -2}};
  CHECK(solve_nonnegative(against) == std::vector<double>{0});
}

// Columns (1, 0) and (1, 1), scaled: the cosine between them is c = 1/sqrt(2), and the squares of
// the singular values are 1 + c and 1 - c.
TEST_CASE("condition: how well terms can be told apart, whatever their units") {
  const double c = std::sqrt(0.5);
  const std::vector<Equation> skew{{{1, 1e6}, 0}, {{0, 1e6}, 0}};
  CHECK(condition(skew) == doctest::Approx(std::sqrt((1 + c) / (1 - c))));
  const std::vector<Equation> apart{{{5, 0}, 0}, {{0, 1e-3}, 0}};
  CHECK(condition(apart) == doctest::Approx(1));
  const std::vector<Equation> alike{{{1, 2}, 0}, {{2, 4}, 0}};
  CHECK(std::isinf(condition(alike)));
  const std::vector<Equation> fewer{{{1, 2}, 0}};
  CHECK(std::isinf(condition(fewer)));
}

}  // namespace penstock::testing
