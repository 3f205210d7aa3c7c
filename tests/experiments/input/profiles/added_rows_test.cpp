#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "experiments/input/profiles/profile_standing.hpp"
#include "tests/support/profile_rows.hpp"
#include "tests/support/says.hpp"
#include "tests/support/scratch.hpp"

namespace penstock::testing {

TEST_CASE("added rows are counted by state, with the reason of each that is not valid") {
  const Scratch scratch;
  ProfileStore store(scratch.path("machine.profile"), ProfileStore::Access::create);
  std::vector<ProfileRow> before = mlp_rows({7});
  before[0].samples_ns.resize(2);  // retired, but not of those added later
  store.add(before);
  std::vector<ProfileRow> rows = mlp_rows({1});
  rows[1].samples_ns = {1000, 1300, 700, 1450, 550, 1000};
  rows[2].measured_at = "2020-01-01T00:00:00Z";
  const JudgedRows added = judged_rows(store, store.add(rows), today_here());
  const nlohmann::ordered_json document = added_rows_json(added);
  CHECK(document["added"] == 3);
  CHECK(document["valid"] == 1);
  CHECK(document["suspect"] == 1);
  CHECK(document["retired"] == 1);
  REQUIRE(document["not_valid"].size() == 2);
  CHECK(document["not_valid"][0]["id"] == 6);
  CHECK(document["not_valid"][1]["reasons"][0] ==
        "its samples are 30.0 % from their median, more than 10.0 %");
  CHECK(document["reasons"]["its samples are … % from their median, more than 10.0 %"] == 1);
  const std::string text = added_rows_text(added);
  CHECK(says(text, "\n  1 row: its samples are … % from"));
  CHECK(text.find("3 rows added to ") == 0);
  CHECK(says(text, ": 1 valid, 1 suspect, 1 retired\n"));
  CHECK(says(text, "30.0 % from their median"));
  CHECK(says(text, "penstock profile check "));
  CHECK(says(text, "penstock calibrate -o "));
}

TEST_CASE("of added rows that are all valid, their number is all there is to say") {
  const Scratch scratch;
  ProfileStore store(scratch.path("machine.profile"), ProfileStore::Access::create);
  const JudgedRows added = judged_rows(store, store.add(mlp_rows({1})), today_here());
  CHECK(added_rows_text(added) ==
        "3 rows added to " + scratch.path("machine.profile") + ": 3 valid\n");
}

}  // namespace penstock::testing
