#include "validate/store/spot_check.hpp"

#include <doctest/doctest.h>

#include <utility>

#include "tests/support/profile_rows.hpp"
#include "tests/support/scratch.hpp"

namespace penstock::testing {
namespace {

/// 40 days after the rows were measured: all of them are suspect, for their age alone.
Today later() {
  return {
      .environment = gemm_row(1, {}).environment, .build = "b1", .date = "2026-12-10T12:00:00Z"};
}

/// Rows of some sizes, 100 ns each.
std::vector<ProfileRow> spot_rows_of(const std::vector<int>& sizes) {
  std::vector<ProfileRow> rows;
  for (const int size : sizes) rows.push_back(gemm_row(size, std::vector<double>(10, 100)));
  return rows;
}

std::vector<ProfileRow> seven_of_driver(const char* version) {
  std::vector<ProfileRow> rows = spot_rows_of({16, 24, 32, 48, 64, 96, 128});
  for (ProfileRow& row : rows) row.environment["driver"] = version;
  return rows;
}

/// A store of rows of some sizes, 100 ns each, on a clock that a test moves.
class Stored {
 public:
  explicit Stored(const std::vector<int>& sizes)
      : store(scratch_.path("p.db"), ProfileStore::Access::create) {
    store.add(spot_rows_of(sizes));
  }

  /// Each measurement takes a second, and gives what `ns` says of a size and of how often that was
  /// asked for before; below 0: it cannot be measured.
  template <class Ns>
  SpotCheck check(Ns ns, double budget_s = 1000, const Today& today = later()) {
    std::map<std::string, int> asked;
    const Remeasure remeasure = [&](const KernelPoint& point,
                                    int repeats) -> std::optional<std::vector<double>> {
      clock += 1;
      order.push_back(point.shape.substr(point.shape.rfind('=') + 1));
      const double time = ns(std::stoi(order.back()), asked[point.shape]++);
      if (time < 0) return std::nullopt;
      return std::vector<double>(static_cast<std::size_t>(repeats), time);
    };
    return spot_check(store, today, remeasure, canary,
                      {.seconds = budget_s, .elapsed_s = [&] { return clock; }});
  }

  RowState state(std::int64_t id) const { return store.row(RowId{id})->state; }
  std::string last_verdict(std::int64_t id) const { return store.verdicts(RowId{id}).back().why; }

 private:
  Scratch scratch_;

