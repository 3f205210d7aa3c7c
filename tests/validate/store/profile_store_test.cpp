#include "validate/store/profile_store.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "sim/base/error.hpp"
#include "tests/support/profile_rows.hpp"
#include "tests/support/scratch.hpp"
#include "validate/store/database.hpp"
#include "validate/store/store_file.hpp"

namespace penstock::testing {
namespace {

/// A new store of one row.
struct OneRow {
  const Scratch scratch;
  const std::string path = scratch.path("p.db");
  ProfileStore store{path, ProfileStore::Access::create};
  const ProfileRow row = gemm_row(64, {1, 2, 3});
  const RowId id = store.add({&row, 1}).at(0);
};

std::string refusal_of(const ProfileRow& row) {
  const Scratch scratch;
  ProfileStore store(scratch.path("p.db"), ProfileStore::Access::create);
  try {
    store.add({&row, 1});
  } catch (const InputError& error) {
    CHECK(store.rows().rows.empty());
    const std::string text = error.what();
    return text.substr(text.find("row 0"));
  }
  return "accepted";
}

}  // namespace

TEST_CASE("profile store: what is added is read back to the last bit, by whoever opens it") {
  const Scratch scratch;
  const std::string path = scratch.path("p.db");
  std::vector<ProfileRow> rows{gemm_row(64, {100.5, 1.0 / 3, 0}), gemm_row(128, {7e12})};
  rows[1].environment["uuid"] = "GPU-1";
  rows[1].canary_ns = 12.25;
  const std::vector<RowId> ids = ProfileStore(path, ProfileStore::Access::create).add(rows);
  REQUIRE(ids == std::vector{RowId{1}, RowId{2}});
  const StoredRows stored = ProfileStore(path).rows();
  CHECK(stored.unreadable.empty());
  REQUIRE(stored.rows.size() == 2);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CHECK(stored.rows[i].id == ids[i]);
    CHECK(stored.rows[i].state == RowState::valid);
    CHECK(stored.rows[i].schema == store_schema);
    CHECK(!stored.rows[i].origin);
    CHECK(same_row(stored.rows[i].row, rows[i]));
  }
  CHECK(stored.rows[0].environment != stored.rows[1].environment);
}

TEST_CASE_FIXTURE(OneRow, "profile store: every change of state leaves a verdict that says why") {
  const std::vector<StateChange> changes{{id, RowState::suspect, "40 days old"},
                                         {id, RowState::retired, "measured 12 % slower"}};
  store.change(changes, "2027-01-01T00:00:00Z");
  CHECK(store.row(id)->state == RowState::retired);
  const std::vector<RowVerdict> verdicts = store.verdicts(id);
  REQUIRE(verdicts.size() == 3);
  CHECK(verdicts[0].at == row.measured_at);
  CHECK(verdicts[0].why == "measured");
  CHECK(verdicts[1].state == RowState::suspect);
  CHECK(verdicts[1].why == "40 days old");
  CHECK(verdicts[2].state == RowState::retired);
  CHECK(verdicts[2].at == "2027-01-01T00:00:00Z");
}

TEST_CASE_FIXTURE(OneRow,
                  "profile store: a change decided from a state that is no longer so is not made") {
  // Two have read the row as suspect; the first retires it, and the second must not revive it.
  const auto change = [&](RowState to, std::optional<RowState> from) {
    const StateChange one{id, to, "because", from};
    return store.change({&one, 1}, row.measured_at).size();
  };
  CHECK(change(RowState::suspect, RowState::valid) == 1);
  CHECK(change(RowState::retired, RowState::suspect) == 1);
  CHECK(change(RowState::valid, RowState::suspect) == 0);
  CHECK(store.row(id)->state == RowState::retired);
  // What is there already leaves no second verdict.
  CHECK(change(RowState::retired, std::nullopt) == 0);
  CHECK(store.verdicts(id).size() == 3);
  CHECK(change(RowState::valid, std::nullopt) == 1);
  CHECK(store.verdicts(id).size() == 4);
}

