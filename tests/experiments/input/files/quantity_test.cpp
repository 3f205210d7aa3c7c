#include "experiments/input/files/quantity.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "experiments/input/files/json_input.hpp"
#include "sim/base/error.hpp"
#include "tests/support/program.hpp"
#include "tests/support/refusal.hpp"

namespace penstock::testing {
namespace {

std::string quantity_refusal(const std::string& text, QuantityKind measure) {
  return refused_with<InputError>([&] { quantity_of(text, measure); });
}

nlohmann::json converted_json(const char* text, const char* schema = "{}") {
  nlohmann::json document = nlohmann::json::parse(text);
  take_quantities(document, Schema(nlohmann::json::parse(schema)));
  return document;
}

}  // namespace

TEST_CASE("a quantity is a number with a unit, decimal or binary") {
  CHECK(quantity_of("64MB", QuantityKind::bytes) == 64e6);
  CHECK(quantity_of("1GiB", QuantityKind::bytes) == 1073741824.0);
  CHECK(quantity_of("1.5 KiB", QuantityKind::bytes) == 1536);
  CHECK(quantity_of("125kB", QuantityKind::megabytes) == 0.125);
  CHECK(quantity_of("2us", QuantityKind::microseconds) == 2);
  CHECK(quantity_of("0.3ms", QuantityKind::microseconds) == 300);
  CHECK(quantity_of("7ns", QuantityKind::microseconds) == 0.007);
  CHECK(quantity_of("3ms", QuantityKind::seconds) == 0.003);
  CHECK(quantity_of("1e3µs", QuantityKind::milliseconds) == 1);
  CHECK(quantity_of("2min", QuantityKind::seconds) == 120);
  CHECK(quantity_of("25GB/s", QuantityKind::bytes_per_s) == 25e9);
  CHECK(quantity_of("400Gb/s", QuantityKind::bytes_per_s) == 50e9);
  CHECK(quantity_of("400 Gbit/s", QuantityKind::bytes_per_s) == 50e9);
  CHECK(quantity_of("-1us", QuantityKind::microseconds) == -1);
}

TEST_CASE("a quantity without a unit is in that of its measure") {
  CHECK(quantity_of("1e9", QuantityKind::bytes) == 1e9);
  CHECK(quantity_of("12", QuantityKind::seconds) == 12);
}

TEST_CASE("a quantity in a document is a number or a text with a unit; other texts are none") {
  const auto bytes = [](const char* text) { return quantity_in_json(text, QuantityKind::bytes); };
  CHECK(bytes("2e3") == 2000);
  CHECK(bytes("\"1.5GiB\"") == 1610612736.0);
  CHECK(bytes("\"1.5 \\u0047iB\"") == 1610612736.0);
  for (const char* none : {"\"2e3\"", "\"auto\"", "\"inf\"", "inf", "\"\"", "null"}) {
    CAPTURE(none);
    CHECK(bytes(none) == std::nullopt);
  }
  CHECK_THROWS_AS(bytes("\"70 %\""), InputError);
  CHECK(quantity_in_json("\"2GB\"", std::nullopt) == std::nullopt);
}

TEST_CASE("a unit spelled otherwise is named as it is written here") {
  for (const char* text : {"64gb", "64 gigabyte", "64 Gigabytes", "64Gb"}) {
    CAPTURE(text);
    CHECK(quantity_refusal(text, QuantityKind::bytes) ==
          "\"" + std::string(text) + "\" is not a size; did you mean \"64GB\"?");
  }
  CHECK(quantity_refusal("2 seconds", QuantityKind::microseconds) ==
        "\"2 seconds\" is not a time; did you mean \"2s\"?");
  CHECK(quantity_refusal("2 gigabyte", QuantityKind::microseconds).ends_with("s, min, h"));
}

TEST_CASE("a quantity with another unit, or none at all, is refused with the right ones") {
  CHECK(
      quantity_refusal("64 horses", QuantityKind::bytes) ==
      "\"64 horses\" is not a size: give a number with one of the units B, kB, KB, MB, GB, TB, PB, "
      "KiB, MiB, GiB, TiB, PiB");
  CHECK(quantity_refusal("2GB", QuantityKind::microseconds) ==
        "\"2GB\" is not a time: give a number with one of the units ps, ns, us, µs, ms, s, min, h");
  CHECK(quantity_refusal("25GB", QuantityKind::bytes_per_s)
            .starts_with("\"25GB\" is not a bandwidth: "));
  CHECK(quantity_refusal("much", QuantityKind::bytes).starts_with("\"much\" is not a size: "));
  CHECK(quantity_refusal("", QuantityKind::bytes).starts_with("\"\" is not a size: "));
  CHECK(quantity_refusal("1..2MB", QuantityKind::bytes).starts_with("\"1..2MB\" is not a size: "));
}

TEST_CASE("a rate as networks are sold is refused with the unit it means, bits or bytes") {
  const auto meant = [](const std::string& text) {
    const std::string refusal = quantity_refusal(text, QuantityKind::bytes_per_s);
    const std::size_t at = refusal.find("did you mean ");
    return at == std::string::npos ? refusal : refusal.substr(at);
  };
  for (const char* text : {"400Gbps", "400gbps", "400 Gb/sec", "400gigabit", "400Gigabits/s"}) {
    CAPTURE(text);
    CHECK(meant(text) == "did you mean \"400Gb/s\"?");
  }
  CHECK(meant("50GBps") == "did you mean \"50GB/s\"?");
  CHECK(meant("50GB/sec") == "did you mean \"50GB/s\"?");
  CHECK(meant("50gb/s") == "did you mean \"50GB/s\"?");
  CHECK(meant("100Mbps") == "did you mean \"100Mb/s\"?");
  CHECK(meant("10kbps") == "did you mean \"10kb/s\"?");
}

TEST_CASE("the suffix of a key tells its measure") {
  CHECK(measure_of_key("capacity_bytes") == QuantityKind::bytes);
  CHECK(measure_of_key("bandwidth_bytes_per_s") == QuantityKind::bytes_per_s);
  CHECK(measure_of_key("forward_us") == QuantityKind::microseconds);
  CHECK(measure_of_key("half_at_mb") == QuantityKind::megabytes);
  CHECK(measure_of_key("timeout_s") == QuantityKind::seconds);
  CHECK(!measure_of_key("samples_per_s"));
  CHECK(!measure_of_key("name"));
  CHECK(!measure_of_key("_us"));
}

TEST_CASE("quantities of a document become numbers, other texts stay where a key takes them") {
  CHECK(
      converted_json(R"({"a_us": "2ms", "b": [{"c_bytes": "1KiB"}], "name": "2ms", "d_us": 3})") ==
      nlohmann::json::parse(
          R"({"a_us": 2000, "b": [{"c_bytes": 1024}], "name": "2ms", "d_us": 3})"));
  CHECK(converted_json(R"({"a_us": "2"})") == nlohmann::json::parse(R"({"a_us": "2"})"));
  const char* const wrong = R"({"b_us": "2GB"})";
  const auto schema_with = [](const std::string& takes) {
    return R"({"properties": {"b_us": {"type": ")" + takes + R"("}}})";
  };
  CHECK(converted_json(wrong, schema_with("string").c_str()) == nlohmann::json::parse(wrong));
  CHECK_THROWS_WITH_AS(converted_json(wrong, schema_with("number").c_str()),
                       doctest::Contains("is not a time"), InputError);
}

TEST_CASE("bandwidths of commands take units") {
  const auto codec_over = [](const char* bandwidth) {
    return run_penstock({"codec", "bfp", "--set", "bits=8", "--bandwidth", bandwidth}, ".");
  };
  const auto with_unit = codec_over("2000GB/s");
  CHECK(with_unit.code == 0);
  CHECK(with_unit.output == codec_over("2e12").output);
}

}  // namespace penstock::testing
