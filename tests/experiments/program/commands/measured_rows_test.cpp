#include <doctest/doctest.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/run/run.hpp"
#include "tests/support/profile_rows.hpp"
#include "tests/support/profile_workplace.hpp"
#include "tests/support/says.hpp"
#include "validate/store/database.hpp"

namespace penstock::testing {

using nlohmann::json;

TEST_CASE("measured rows: a run takes its times from a store, and prints which rows these were") {
  // 1 example of 1 and 2 measured: rows 1 to 3 at one, 4 to 6 at two, between which it lies.
  const Workplace workplace;
  const json document = workplace.json_of({"run", "s.json"});
  CHECK(document["makespan_us"] == 120);
  CHECK(ids_of(document["profile_rows"]) == std::vector<std::int64_t>{1, 2, 3, 4, 5, 6});
  CHECK(document["profile_rows"][0]["state"] == "valid");
  const std::string text = workplace.run({"run", "s.json"}).output;
  CHECK(says(text, "profile rows used"));
  CHECK(says(text, "examples=2 hidden=8 intermediate=32 sequence=16"));
}

TEST_CASE("measured rows: suspect ones are refused by number, unless that is allowed") {
  const Workplace workplace;
  workplace.change(2, RowState::suspect);
  const ProgramRun refused = workplace.run({"run", "s.json"});
  CHECK(refused.code == 3);
  CHECK(refused.output.empty());
  CHECK(says(refused.errors,
             "s.json: /hardware/profile: 1 of the 6 rows used are suspect: 2; "
             "penstock profile check machine.profile says why, and with --budget 10 "
             "measures them again; to use them as they are: penstock run "
             "--allow-stale"));
  const json allowed = workplace.json_of({"run", "s.json", "--allow-stale"});
  CHECK(allowed["profile_rows"][1]["state"] == "suspect");
}

TEST_CASE(
    "measured rows: retired ones are never used, and a newer one takes an older one's place") {
  // Without row 1 there is no forward at one example: what is left at two scales.
  const Workplace workplace;
  workplace.change(1, RowState::retired);
  json document = workplace.json_of({"run", "s.json"});
  CHECK(ids_of(document["profile_rows"]) == std::vector<std::int64_t>{4, 5, 6});
  CHECK(document["makespan_us"] == 120);
  // A forward that takes 20 us, measured now: (4 + 1) * (20 + 14) us.
  std::vector<ProfileRow> again{mlp_rows({1})[0]};
  again[0].samples_ns.assign(10, 20'000);
  workplace.store().add(again);
  document = workplace.json_of({"run", "s.json"});
  CHECK(ids_of(document["profile_rows"]) == std::vector<std::int64_t>{2, 3, 4, 5, 6, 7});
  CHECK(document["makespan_us"] == 170);
  workplace.change(4, RowState::retired);
  workplace.change(7, RowState::retired);
  const ProgramRun none = workplace.run({"run", "s.json", "--allow-stale"});
  CHECK(none.code == 3);
  CHECK(says(none.errors,
             "none of its 7 rows can be used for the forward pass of a layer; penstock "
             "profile check machine.profile says why"));
}

TEST_CASE("measured rows: they speak for layers of their numbers alone") {
  const Workplace workplace;
  for (const auto& example : std::vector<std::pair<std::string, int>>{
           {"/model/layers/0/bias=0", 0},  // as it is otherwise
           {"/model/layers/0/hidden=16", 3},
           {"/model/sequence=32", 3},
           {"/parallel/tensor=2", 3}}) {
    CAPTURE(example.first);
    CHECK(workplace.run({"run", "s.json", "--set", example.first}).code == example.second);
  }
}

TEST_CASE("measured rows: by tokens, it does not matter how these are shared out to examples") {
  std::vector<ProfileRow> rows = mlp_rows({1, 2});
  for (ProfileRow& row : rows) {
    const bool two = says(row.point.shape, "examples=2");
    row.point.shape = fmt::format("hidden=8 intermediate=32 tokens={}", two ? 32 : 16);
  }
  const Workplace workplace(rows);
  const auto makespan = [&](const std::vector<std::string>& settings) {
    std::vector<std::string> words{"run", "s.json"};
    for (const std::string& setting : settings) words.insert(words.end(), {"--set", setting});
    return workplace.json_of(words)["makespan_us"];
  };
  CHECK(makespan({}) == 120);
  CHECK(makespan({"/model/sequence=32"}) == 240);
  CHECK(makespan({"/model/sequence=8", "/model/microbatch=2"}) == 120);
}

TEST_CASE("measured rows: a block of several parts takes what all of them take together") {
  // An mlp and a norm: 10 + 3 us forward, 14 + 5 us backward; (4 + 1) * 32 us.
  std::vector<ProfileRow> rows = mlp_rows({1});
  for (const auto& [pass, us] : std::vector<std::pair<std::string, double>>{
           {"forward", 3}, {"backward_input", 4}, {"backward_weight", 1}}) {
    ProfileRow row = rows[0];
    row.point = {"norm", pass, "examples=1 hidden=8 sequence=16", "solo"};
    row.samples_ns.assign(10, 1000 * us);
    rows.push_back(row);
  }
  const Workplace workplace(rows);
  workplace.file("s.json", R"({
    "model": { "layers": [ { "parts": [ { "kind": "norm", "hidden": 8 },
                             { "kind": "mlp", "hidden": 8, "intermediate": 32 } ], "repeat": 2 } ],
               "sequence": 16, "microbatch": 1 },
    "hardware": { "name": "measured", "profile": "machine.profile" },
    "parallel": { "pipeline": 2 },
    "schedule": { "name": "1f1b", "microbatches": 4 } })");
  const json document = workplace.json_of({"run", "s.json"});
  CHECK(document["makespan_us"] == 160);
  CHECK(document["profile_rows"].size() == 6);
}

TEST_CASE("measured rows: a snapshot says the same as its store, and stays what it is") {
  const Workplace workplace;
  workplace.change(2, RowState::suspect);
  REQUIRE(workplace.run({"profile", "snapshot", "machine.profile", "-o", "p.json"}).code == 0);
  const json snapshot = json::parse(content_of(workplace.path("p.json")));
  CHECK(snapshot["profile"]["rows"].size() == 6);
  CHECK(snapshot["profile"]["layers"][0]["numbers"]["hidden"] == 8);
  const auto run = [&](const char* profile, bool stale) {
    std::vector<std::string> words{"run", "s.json", "--json", "--set",
                                   fmt::format("/hardware/profile={}", profile)};
    if (stale) words.emplace_back("--allow-stale");
    return workplace.run(words);
  };
  CHECK(run("p.json", false).code == 3);
  const std::string before = run("p.json", true).output;
  CHECK(before == run("machine.profile", true).output);
  workplace.change(1, RowState::retired);
  CHECK(before == run("p.json", true).output);
  CHECK(before != run("machine.profile", true).output);
}

TEST_CASE("measured rows: a changed snapshot is refused, and one without a checksum is unchecked") {
  const Workplace workplace;
  REQUIRE(workplace.run({"profile", "snapshot", "machine.profile", "-o", "p.json"}).code == 0);
  const json snapshot = json::parse(content_of(workplace.path("p.json")));
  const auto run = [&](const json& profile) {
    workplace.file("p.json", profile.dump());
    return workplace.run({"run", "s.json", "--set", "/hardware/profile=p.json"});
  };
  const ProgramRun plain = run(snapshot);
  CHECK(plain.code == 0);
  CHECK(!says(plain.output, "checksum"));
  json same = snapshot;
  same["profile"]["layers"][0]["points"][0]["examples"] = 1;  // was 1.0
  CHECK(run(same).output == plain.output);
  for (const char* where : {"/profile/layers/0/points/0/forward_us", "/profile/rows/0/id",
                            "/profile/layers/0/numbers/hidden"}) {
    json changed = snapshot;
    changed[json::json_pointer(where)] = 7;
    CAPTURE(where);
    CHECK(run(changed).code == 3);
  }
  json changed = snapshot;
  changed["profile"]["environment"]["cpu"] = "another";
  CHECK(says(run(changed).errors,
             "p.json: /profile/checksum: it is not that of the profile, which "
             "was changed; "));
  changed["profile"].erase("checksum");
  const ProgramRun unchecked = run(changed);
  CHECK(unchecked.code == 0);
  CHECK(says(unchecked.output, "p.json has no checksum: whether it was changed is unknown"));
}

TEST_CASE("measured rows: a run says that they are of another machine, and JSON which") {
  CHECK(!says(Workplace().run({"run", "s.json"}).output, "layer times are of "));
  std::vector<ProfileRow> rows = mlp_rows({1, 2});
  for (ProfileRow& row : rows) row.environment = {{"cpu", "made-up"}, {"cores", "3"}};
  const Workplace workplace(rows);
  REQUIRE(workplace.run({"profile", "snapshot", "machine.profile", "-o", "p.json"}).code == 0);
  for (const char* profile : {"machine.profile", "p.json"}) {
    const std::string setting = fmt::format("/hardware/profile={}", profile);
    const ProgramRun text = workplace.run({"run", "s.json", "--set", setting});
    CHECK(says(text.output, "layer times are of cores 3, made-up; this is "));
    const json document = workplace.json_of({"run", "s.json", "--set", setting});
    CHECK(document["profile_environment"] == json{{"cores", "3"}, {"cpu", "made-up"}});
    CHECK(says(document["notes"].dump(), "layer times are of "));
  }
}

TEST_CASE("measured rows: of several other machines, one is to be chosen for a snapshot") {
  std::vector<ProfileRow> rows = mlp_rows({1});
  for (ProfileRow& row : rows) row.environment = {{"device", "one"}};
  for (ProfileRow row : mlp_rows({1})) {
    row.environment = {{"device", "two"}};
    row.samples_ns.assign(10, 100'000);
    rows.push_back(row);
  }
  const Workplace workplace(rows);
  const ProgramRun refused = workplace.run({"run", "s.json"});
  CHECK(refused.code == 3);
  CHECK(says(refused.errors, "environments 1 (one), 2 (two)"));
  REQUIRE(workplace
              .run({"profile", "snapshot", "machine.profile", "--environment", "2", "-o", "p.json"})
              .code == 0);
  const json document = workplace.json_of({"run", "s.json", "--set", "/hardware/profile=p.json"});
  CHECK(document["makespan_us"] == 5 * 300);
  CHECK(ids_of(document["profile_rows"]) == std::vector<std::int64_t>{4, 5, 6});
  CHECK(workplace.run({"profile", "snapshot", "machine.profile", "--environment", "9", "-o", "-"})
            .code == 3);
}

TEST_CASE(
    "measured rows: a store with a row that cannot be read is refused, and says how to go on") {
  const Workplace workplace;
  Database(workplace.path("machine.profile"), Database::Access::write)
      .run("UPDATE profile SET shape = 'x' WHERE id = 3");
  const ProgramRun refused = workplace.run({"run", "s.json"});
  CHECK(refused.code == 3);
  CHECK(says(refused.errors,
             "1 of its rows cannot be read, the first of them 3: its checksum is not that "
             "of its content"));
  const ProgramRun check = workplace.run({"profile", "check", "machine.profile"});
  CHECK(check.code == 1);
  CHECK(says(check.output, "row 3 cannot be read"));
}

}  // namespace penstock::testing
