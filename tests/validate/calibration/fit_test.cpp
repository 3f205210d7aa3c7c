#include "validate/calibration/fit.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace penstock::testing {
namespace {

/// The misfits of rows of which each knows its own prediction and what was measured.
struct MeasuredRow {
  double size;
  double measured_us;
};

/// A link: a latency, and bytes over a bandwidth.
double link_us(const Constants& constants, double bytes) {
  return constants[0] + bytes / constants[1];
}

Misfits link_misfits(const std::vector<MeasuredRow>& rows) {
  return [rows](const std::vector<Constants>& choices) {
    std::vector<std::vector<double>> all;
    for (const Constants& choice : choices) {
      std::vector<double>& misfits = all.emplace_back();
      for (const MeasuredRow& row : rows) {
        misfits.push_back(std::log(link_us(choice, row.size) / row.measured_us));
      }
    }
    return all;
  };
}

std::vector<MeasuredRow> rows_of(const Constants& truth) {
  std::vector<MeasuredRow> rows;
  for (double bytes = 100; bytes < 1e7; bytes *= 3) rows.push_back({bytes, link_us(truth, bytes)});
  return rows;
}

const std::vector<FitRange> wide{{1, 1e-3, 1e6}, {1, 1e-3, 1e6}};

}  // namespace

TEST_CASE("fit: exact rows give back the constants that made them, from far away") {
  // 7 us and 250 bytes a microsecond; the search starts 7 and 250 times off.
  const Fit found = fit(wide, link_misfits(rows_of({7, 250})));
  CHECK(found.constants[0] == doctest::Approx(7).epsilon(1e-4));
  CHECK(found.constants[1] == doctest::Approx(250).epsilon(1e-4));
  CHECK(found.misfit < 1e-4);
}

TEST_CASE("fit: one row that is ten times off hardly moves the constants") {
  std::vector<MeasuredRow> rows = rows_of({7, 250});
  rows[5].measured_us *= 10;
  const Fit found = fit(wide, link_misfits(rows));
  CHECK(found.constants[0] == doctest::Approx(7).epsilon(0.02));
  CHECK(found.constants[1] == doctest::Approx(250).epsilon(0.02));
}

TEST_CASE("fit: constants stay within their bounds") {
  // The truth lies at 250 bytes a microsecond, and 100 is the most allowed.
  const Fit found = fit({{1, 1e-3, 1e6}, {50, 10, 100}}, link_misfits(rows_of({7, 250})));
  CHECK(found.constants[1] == doctest::Approx(100));
  CHECK(found.constants[0] <= 1e6);
}

TEST_CASE("fit: without constants or rows the start is returned") {
  CHECK(fit({}, [](const std::vector<Constants>& choices) {
          return std::vector<std::vector<double>>(choices.size(), {0.5});
        }).constants.empty());
  CHECK(fit({{3, 1, 5}}, [](const std::vector<Constants>& choices) {
          return std::vector<std::vector<double>>(choices.size());
        }).constants.front() == doctest::Approx(3));
}

TEST_CASE("fit: a constant that no row feels stays where it is") {
  const std::vector<FitRange> ranges{{1, 1e-3, 1e6}, {1, 1e-3, 1e6}, {42, 1, 1e3}};
  const Fit found = fit(ranges, link_misfits(rows_of({7, 250})));
  CHECK(found.constants[1] == doctest::Approx(250).epsilon(1e-4));
  CHECK(found.constants[2] == doctest::Approx(42));
}

}  // namespace penstock::testing
