#include <doctest/doctest.h>

#include <algorithm>
#include <optional>

#include "hardware_models/codecs/reference/codec.hpp"
#include "sim/base/named.hpp"

namespace penstock::testing {
namespace {

constexpr ErrorBudget any_error{.least_sqnr_db = 0, .most_flushed = 1};

const ValueDistribution& looks(std::string_view name) {
  for (const NamedDistribution& one : named_distributions()) {
    if (one.name == name) return one.values;
  }
  FAIL("no such distribution");
  throw;
}

std::vector<const CodecEntry*> only(std::string_view name) {
  return {find_named(codec_entries(), name)};
}

/// The fewest bits a value of all formats of a codec that are within a budget, tried one by one.
std::optional<double> fewest_bits(const char* name, const ErrorBudget& budget,
                                  const ValueDistribution& distribution) {
  const std::vector<float> values = draw_activations(distribution, tried_values);
  std::optional<double> fewest;
  for (const double block : {16.0, 32.0, 64.0, 128.0}) {
    for (double bits = 2; bits <= 8; ++bits) {
      const CodecSpec codec = fitted_to(distribution, {name, {{"bits", bits}, {"block", block}}});
      const MeasuredCodec one = measured(codec, values);
      if (!budget.allows(one.error)) continue;
      fewest = std::min(fewest.value_or(one.bits_per_value), one.bits_per_value);
    }
  }
  return fewest;
}

}  // namespace

TEST_CASE("format search: it comes to what trying every format comes to") {
  for (const NamedDistribution& distribution : named_distributions()) {
    for (const char* name : {"bfp", "outlier-bfp"}) {
      for (const double decibels : {10.0, 20.0, 30.0, 40.0, 60.0}) {
        for (const double flushed : {0.02, 0.1, 1.0}) {
          CAPTURE(std::string(distribution.name));
          CAPTURE(name);
          CAPTURE(decibels);
          CAPTURE(flushed);
          const ErrorBudget budget{decibels, flushed};
          const FormatSearch found = search_formats(only(name), budget, distribution.values);
          const auto fewest = fewest_bits(name, budget, distribution.values);
          REQUIRE(found.formats.empty() == !fewest);
          if (fewest) CHECK(found.formats.front().bits_per_value == *fewest);
        }
      }
    }
  }
}

TEST_CASE("format search: 25 dB of normal values take 6 bits, and of a ReLU's 5") {
  // The reference results: 5 bits come to 24.7 dB of normal values in blocks of 16, and to less in
  // longer ones; 6 bits to 30.7, and in blocks of 128, which share an exponent at a sixteenth of a
  // bit, still to more than 25. Behind a ReLU 5 bits in blocks of 16 come to 25.9.
  const ErrorBudget budget{.least_sqnr_db = 25, .most_flushed = 1};
  const FormatSearch gauss = search_formats(only("bfp"), budget, looks("gauss"));
  REQUIRE(!gauss.formats.empty());
  CHECK(gauss.formats.front().codec == CodecSpec{"bfp", {{"bits", 6}, {"block", 128}}});
  CHECK(gauss.formats.front().bits_per_value == 6 + 8.0 / 128);
  const FormatSearch relu = search_formats(only("bfp"), budget, looks("relu"));
  REQUIRE(!relu.formats.empty());
  CHECK(relu.formats.front().codec == CodecSpec{"bfp", {{"bits", 5}, {"block", 16}}});
}

TEST_CASE("format search: the finer formats are of the same codec and blocks, and less far off") {
  const FormatSearch found = search_formats(codec_entries(), {}, looks("heavy-tailed"));
  REQUIRE(found.formats.size() > 1);
  for (std::size_t i = 1; i < found.formats.size(); ++i) {
    const MeasuredCodec& coarse = found.formats[i - 1];
    const MeasuredCodec& fine = found.formats[i];
    CHECK(fine.codec.name == coarse.codec.name);
    CHECK(fine.codec.numbers.at("block") == coarse.codec.numbers.at("block"));
    CHECK(fine.codec.numbers.at("bits") == coarse.codec.numbers.at("bits") + 1);
    CHECK(fine.error.sqnr_db > coarse.error.sqnr_db);
  }
}

TEST_CASE("format search: every codec takes part, and all of them find no more bits than any") {
  const ErrorBudget budget{.least_sqnr_db = 20, .most_flushed = 1};
  const double all =
      search_formats(codec_entries(), budget, looks("gauss")).formats.front().bits_per_value;
  double fewest = 100;
  for (const CodecEntry* entry : codec_entries()) {
    const FormatSearch found = search_formats(only(entry->name), budget, looks("gauss"));
    REQUIRE(!found.formats.empty());
    CHECK(found.formats.front().codec.name == entry->name);
    fewest = std::min(fewest, found.formats.front().bits_per_value);
  }
  CHECK(all == fewest);
}

TEST_CASE("format search: without any format within the budget it tells the closest") {
  const FormatSearch found = search_formats(only("bfp"), {90, 1}, looks("gauss"));
  CHECK(found.formats.empty());
  CHECK(found.best.codec == CodecSpec{"bfp", {{"bits", 8}, {"block", 16}}});
  CHECK(found.best.error.sqnr_db == doctest::Approx(42.4).epsilon(0.005));
}

TEST_CASE("format search: with any error allowed the fewest bits of all win") {
  // 2 bits and an exponent of 8 for 128 values.
  const FormatSearch found = search_formats(only("bfp"), any_error, looks("gauss"));
  REQUIRE(!found.formats.empty());
  CHECK(found.formats.front().bits_per_value == 2 + 8.0 / 128);
  CHECK(found.formats.size() == 7);
}

TEST_CASE("codecs that are fitted to a distribution follow that of the values, unless told") {
  const ValueDistribution relu = looks("relu"), heavy = looks("heavy-tailed");
  CHECK(fitted_to(relu, {"bfp", {}}) == CodecSpec{"bfp", {}});
  CHECK(fitted_to(relu, {"nonuniform-bfp", {}}) == CodecSpec{"nonuniform-bfp", {{"rectified", 1}}});
  CHECK(fitted_to(heavy, {"nonuniform-bfp", {}}) ==
        CodecSpec{"nonuniform-bfp", {{"tail_share", 0.005}}});
  CHECK(fitted_to(relu, {"nonuniform-bfp", {{"rectified", 0}}}).numbers.at("rectified") == 0);
}

}  // namespace penstock::testing