TEST_CASE_FIXTURE(
    OneRow,
    "profile store: a row is made valid together with what repeats it, or neither is done") {
  StateChange change{id, RowState::suspect, "old"};
  store.change({&change, 1}, row.measured_at);
  DerivedRow again{row, id, "measured again"};
  change = {id, RowState::valid, "it holds", RowState::valid};  // it is not: it is suspect
  CHECK(!store.renew(change, again, row.measured_at));
  change.from = RowState::suspect;
  again.row.samples_ns = {};  // no measurement
  CHECK_THROWS_AS(store.renew(change, again, row.measured_at), InputError);
  again.row.samples_ns = {1, 2, 3};
  again.origin = RowId{9};  // no row: the database refuses the second half
  CHECK_THROWS(store.renew(change, again, row.measured_at));
  CHECK(store.row(id)->state == RowState::suspect);
  CHECK(store.rows().rows.size() == 1);
  again.origin = id;
  CHECK(store.renew(change, again, row.measured_at) == RowId{2});
  CHECK(store.row(id)->state == RowState::valid);
  CHECK(store.verdicts(id).back().why == "it holds");
  CHECK(store.row(RowId{2})->origin == id);
}

TEST_CASE_FIXTURE(OneRow, "profile store: of several changes all are kept, or none") {
  const std::vector<StateChange> changes{{id, RowState::retired, "by hand"},
                                         {RowId{9}, RowState::retired, "by hand"}};
  CHECK_THROWS_AS(store.change(changes, row.measured_at), UsageError);
  CHECK(store.row(id)->state == RowState::valid);
  CHECK(store.verdicts(id).size() == 1);
  CHECK(!store.row(RowId{9}));
}

TEST_CASE("profile store: a sample takes eight bytes") {
  // 200 rows of 1000 samples hold 1.6 MB; beside them there is little.
  const Scratch scratch;
  const std::string path = scratch.path("p.db");
  {
    ProfileStore store(path, ProfileStore::Access::create);
    store.add(std::vector<ProfileRow>(200, gemm_row(64, std::vector<double>(1000, 1.0 / 3))));
  }
  CHECK(content_of(path).size() >= 200 * 1000 * 8);
  CHECK(content_of(path).size() < 200 * 1000 * 12);
}

TEST_CASE("profile store: a row that no measurement can give is refused, and none is added") {
  ProfileRow row = gemm_row(64, {1, 2});
  CHECK(refusal_of(row) == "accepted");
  row.samples_ns = {1, -2};
  CHECK(refusal_of(row) == "row 0 of those to be added: its sample 1 is -2; a time is 0 or more");
  row.samples_ns = {1, std::numeric_limits<double>::quiet_NaN()};
  CHECK(refusal_of(row) == "row 0 of those to be added: its sample 1 is nan; a time is 0 or more");
  row.samples_ns = {};
  CHECK(refusal_of(row) == "row 0 of those to be added: it has no samples");
  row = gemm_row(64, {1});
  row.canary_ns = std::numeric_limits<double>::infinity();
  CHECK(refusal_of(row) == "row 0 of those to be added: its canary took inf; a time is 0 or more");
  row = gemm_row(64, {1});
  row.point.kernel = "";
  CHECK(refusal_of(row) == "row 0 of those to be added: its kernel has no name");
  row.point.kernel = "a\nb";
  CHECK(refusal_of(row) == "row 0 of those to be added: its kernel holds control characters");
  row = gemm_row(64, {1});
  row.measured_at = "2026-02-30T00:00:00Z";
  CHECK(refusal_of(row) ==
        "row 0 of those to be added: it was measured at \"2026-02-30T00:00:00Z\"; a time reads "
        "2026-11-21T18:40:00Z");
  row = gemm_row(64, {1});
  row.environment["a=b"] = "c";
  CHECK(refusal_of(row) ==
        "row 0 of those to be added: its environment has a key that is empty or holds a \"=\"");
}

TEST_CASE_FIXTURE(OneRow, "profile store: nothing is ever deleted, not even by another program") {
  Database database(path, Database::Access::write);
  for (const char* table : {"profile", "sample", "verdict"}) {
    CAPTURE(table);
    CHECK_THROWS_AS(database.run(std::string("DELETE FROM ") + table), DatabaseError);
  }
  CHECK(ProfileStore(path).rows().rows.size() == 1);
}

TEST_CASE_FIXTURE(OneRow, "profile store: a store that is there is opened, not made anew") {
  ProfileStore(path, ProfileStore::Access::create).add({&row, 1});
  CHECK(ProfileStore(path).rows().rows.size() == 2);
  CHECK(looks_like_store(path));
  CHECK(!looks_like_store(scratch.file("t.txt", "SQLite")));
  CHECK(!looks_like_store(scratch.path("absent")));
}

TEST_CASE_FIXTURE(OneRow, "profile store: one that is open to be read is not written to") {
  ProfileStore reader(path);
  CHECK_THROWS_AS(reader.add({&row, 1}), StoreError);
  CHECK(reader.rows().rows.size() == 1);
}

}  // namespace penstock::testing
