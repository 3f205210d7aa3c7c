#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "hardware_models/codecs/coding/distribution.hpp"
#include "hardware_models/codecs/reference/codec.hpp"

namespace penstock::testing {
namespace {

const ValueDistribution gauss{};
const ValueDistribution relu{.rectified = true};
const ValueDistribution heavy{.tail_share = 0.005, .tail_factor = 30};

CodecSpec spec(const char* name, double bits) { return {name, {{"bits", bits}}}; }

double sqnr_db(const CodecSpec& codec, const std::vector<float>& values) {
  return codec_error(make_codec(codec), values).sqnr_db;
}

/// Blocks of 16 of the reference results that the formats come with, in dB.
struct Row {
  double bits;
  double bits_per_value;
  double ratio;
  double gauss;
  double relu;
  double heavy;
  double outlier_bits;
  double outlier;  // of the heavy tail, with one value of each block kept aside
};
constexpr Row table[] = {{3, 3.5, 4.57, 12.5, 13.7, 14.6, 5.0, 22.1},
                         {4, 4.5, 3.56, 18.7, 19.8, 18.7, 6.0, 27.9},
                         {5, 5.5, 2.91, 24.7, 25.9, 22.1, 7.0, 33.7},
                         {6, 6.5, 2.46, 30.7, 31.9, 26.7, 8.0, 39.5},
                         {8, 8.5, 1.88, 42.4, 43.5, 38.0, 10.0, 51.1}};

/// Lloyd's iteration on values themselves, from even levels: each moves to the mean of its values.
Codec by_iteration(Codec codec, const std::vector<float>& values) {
  std::vector<double>& levels = codec.format.levels;
  for (std::size_t i = 0; i < levels.size(); ++i) levels[i] = (double(i) + 0.5) / levels.size();
  for (int iteration = 0; iteration < 200; ++iteration) {
    std::vector<double> weight(levels.size()), sum(levels.size());
    for (std::size_t first = 0; first < values.size(); first += codec.format.block) {
      float largest = 0;
      for (std::size_t i = 0; i < codec.format.block; ++i) {
        largest = std::max(largest, std::abs(values[first + i]));
      }
      const double whole = std::ldexp(1.0, std::ilogb(largest) + 1);
      for (std::size_t i = 0; i < codec.format.block; ++i) {
        const double share = std::abs(values[first + i]) / whole;
        std::size_t level = 0;
        while (level + 1 < levels.size() && share > (levels[level] + levels[level + 1]) / 2) {
          ++level;
        }
        weight[level] += whole * whole;
        sum[level] += whole * whole * share;
      }
    }
    for (std::size_t i = 0; i < levels.size(); ++i) {
      if (weight[i] > 0) levels[i] = sum[i] / weight[i];
    }
  }
  return codec;
}

}  // namespace

TEST_CASE("codecs: a value takes its bits and its share of the exponent and of the outliers") {
  for (const Row& row : table) {
    CAPTURE(row.bits);
    CHECK(bits_per_value(spec("bfp", row.bits)) == row.bits_per_value);
    CHECK(bits_per_value(spec("nonuniform-bfp", row.bits)) == row.bits_per_value);
    CHECK(bits_per_value(spec("outlier-bfp", row.bits)) == row.outlier_bits);
    CHECK(std::round(1600 / row.bits_per_value) / 100 == row.ratio);
  }
  // w + 8/B + 24k/B: one outlier of 128 values costs 24/128 of a bit.
  CHECK(bits_per_value({"bfp", {{"bits", 4}, {"block", 128}}}) == 4 + 8.0 / 128);
  CHECK(bits_per_value({"outlier-bfp", {{"bits", 4}, {"block", 128}}}) == 4 + 32.0 / 128);
  CHECK(bits_per_value({"outlier-bfp", {{"bits", 4}, {"block", 64}, {"outliers", 3}}}) ==
        4 + 8.0 / 64 + 3 * 24.0 / 64);
  CHECK(bits_per_value({"bfp", {{"bits", 4}, {"exponent_bits", 5}}}) == 4 + 5.0 / 16);
}

TEST_CASE("codecs: signals stand as far above their errors as the reference results say") {
  // 2^20 values of each distribution; 2^22 of the heavy tail, whose few large values decide. The
  // results are given to 0.1 dB, and were drawn from other random numbers.
  const std::vector<float> normal = draw_activations(gauss, std::size_t{1} << 20);
  const std::vector<float> rectified = draw_activations(relu, std::size_t{1} << 20);
  const std::vector<float> tailed = draw_activations(heavy, std::size_t{1} << 22);
  const auto near = [](double published) {
    return [published](double measured) { return std::abs(measured - published) <= 0.2; };
  };
  for (const Row& row : table) {
    CAPTURE(row.bits);
    CHECK(near(row.gauss)(sqnr_db(spec("bfp", row.bits), normal)));
    CHECK(near(row.relu)(sqnr_db(spec("bfp", row.bits), rectified)));
    CHECK(near(row.heavy)(sqnr_db(spec("bfp", row.bits), tailed)));
    CHECK(near(row.outlier)(sqnr_db(spec("outlier-bfp", row.bits), tailed)));
  }
}

TEST_CASE(
    "codecs: an outlier kept aside buys 2.6 dB of normal values, and far more of heavy tails") {
  // The same reference results: 2.6 dB for plain gaussian data; with blocks of 128, 6 to 10 dB on
  // heavy tails, here read as 5 to 10 between 3 and 8 bits.
  const std::vector<float> normal = draw_activations(gauss, std::size_t{1} << 18);
  const std::vector<float> tailed = draw_activations(heavy, std::size_t{1} << 20);
  for (const Row& row : table) {
    CAPTURE(row.bits);
    CHECK(sqnr_db(spec("outlier-bfp", row.bits), normal) - sqnr_db(spec("bfp", row.bits), normal) ==
          doctest::Approx(2.6).epsilon(0.05));
    const double bought = sqnr_db({"outlier-bfp", {{"bits", row.bits}, {"block", 128}}}, tailed) -
                          sqnr_db({"bfp", {{"bits", row.bits}, {"block", 128}}}, tailed);
    CHECK(bought > 4.5);
    CHECK(bought < 10);
  }
}

TEST_CASE("codecs: 29 % of normal values are flushed to zero at 3 bits, and of a ReLU's the same") {
  const auto flushed = [](const ValueDistribution& distribution) {
    return codec_error(make_codec(spec("bfp", 3)),
                       draw_activations(distribution, std::size_t{1} << 18))
        .flushed_share;
  };
  CHECK(flushed(gauss) == doctest::Approx(0.29).epsilon(0.01));
  // Half of a ReLU's values are zero and do not count; its blocks have 8 others, which reach less
  // high on average, so fewer are flushed than of 16.
  CHECK(flushed(relu) < flushed(gauss));
  CHECK(flushed(relu) > 0.2);
}

TEST_CASE("codecs: errors of a small array are those of the arithmetic") {
  // A block of 4 with w = 3: the largest, 3.5, has the exponent 1, so mantissas stand for 0, 1, 2
  // and 3, and half a step is 0.5. 3.5 saturates at 3 (off by 0.5), 0.25 goes to 0 (0.25), -1.5
  // lies between 1 and 2 and goes to the even one (0.5), 1 stays. Squares: signal 12.25 + 0.0625
  // + 2.25 + 1, error 0.25 + 0.0625 + 0.25.
  const Codec codec = make_codec({"bfp", {{"bits", 3}, {"block", 4}}});
  const std::vector<float> values{3.5F, 0.25F, -1.5F, 1};
  CHECK(decode(codec, encode(codec, values), 4) == std::vector<float>{3, 0, -2, 1});
  const CodecError error = codec_error(codec, values);
  CHECK(error.sqnr_db == doctest::Approx(10 * std::log10(15.5625 / 0.5625)));
  CHECK(error.most_half_steps == 1);
  CHECK(error.flushed_share == 0.25);
}

TEST_CASE("code books: fitted to a distribution they are closer to it than even mantissas") {
  // What the reference results say of a naive, quadratic code book: 25.7 dB of the heavy tail at 5
  // bits. A fitted one is better than that, and better than even mantissas everywhere.
  const std::vector<float> normal = draw_activations(gauss, std::size_t{1} << 18, 2);
  const std::vector<float> tailed = draw_activations(heavy, std::size_t{1} << 19, 2);
  for (const double bits : {3.0, 4.0, 5.0, 6.0, 8.0}) {
    CAPTURE(bits);
    CHECK(sqnr_db(spec("nonuniform-bfp", bits), normal) > sqnr_db(spec("bfp", bits), normal) + 0.8);
    const double fitted =
        sqnr_db({"nonuniform-bfp", {{"bits", bits}, {"tail_share", 0.005}}}, tailed);
    CHECK(fitted > sqnr_db(spec("bfp", bits), tailed) + 0.5);
    CHECK(fitted > sqnr_db(spec("nonuniform-bfp", bits), tailed));
    if (bits == 5) CHECK(fitted > 25.7);
  }
}

TEST_CASE("code books: no less close to a distribution than what Lloyd's iteration finds") {
  for (const double tail : {0.0, 0.005}) {
    const ValueDistribution distribution{.tail_share = tail};
    const std::vector<float> own = draw_values(distribution, std::size_t{1} << 15, 4);
    const std::vector<float> judged = draw_activations(distribution, std::size_t{1} << 17, 5);
    for (const double bits : {2.0, 3.0, 4.0, 5.0}) {
      CAPTURE(tail);
      CAPTURE(bits);
      const Codec fitted = make_codec({"nonuniform-bfp", {{"bits", bits}, {"tail_share", tail}}});
      CHECK(codec_error(fitted, judged).sqnr_db >
            codec_error(by_iteration(fitted, own), judged).sqnr_db - 0.1);
    }
  }
}

TEST_CASE("code books: levels ascend, and to move any of them makes the error larger") {
  const std::vector<float> normal = draw_values(gauss, std::size_t{1} << 20, 3);
  const Codec fitted = make_codec(spec("nonuniform-bfp", 4));
  CHECK(fitted.format.levels == make_codec(spec("nonuniform-bfp", 4)).format.levels);
  REQUIRE(fitted.format.levels.size() == 8);
  CHECK(fitted.format.levels.front() > 0);
  CHECK(make_codec({"nonuniform-bfp", {{"rectified", 1}}}).format.levels.front() == 0);
  const double best = codec_error(fitted, normal).sqnr_db;
  for (std::size_t i = 0; i < fitted.format.levels.size(); ++i) {
    CAPTURE(i);
    if (i > 0) CHECK(fitted.format.levels[i - 1] < fitted.format.levels[i]);
    for (const double by : {-0.02, 0.02}) {
      Codec moved = fitted;
      moved.format.levels[i] += by;
      CHECK(codec_error(moved, normal).sqnr_db < best);
    }
  }
}

}  // namespace penstock::testing
