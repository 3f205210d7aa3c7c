#include "hardware_models/codecs/reference/codec.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "hardware_models/codecs/coding/bits.hpp"
#include "hardware_models/codecs/coding/block_format.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"
#include "sim/base/random.hpp"
#include "tests/support/refusal.hpp"

namespace penstock::testing {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> round_trip(const CodecSpec& spec, const std::vector<float>& values) {
  const Codec codec = make_codec(spec);
  return decode(codec, encode(codec, values), values.size());
}

/// Finite bf16 values of every exponent, whose neighbours in an array are of about the same size.
std::vector<float> values_of_all_sizes(std::size_t count) {
  std::vector<float> values;
  for (std::uint32_t i = 0; values.size() < count; ++i) {
    const auto words = philox({i, 0, 0, 0}, {6, 0});
    const std::uint32_t exponent = (i / 512 + words[0] % 12) % 255;
    const std::uint32_t bits = (words[1] & 0x8000U) | exponent << 7 | (words[2] & 0x7FU);
    values.push_back(std::bit_cast<float>(bits << 16));
  }
  return values;
}

std::string refusal(const CodecSpec& spec) {
  return refused_at([&] { make_codec(spec); });
}

/// How far off a value may be: half a step of the exponent of the largest of its block, a whole one
/// where the highest mantissa stands for it.
double error_bound(float value, float largest, std::uint32_t bits) {
  const int exponent = largest == 0 ? -127 : std::max(-127, std::ilogb(largest));
  const double half = std::ldexp(1.0, exponent - static_cast<int>(bits) + 1);
  const double highest = 2 * half * ((1 << (bits - 1)) - 1);
  return std::abs(value) > highest ? 2 * half : half;
}

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

TEST_CASE("codecs: no value comes back further off than half a step, or one where it saturates") {
  const std::vector<float> values = values_of_all_sizes(512 * 256);
  for (const std::uint32_t bits : {2U, 3U, 4U, 6U, 8U}) {
    for (const std::uint32_t block : {1U, 16U, 128U}) {
      CAPTURE(bits);
      CAPTURE(block);
      const auto back = round_trip({"bfp", {{"bits", bits}, {"block", block}}}, values);
      for (std::size_t first = 0; first < values.size(); first += block) {
        float largest = 0;
        for (std::size_t i = first; i < first + block; ++i) {
          largest = std::max(largest, std::abs(values[i]));
        }
        for (std::size_t i = first; i < first + block; ++i) {
          REQUIRE(std::abs(double{values[i]} - double{back[i]}) <=
                  error_bound(values[i], largest, bits));
        }
      }
    }
  }
}

TEST_CASE("codecs: outliers come back as they were, and the others as far off as these allow") {
  const std::vector<float> values = values_of_all_sizes(512 * 64);
  const auto back = round_trip({"outlier-bfp", {{"bits", 4}, {"outliers", 2}}}, values);
  for (std::size_t first = 0; first < values.size(); first += 16) {
    std::vector<float> sizes;
    for (std::size_t i = first; i < first + 16; ++i) sizes.push_back(std::abs(values[i]));
    std::sort(sizes.rbegin(), sizes.rend());
    for (std::size_t i = first; i < first + 16; ++i) {
      if (std::abs(values[i]) > sizes[2]) {
        REQUIRE(back[i] == values[i]);
      } else {
        const double off = std::abs(double{values[i]} - double{back[i]});
        REQUIRE(off <= error_bound(values[i], sizes[2], 4));
      }
    }
  }
}

TEST_CASE("codecs: what mantissas can say comes back exactly") {
  // Every mantissa with either sign beside the highest one, which holds the exponent where it is.
  for (const int exponent : {-120, -3, 0, 9, 127}) {
    for (const int bits : {2, 5, 8}) {
      CAPTURE(exponent);
      CAPTURE(bits);
      const int highest = (1 << (bits - 1)) - 1;
      std::vector<float> values;
      for (int q = -highest; q <= highest; ++q) {
        values.push_back(std::ldexp(static_cast<float>(highest), exponent - bits + 2));
        values.push_back(std::ldexp(static_cast<float>(q), exponent - bits + 2));
      }
      CHECK(round_trip({"bfp", {{"bits", bits}, {"block", 2}}}, values) == values);
    }
  }
}

TEST_CASE("codecs: zeros stay zeros with their signs") {
  for (const CodecEntry* entry : codec_entries()) {
    CAPTURE(entry->name);
    CodecSpec codec{std::string(entry->name), {}};
    if (codec.name == "nonuniform-bfp") codec.numbers["rectified"] = 1;  // has a level at zero
    for (const float other : {0.0F, 5.0F}) {
      const auto back = round_trip(codec, {0.0F, -0.0F, other, 0.0F});
      CHECK(std::bit_cast<std::uint32_t>(back[0]) == 0);
      CHECK(std::bit_cast<std::uint32_t>(back[1]) == 0x80000000U);
      CHECK(back[3] == 0);
    }
  }
}

TEST_CASE("codecs: a block that holds an infinity or a NaN comes back as NaNs, others do not") {
  for (const char* name : {"bfp", "nonuniform-bfp"}) {
    for (const float bad : {infinity, -infinity, nan}) {
      std::vector<float> values(12, 1);
      values[5] = bad;
      const auto back = round_trip({name, {{"block", 4}}}, values);
      for (std::size_t i = 0; i < 12; ++i) CHECK(std::isnan(back[i]) == (i / 4 == 1));
    }
  }
}

TEST_CASE("codecs: what is not finite may be among the outliers, and then spares its block") {
  const CodecSpec two{"outlier-bfp", {{"block", 4}, {"outliers", 2}}};
  const auto spared = round_trip(two, {1, -infinity, 0.5F, nan});
  CHECK(spared[0] == 1);
  CHECK(spared[1] == -infinity);
  CHECK(spared[2] == 0.5F);
  CHECK(std::isnan(spared[3]));
  // A third one is left in the block: only what is kept aside survives.
  const auto lost = round_trip(two, {1, -infinity, infinity, infinity});
  CHECK(std::isnan(lost[0]));
  CHECK(lost[1] == -infinity);
  CHECK(lost[2] == infinity);
  CHECK(std::isnan(lost[3]));
}

TEST_CASE("codecs: exponents of few bits saturate above their range and flush below it") {
  // Three bits: codes 0 to 6 for the exponents -3 to 3; w = 4. Above 16 nothing is, so 100 becomes
  // 7/8 of 16; below steps of 2^-5 nothing is either.
  const CodecSpec narrow{"bfp", {{"bits", 4}, {"block", 1}, {"exponent_bits", 3}}};
  CHECK(round_trip(narrow, {100, -100, 15, 2, 0.03125F, 0.01F}) ==
        std::vector<float>{14, -14, 14, 2, 0.03125F, 0});
}

TEST_CASE("codecs: blocks may lie down the columns of a matrix") {
  // Two columns of four: the first small, the second large. Along the rows each block has a large
  // value and flushes the small ones; down the columns none does.
  const std::vector<float> values{0.01F, 64, 0.01F, 64, 0.01F, 64, 0.01F, 64};
  const auto rows = round_trip({"bfp", {{"block", 4}}}, values);
  const auto columns = round_trip({"bfp", {{"block", 4}, {"stride", 2}}}, values);
  CHECK(rows[0] == 0);
  CHECK(columns[0] == doctest::Approx(0.01).epsilon(0.1));
  CHECK(rows[1] == 64);
  CHECK(columns[1] == 64);
}

TEST_CASE("codecs: bf16 rounds half to even, stays finite, and keeps NaNs") {
  CHECK(from_bf16(to_bf16(1.00390625F)) == 1);          // 1 + 2^-8, half way: to even
  CHECK(from_bf16(to_bf16(1.01171875F)) == 1.015625F);  // 1 + 3 * 2^-8: to even, which is above
  CHECK(from_bf16(to_bf16(std::numeric_limits<float>::max())) == 0x1.fep127F);
  CHECK(from_bf16(to_bf16(-std::numeric_limits<float>::max())) == -0x1.fep127F);
  CHECK(from_bf16(to_bf16(infinity)) == infinity);
  CHECK(std::isnan(from_bf16(to_bf16(std::bit_cast<float>(0x7F800001U)))));
}

TEST_CASE("codecs: names, options and packed bytes that do not fit are refused") {
  CHECK(refusal({"bfp", {}}) == "accepted");
  CHECK(refusal({"zip", {}}) ==
        "/name: unknown name \"zip\"; known: auto, none, bfp, nonuniform-bfp, outlier-bfp");
  CHECK(refusal({"bfp", {{"outliers", 1}}}) ==
        "/outliers: unknown key \"outliers\"; bfp takes block, bits, exponent_bits, stride");
  CHECK(refusal({"bfp", {{"bits", 9}}}) ==
        "/bits: 9 is not a whole number from 2 to 8 (bits per value: sign and "
        "mantissa)");
  CHECK(refusal({"bfp", {{"bits", 3.5}}}).starts_with("/bits: 3.5 is not "));
  CHECK(refusal({"bfp", {{"block", 0}}}).starts_with("/block: 0 is not "));
  CHECK(refusal({"bfp", {{"block", 1e300}}}).starts_with("/block: 1e+300 is not "));
  CHECK(refusal({"bfp", {{"block", std::nan("")}}}).starts_with("/block: nan is not "));
  CHECK(refusal({"outlier-bfp", {{"block", 4}, {"outliers", 4}}}) ==
        "/outliers: 4 outliers in a block of 4 values: must be less than \"block\"");
  const Codec codec = make_codec({"bfp", {}});
  CHECK_THROWS_WITH_AS(decode(codec, std::vector<std::uint8_t>(8), 16),
                       "got 8 packed bytes; 16 values of bfp take 9", InputError);
}

TEST_CASE("codecs: bytes that no encoder wrote decode to something") {
  std::vector<std::uint8_t> bytes(12 * 64);  // blocks of 16 with an outlier: 96 bits
  for (std::uint32_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::uint8_t>(philox({i, 0, 0, 0}, {7, 0})[0]);
  }
  CHECK(decode(make_codec({"outlier-bfp", {}}), bytes, 16 * 64).size() == 16 * 64);
}

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
