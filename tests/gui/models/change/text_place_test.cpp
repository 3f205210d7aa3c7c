#include "gui/models/change/text_place.hpp"

#include <doctest/doctest.h>

namespace penstock {
namespace {

TextPlace behind(std::string_view text) { return place_at_position(text, text.size()); }

TEST_CASE("places: the object around a position is known, however unfinished the text is") {
  CHECK(behind("").pointer.empty());
  CHECK(behind(R"({"a": 1, )").pointer.empty());
  CHECK(behind(R"({"hardware": {"name": "ideal", )").pointer == "/hardware");
  CHECK(behind(R"({"hardware": {"name": "ide)").pointer == "/hardware");
  CHECK(behind(R"({"hardware": {"name": "ide)").key == "name");
  CHECK(behind(R"({"hardware": {"na)").key.empty());
  CHECK(behind(R"({"model": {"stages": [{"f": 1}, {"b": {}, )").pointer == "/model/stages/1");
  CHECK(behind(R"({"a": {"b": [1, 2]}, )").pointer.empty());
  CHECK(behind(R"({"a": "}{", "c": {)").pointer == "/c");
  CHECK(behind("}}]]{{").pointer == "/");
}

}  // namespace
}  // namespace penstock
