#include <doctest/doctest.h>

#include "experiments/input/formats/reading/read_model_file.hpp"
#include "tests/support/model_files.hpp"

namespace penstock::testing {
namespace {

const std::string profile_csv_plain =
    "layer,examples,forward_us,backward_us,parameter_bytes\n"
    "embedding,32,40,90,400\n"
    "head,32,9,,\n"
    "embedding,8,16,30,\n";

std::string profile_csv_with(const std::string& what, const std::string& by) {
  return refusal_of_model(replaced(profile_csv_plain, what, by), "profile-csv");
}

}  // namespace

TEST_CASE("profile-csv: rows of a layer are its points, layers in order of their first row") {
  const ModelFile file = parse_model_file(profile_csv_plain);
  CHECK(file.format == "profile-csv");
  REQUIRE(file.profile.entries.size() == 2);
  const ProfileEntry& embedding = file.profile.entries[0];
  CHECK(embedding.layer == "embedding");
  CHECK(embedding.parameter_bytes == 400);
  REQUIRE(embedding.points.size() == 2);
  CHECK(embedding.points[0].examples == 8);
  CHECK(embedding.points[0].backward_us == 30);
  CHECK(embedding.points[1].forward_us == 40);
  CHECK(file.profile.entries[1].points.at(0).forward_us == 9);
  CHECK(!file.profile.entries[1].points[0].backward_us);
  REQUIRE(file.graph.layers.size() == 2);
  CHECK(file.graph.layers[1].name == "head");
  CHECK(file.graph.edges.size() == 1);
}

TEST_CASE("profile-csv: columns stand in any order; line ends, blanks and quotes change nothing") {
  const ModelFile file = parse_model_file(
      "\xEF\xBB\xBF"
      "stash_bytes, forward_us ,\"layer\",examples,activation_bytes,backward_weight_us,"
      "backward_input_us\r\n"
      "1,2,\"Conv2d(64, \"\"3x3\"\")\",4,5,6,7\r\n"
      "\r\n");
  REQUIRE(file.profile.entries.size() == 1);
  CHECK(file.profile.entries[0].layer == "Conv2d(64, \"3x3\")");
  const ProfilePoint& point = file.profile.entries[0].points.at(0);
  CHECK(point.stash_bytes == 1);
  CHECK(point.forward_us == 2);
  CHECK(point.examples == 4);
  CHECK(point.activation_bytes == 5);
  CHECK(point.backward_weight_us == 6);
  CHECK(point.backward_input_us == 7);
}

TEST_CASE("profile-csv: what does not fit is refused with its row and column, both from 0") {
  CHECK(profile_csv_with("embedding,32,40", "embedding,32,-40") ==
        "row 1, column 2: forward_us is \"-40\", not a number from 0 to 1000000000000");
  CHECK(profile_csv_with("head,32,9", "head,32,")
            .starts_with("row 2, column 2: forward_us is \"\", not a"));
  CHECK(profile_csv_with("40,90", "40,nan")
            .starts_with("row 1, column 3: backward_us is \"nan\", not a"));
  CHECK(profile_csv_with("40,90", "40,9e99")
            .starts_with("row 1, column 3: backward_us is \"9e99\", not a"));
  CHECK(profile_csv_with("head,32", "head,0")
            .starts_with("row 2, column 1: examples is \"0\", not a"));
  CHECK(
      profile_csv_with("head,32", "head,").starts_with("row 2, column 1: examples is \"\", not a"));
  CHECK(profile_csv_with("head,", " ,") ==
        "row 2, column 0: the row has no layer; its name is needed");
  CHECK(profile_csv_with(",8,", ",32,") ==
        "row 3, column 1: embedding has a row of 32 examples already; each number of examples has "
        "one");
  CHECK(
      profile_csv_with("30,\n", "30,500\n") ==
      "row 3, column 0: embedding has 500 parameter_bytes here and 400 above; a layer has the same "
      "in all rows");
  CHECK(profile_csv_with("9,,", "9,") ==
        "row 2, column 3: the row has 4 cells; row 0 names 5 columns");
  CHECK(profile_csv_with("9,,", "9,,,,") ==
        "row 2, column 6: the row has 7 cells; row 0 names 5 columns");
  CHECK(profile_csv_with("head", "\"head")
            .starts_with("row 2, column 0: \"head,32,9,, has quotes that do not "));
  CHECK(profile_csv_with("head", "\"he\"ad\"").starts_with("row 2, column 0: "));
  CHECK(profile_csv_with("head", std::string(1, '\0'))
            .starts_with("line 3: byte 0x00 is not UTF-8 text"));
}

TEST_CASE("profile-csv: a first row that does not name the columns is refused") {
  CHECK(profile_csv_with("backward_us", "backwards") ==
        "row 0, column 3: unknown column \"backwards\"; known: layer, examples, parameter_bytes, "
        "forward_us, backward_us, backward_input_us, backward_weight_us, activation_bytes, "
        "stash_bytes");
  CHECK(profile_csv_with("backward_us", "forward_us") ==
        "row 0, column 3: column 2 is forward_us already");
  CHECK(refusal_of_model("layer,forward_us\na,1\n") == "row 0: the column \"examples\" is missing");
  CHECK(refusal_of_model("layer,examples,forward_us\n") ==
        "row 1: there are no rows below the names");
  CHECK(refusal_of_model("", "profile-csv").starts_with("row 0, column 0: unknown column \"\"; "));
  CHECK(refusal_of_model("layer,forward_us" + std::string(1000, ',') + "\n")
            .starts_with("row 0, column 64: a row has 64 columns at most"));
}

}  // namespace penstock::testing
