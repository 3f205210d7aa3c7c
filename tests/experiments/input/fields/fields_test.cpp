#include "experiments/input/fields/fields.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "experiments/input/files/json_input.hpp"
#include "sim/base/error.hpp"
#include "tests/support/refusal.hpp"

namespace penstock::testing {
namespace {

enum class Colour : std::uint8_t { red, green };

struct Size {
  double width = 1;
};

struct Box {
  std::optional<Colour> colour;
  std::vector<std::uint32_t> counts;
  Size size;
  std::uint32_t height = 7;
};

const Fields& box_fields() {
  static const Fields fields{
      "a box",
      {note(), field<&Box::colour>("colour", words({"red", "green"}), "its colour"),
       field<&Box::counts>("counts", list_of(whole(0, 9), 1, 3)),
       field<&Box::size, &Size::width>("width_us", time_us(), "how wide"),
       field<Box>("height", either(whole(1, 5), text()), "how high, or tall",
                  [](const nlohmann::json& value, Box& box) {
                    box.height = value.is_string() ? 100 : value.get<std::uint32_t>();
                  })},
      {"colour"}};
  return fields;
}

/// The error of a document, or what was read.
std::string box_error(const char* document) {
  const Schema schema(schema_of(box_fields()));
  return refused_at([&] { schema.check(nlohmann::json::parse(document)); });
}

}  // namespace

TEST_CASE("fields: a table reads what an object states, and leaves the rest") {
  Box box;
  read_fields(box_fields(),
              nlohmann::json::parse(R"({"colour": "green", "counts": [1, 2], "width_us": 2.5})"),
              &box);
  CHECK(box.colour == Colour::green);
  CHECK(box.counts == std::vector<std::uint32_t>{1, 2});
  CHECK(box.size.width == 2.5);
  CHECK(box.height == 7);
  read_fields(box_fields(), {{"height", "tall"}}, &box);
  CHECK(box.height == 100);
  CHECK(box.colour == Colour::green);
}

TEST_CASE("fields: the schema of a table refuses what no key takes, in the table's words") {
  CHECK(box_error(R"({"colour": "red", "counts": [0], "description": "mine"})") == "accepted");
  CHECK(box_error(R"({"counts": [0]})") == "/colour: \"colour\" is missing");
  CHECK(box_error(R"({"colour": "gren"})") ==
        "/colour: \"gren\" is not one of \"red\", \"green\" (its colour); did you mean \"green\"?");
  CHECK(box_error(R"({"colour": "red", "counts": []})") ==
        "/counts: [] is not a list of 1 to 3 items");
  CHECK(box_error(R"({"colour": "red", "width_us": -1})") ==
        "/width_us: -1 is not a number from 0 to 1e+12, or one with a unit, such as \"2ms\" (how "
        "wide)");
  CHECK(box_error(R"({"colour": "red", "hight": 2})")
            .starts_with("/hight: unknown key \"hight\"; did you mean \"height\"?"));
}

TEST_CASE("fields: keys beside those of a table are listed") {
  CHECK(other_keys(box_fields(), {{"colour", "red"}, {"lid", 1}}) ==
        std::vector<std::string>{"lid"});
}

TEST_CASE("fields: what takes several types, or is a quantity, takes null or one type more") {
  const auto accepts = [](const Takes& takes, const nlohmann::json& value) {
    const Schema schema(nlohmann::ordered_json{{"properties", {{"a", takes.schema()}}}});
    return refused_at([&] { schema.check({{"a", value}}); }) == "accepted";
  };
  const Takes several = either(either(whole(1, 5), text()), truth());
  for (const Takes& takes : {several, or_null(several)}) {
    CHECK(accepts(takes, 3));
    CHECK_FALSE(accepts(takes, 6));
    CHECK(accepts(takes, "six"));
    CHECK(accepts(takes, true));
  }
  CHECK_FALSE(accepts(several, nullptr));
  CHECK(accepts(or_null(several), nullptr));
  for (const Takes& takes : {or_null(time_us()), either(time_us(), truth())}) {
    CHECK(accepts(takes, 2));
    CHECK_FALSE(accepts(takes, -2));
  }
  CHECK(accepts(or_null(time_us()), nullptr));
  CHECK(accepts(either(time_us(), truth()), false));
}

}  // namespace penstock::testing