 public:
  ProfileStore store;
  Canary canary = [] { return 1000; };
  double clock = 0;
  std::vector<std::string> order;
};

}  // namespace

TEST_CASE("spot check: a row that holds is valid again, and its samples are a new row") {
  Stored stored({64});
  const SpotCheck done = stored.check([](int, int) { return 102; });
  REQUIRE(done.measured.size() == 1);
  CHECK(done.measured[0].holds);
  CHECK(done.measured[0].change == doctest::Approx(0.02));
  CHECK(stored.state(1) == RowState::valid);
  CHECK(stored.store.verdicts(RowId{1}).size() == 1);  // the store said no worse
  const auto again = stored.store.row(RowId{2});
  REQUIRE(again);
  CHECK(done.measured[0].again == RowId{2});
  CHECK(again->origin == RowId{1});
  CHECK(again->row.samples_ns == std::vector<double>(10, 102));
  CHECK(again->row.measured_at == later().date);
  CHECK(stored.last_verdict(2) == "row 1 measured again, +2.0 % off");
  // Nothing is left to be done: the new row stands for both.
  CHECK(stored.check([](int, int) { return 500; }).measured.empty());
}

TEST_CASE("spot check: what another process does to a row meanwhile is not undone") {
  // The row is retired by hand while it is being measured again.
  Stored stored({64});
  const StateChange by_hand{RowId{1}, RowState::retired, "the fan was broken"};
  stored.check([&](int, int) {
    stored.store.change({&by_hand, 1}, later().date);
    return 100;
  });
  CHECK(stored.state(1) == RowState::retired);
  CHECK(stored.last_verdict(1) == "the fan was broken");
  CHECK(stored.store.rows().rows.size() == 1);
}

TEST_CASE("spot check: one measurement that is off is asked again, a second one retires the row") {
  Stored stored({64, 128});
  const SpotCheck done = stored.check([](int size, int before) {
    return size == 64 && before == 1 ? 101 : 110;  // 64: off, then close; 128: off twice
  });
  REQUIRE(done.measured.size() == 2);
  CHECK(stored.state(1) == RowState::valid);
  CHECK(stored.state(2) == RowState::retired);
  CHECK(stored.last_verdict(2) == "measured twice again, +10.0 % off at last; 3.0 % would do");
  CHECK(stored.order == std::vector<std::string>{"64", "64", "128", "128"});
}

TEST_CASE("spot check: a row may be off by three times its own spread") {
  // Half of the samples are 4 ns or more from their median of 100: 12 % would do.
  const Scratch scratch;
  ProfileStore store(scratch.path("p.db"), ProfileStore::Access::create);
  const ProfileRow row = gemm_row(64, {96, 96, 100, 104, 104});
  store.add({&row, 1});
  const auto at = [&](double ns) {
    const Remeasure remeasure = [ns](const KernelPoint&, int repeats) {
      return std::vector<double>(static_cast<std::size_t>(repeats), ns);
    };
    return spot_check(store, later(), remeasure, [] { return 1000; });
  };
  CHECK(at(111).measured.at(0).holds);
}

TEST_CASE("spot check: while the canary is off, nothing is said of a row") {
  // It took 1000 ns when the row was measured: 1040 are 4 % off, 1020 and 975 are within 3 %. Each
  // attempt takes two; a row that is far off is measured twice.
  for (const std::vector<double>& taken : std::vector<std::vector<double>>{
           {1040, 1000}, {1000, 1040}, {1000, 960}, {1000, 1000, 1000, 1040}}) {
    CAPTURE(taken.size());
    Stored stored({64});
    std::size_t next = 0;
    stored.canary = [&] { return taken.at(next++); };
    const SpotCheck done = stored.check([&](int, int) { return taken.size() == 2 ? 100 : 200; });
    CHECK(next == taken.size());
    CHECK(done.not_quiet == std::vector<RowId>{RowId{1}});
    CHECK(done.measured.empty());
    CHECK(stored.store.verdicts(RowId{1}).size() == 1);
    CHECK(stored.store.rows().rows.size() == 1);
  }
  Stored stored({64});
  std::vector<double> taken{975, 1020};
  stored.canary = [&] { return std::exchange(taken.front(), taken.back()); };
  const SpotCheck done = stored.check([](int, int) { return 100; });
  CHECK(done.not_quiet.empty());
  REQUIRE(done.measured.size() == 1);
  CHECK(stored.store.row(RowId{2})->row.canary_ns == 1020);
}

TEST_CASE("spot check: where no canary is known, there is nothing to hold one against") {
  Stored stored({});
  ProfileRow row = gemm_row(64, std::vector<double>(10, 100));
  row.canary_ns = 0;
  stored.store.add({&row, 1});
  stored.canary = [] { return 77; };
  CHECK(stored.check([](int, int) { return 100; }).measured.size() == 1);
  CHECK(stored.store.row(RowId{2})->row.canary_ns == 77);
}

TEST_CASE("spot check: those rows come first against which most speaks, as far as time goes") {
  // Age counts 1, another patch of the driver 1 besides, another system half: 1, 2 and 1.5. A row
  // takes a second; after two seconds the first is left.
  Stored stored({});
  std::vector<ProfileRow> rows = spot_rows_of({16, 32, 64});
  rows[1].environment["driver"] = "1.2.3";
  rows[2].environment["os"] = "Linux 6.0";
  stored.store.add(rows);
  Today today = later();
  today.environment["driver"] = "1.2.4";
  const SpotCheck done = stored.check([](int, int) { return 100; }, 2, today);
  CHECK(stored.order == std::vector<std::string>{"32", "64"});
  CHECK(done.left == std::vector<RowId>{RowId{1}});
  CHECK(done.measured.size() == 2);
  CHECK(stored.state(1) == RowState::valid);  // the store said no worse
}

TEST_CASE("spot check: without time, nothing is measured") {
  Stored stored({64});
  CHECK(stored.check([](int, int) { return 100; }, 0).measured.empty());
}

TEST_CASE("spot check: where three of five do not hold, their group is retired with them") {
  // Seven rows: 1 and 3 hold, 2, 4 and 5 do not. 6 and 7 were not measured; of another build is
  // none.
  Stored stored({16, 24, 32, 48, 64, 96, 128});
  const SpotCheck done =
      stored.check([](int size, int) { return size == 16 || size == 32 ? 100 : 150; });
  CHECK(done.measured.size() == 5);
  CHECK(done.retired_with_group == std::vector<RowId>{RowId{6}, RowId{7}});
  CHECK(stored.last_verdict(7) ==
        "three of five rows of its kernel, build and environment did not hold");
  CHECK(stored.state(1) == RowState::valid);
  CHECK(stored.state(6) == RowState::retired);
  CHECK(stored.state(8) == RowState::valid);  // what row 1 measured anew
}

TEST_CASE("spot check: three kernels of which a row each does not hold retire no other rows") {
  // Rows off a curve are suspect for themselves; of gemm, copy and busy the first row is one.
  Stored stored({});
  for (const char* kernel : {"gemm", "copy", "busy"}) {
    std::vector<ProfileRow> rows = spot_rows_of({16, 64});
    for (ProfileRow& row : rows) row.point.kernel = kernel;
    stored.store.add(rows);
  }
  const SpotCheck done = stored.check([](int size, int) { return size == 16 ? 150 : 100; });
  CHECK(done.measured.size() == 6);
  CHECK(done.retired_with_group.empty());
  for (const std::int64_t id : {2, 4, 6}) CHECK(stored.state(id) == RowState::valid);
}

TEST_CASE("spot check: what is only recorded of an environment stays with the row") {
  Stored stored({});
  ProfileRow row = gemm_row(64, std::vector<double>(10, 100));
  row.environment["clock"] = "thread CPU time";
  stored.store.add({&row, 1});
  stored.check([](int, int) { return 100; });
  CHECK(stored.store.row(RowId{2})->row.environment == row.environment);
}

TEST_CASE("spot check: two of five that do not hold retire themselves alone") {
  Stored stored({16, 24, 32, 48, 64});
  const SpotCheck done =
      stored.check([](int size, int) { return size == 24 || size == 48 ? 150 : 100; });
  CHECK(done.retired_with_group.empty());
  CHECK(stored.state(2) == RowState::retired);
  CHECK(stored.state(5) == RowState::valid);
}

TEST_CASE("spot check: when a driver's patch passes, the others are taken over to it") {
  // Seven rows under driver 1.2.3, today 1.2.4. There is time for five of them, which hold.
  Stored stored({});
  const std::vector<ProfileRow> rows = seven_of_driver("1.2.3");
  stored.store.add(rows);
  Today today = later();
  today.date = "2026-11-02T00:00:00Z";
  today.environment["driver"] = "1.2.4";
  const SpotCheck done = stored.check([](int, int) { return 100; }, 5, today);
  CHECK(done.measured.size() == 5);
  REQUIRE(done.taken_over == std::vector<RowId>{RowId{13}, RowId{14}});
  const auto taken = stored.store.row(RowId{13});
  REQUIRE(taken);
  CHECK(taken->origin == RowId{6});
  CHECK(taken->state == RowState::valid);
  CHECK(taken->row.environment == today.environment);
  CHECK(taken->row.measured_at == rows[0].measured_at);  // it is as old as it is
  CHECK(stored.last_verdict(13) == "row 6 taken over: all 5 rows measured again here hold");
  const StoredRows now = stored.store.rows();
  for (const RowJudgement& judgement : judge(now.rows, today)) {
    CAPTURE(index(judgement.id));
    CHECK((judgement.superseded_by || judgement.state == RowState::valid));
  }
}

TEST_CASE("spot check: nothing is taken over while a row does not hold, or too few were measured") {
  for (const bool one_fails : {true, false}) {
    Stored stored({});
    stored.store.add(seven_of_driver("1.2.3"));
    Today today = later();
    today.environment["driver"] = "1.2.4";
    const SpotCheck done =
        stored.check([&](int size, int) { return one_fails && size == 16 ? 200 : 100; },
                     one_fails ? 6 : 4, today);
    CHECK(done.taken_over.empty());
  }
}

TEST_CASE("spot check: what cannot be measured here is named and stays as it is") {
  Stored stored({64, 128});
  const SpotCheck done = stored.check([](int size, int) { return size == 64 ? -1 : 100; });
  CHECK(done.cannot_be_measured == std::vector<RowId>{RowId{1}});
  CHECK(done.measured.size() == 1);
  CHECK(stored.store.verdicts(RowId{1}).size() == 1);
}

TEST_CASE("spot check: of what was judged, faults of a row are written with their reasons, once") {
  // Both rows are suspect for their age; the second has too few samples besides.
  Stored stored({64});
  const ProfileRow few = gemm_row(128, {100, 100});
  stored.store.add({&few, 1});
  const auto recorded = [&] {
    const std::vector<StoredRow> rows = stored.store.rows().rows;
    return record(stored.store, rows, judge(rows, later()), later());
  };
  CHECK(recorded() == 1);
  CHECK(stored.state(1) == RowState::valid);
  CHECK(stored.state(2) == RowState::retired);
  CHECK(stored.last_verdict(2) == "it has fewer than 5 samples: 2");
  CHECK(recorded() == 0);
  CHECK(stored.store.verdicts(RowId{2}).size() == 2);
}

TEST_CASE("spot check: programs of two builds and drivers share a store and retire no rows there") {
  // Each has a row of its own; what the other measured is unfit for it, and stays valid.
  Stored stored({64});
  ProfileRow other = gemm_row(64, std::vector<double>(10, 300));
  other.build = "b2";
  other.environment["driver"] = "2.0";
  stored.store.add({&other, 1});
  Today first = later();
  first.date = "2026-11-01T12:00:00Z";
  Today second = first;
  second.build = "b2";
  second.environment["driver"] = "2.0";
  Today third = second;
  third.environment["driver"] = "3.0";
  struct Expected {
    Today today;
    bool unfit_1;
    bool unfit_2;
  };
  for (const Expected& expected :
       {Expected{first, false, true}, Expected{second, true, false}, Expected{third, true, true}}) {
    const std::vector<StoredRow> rows = stored.store.rows().rows;
    const std::vector<RowJudgement> judgements = judge(rows, expected.today);
    CHECK(judgements[0].unfit == expected.unfit_1);
    CHECK(judgements[1].unfit == expected.unfit_2);
    CHECK(judgements[0].state == (expected.unfit_1 ? RowState::retired : RowState::valid));
    CHECK(record(stored.store, rows, judgements, expected.today) == 0);
  }
  for (const std::int64_t id : {1, 2}) {
    CHECK(stored.state(id) == RowState::valid);
    CHECK(stored.store.verdicts(RowId{id}).size() == 1);
  }
}

}  // namespace penstock::testing
