#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/base/error.hpp"
#include "tests/support/scratch.hpp"
#include "tests/support/stored_rows.hpp"
#include "validate/store/database.hpp"
#include "validate/store/profile_store.hpp"
#include "validate/store/store_file.hpp"

// Files that are no store, or a damaged one.

namespace penstock::testing {
namespace {

namespace fs = std::filesystem;

void write_at(const std::string& path, std::size_t place, const std::string& bytes) {
  const int file = ::open(path.c_str(), O_WRONLY);
  REQUIRE(::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(place)) ==
          static_cast<ssize_t>(bytes.size()));
  ::close(file);
}

}  // namespace

TEST_CASE("store faults: a file that is none is refused in words") {
  const Scratch scratch;
  CHECK(store_refusal(scratch.file("empty.db", "")) ==
        "it is empty; a profile store has tables even without rows");
  CHECK(store_refusal(scratch.file("text.db", "layer,examples\n")) ==
        "not a profile store: no SQLite header");
  CHECK(store_refusal(scratch.path("")) == "it is a folder; a profile store is a file");
  CHECK(store_refusal("/dev/null") == "it is a device or a pipe; a profile store is a file");
  CHECK(store_refusal(scratch.path("absent")) == "cannot open: No such file or directory");
  const std::string pipe = scratch.path("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(store_refusal(pipe) == "it is a device or a pipe; a profile store is a file");
  Database(scratch.path("other.db"), Database::Access::create).run("CREATE TABLE t (a)");
  CHECK(store_refusal(scratch.path("other.db")) ==
        "it is a database of something else, no profile store");
}

TEST_CASE("store faults: a store of a newer version is refused, and says which") {
  const Scratch scratch;
  const std::string path = store_with(scratch, 1);
  Database(path, Database::Access::write).run("PRAGMA user_version = 7");
  CHECK(store_refusal(path) ==
        "its schema is version 7, and this program knows none above 1; use a newer one");
  Database(path, Database::Access::write).run("PRAGMA user_version = 0");
  CHECK(store_refusal(path) == "its schema is version 0; there is none below 1");
}

TEST_CASE(
    "store faults: a file of a format of SQLite that there is not is refused as none of its") {
  const Scratch scratch;
  const std::string path = store_with(scratch, 1);
  constexpr std::size_t schema_format = 47;  // from 1 to 4
  write_at(path, schema_format, "\xff");
  CHECK(store_refusal(path) ==
        "not a profile store, or its header is damaged: cannot go on: unsupported file format");
}

TEST_CASE("store faults: nothing that a file brings along beside its tables is run") {
  for (const char* statement :
       {"CREATE TRIGGER t AFTER INSERT ON verdict BEGIN DELETE FROM env; END",
        "CREATE VIEW v AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT i "
        "FROM n",
        "DROP TRIGGER profile_stays", "ALTER TABLE env ADD COLUMN more TEXT"}) {
    CAPTURE(statement);
    const Scratch scratch;
    const std::string path = store_with(scratch, 1);
    Database(path, Database::Access::write).run(statement);
    const std::string text = store_refusal(path);
    CHECK((text == "its tables are not those of a profile store" ||
           text == "it lacks tables that a profile store has"));
  }
}

TEST_CASE("store faults: of a file that is cut off, the rows in front of the cut are recovered") {
  // 50 rows of 8 kB lie one after the other, so that half of the file holds about half of them.
  const Scratch scratch;
  const std::string path = store_with(scratch, 50, 1000);
  const auto size = fs::file_size(path);
  fs::resize_file(path, size / 2 + 100);
  const std::string text = store_refusal(path);
  CHECK(text.starts_with("the file is damaged: "));
  CHECK(text.ends_with("check " + path + " --recover OUT saves the rows that can still be read"));
  const std::string saved = scratch.path("saved.db");
  const Recovery recovery = recover_store(path, saved);
  CHECK(recovery.readable > 10);
  CHECK(recovery.readable < 40);
  CHECK(recovery.readable + recovery.damaged.size() == 50);
  const StoredRows rows = ProfileStore(saved).rows();
  REQUIRE(rows.rows.size() == recovery.readable);
  for (const StoredRow& row : rows.rows) CHECK(same_row(row.row, rows_of(1, 1000)[0]));
  CHECK(fs::file_size(path) == size / 2 + 100);  // as it was
}

TEST_CASE("store faults: a flipped byte costs no row but its own, wherever it is") {
  // Every 997th byte of the file in turn: the store is whole, or one is told which rows are not.
  const Scratch scratch;
  const std::string path = store_with(scratch, 30, 200);
  const std::string content = content_of(path);
  const std::vector<ProfileRow> expected = rows_of(1, 200);
  std::size_t refused = 0;
  std::size_t recovered = 0;
  for (std::size_t place = 40; place < content.size(); place += 997) {
    CAPTURE(place);
    write_at(path, place, {static_cast<char>(content[place] ^ 0x5a)});
    try {
      const StoredRows stored = ProfileStore(path).rows();
      CHECK(stored.rows.size() + stored.unreadable.size() == 30);
      for (const StoredRow& row : stored.rows) CHECK(same_row(row.row, expected[0]));
      refused += stored.unreadable.empty() ? 0 : 1;
    } catch (const InputError&) {
      ++refused;
      try {
        const Recovery recovery = examine_store(path);
        CHECK(recovery.readable + recovery.damaged.size() <= 30);
        if (recovery.readable >= 20) ++recovered;
      } catch (const InputError&) {  // the list of tables itself
      }
    }
    write_at(path, place, {content[place]});
  }
  CHECK(refused > 10);
  CHECK(recovered > 0);
  CHECK(store_refusal(path) == "30 rows");
}

TEST_CASE("store faults: a page overwritten in the middle is told, and others are recovered") {
  const Scratch scratch;
  const std::string path = store_with(scratch, 100, 100);
  const auto pages = fs::file_size(path) / 4096;
  write_at(path, pages / 2 * 4096, std::string(4096, '\x7f'));
  CHECK(store_refusal(path).starts_with("the file is damaged: "));
  const Recovery recovery = recover_store(path, scratch.path("saved.db"));
  CHECK(recovery.readable >= 80);
  CHECK(recovery.readable < 100);
  CHECK(recovery.readable + recovery.damaged.size() == 100);
  const ProfileStore saved(scratch.path("saved.db"));
  REQUIRE(saved.rows().rows.size() == recovery.readable);
  CHECK(saved.verdicts(saved.rows().rows.front().id).size() == 1);
  CHECK_THROWS_AS(recover_store(path, scratch.path("saved.db")), UsageError);
}

TEST_CASE("store faults: rows that nobody knows of are not counted as lost") {
  // The number of the last row is in the list of sequences and in the table of rows itself.
  const auto without = [](const std::vector<std::string>& tables) {
    const Scratch scratch;
    const std::string path = store_with(scratch, 30);
    std::vector<std::int64_t> pages;
    for (const std::string& table : tables) {
      pages.push_back(
          Database(path, Database::Access::read)
              .whole("SELECT rootpage FROM sqlite_schema WHERE name = '" + table + "'"));
    }
    for (const std::int64_t page : pages) {
      write_at(path, static_cast<std::size_t>(page - 1) * 4096, std::string(4096, '\x7f'));
    }
    const Recovery recovery = examine_store(path);
    return fmt::format("{} {} {}", recovery.readable, recovery.damaged.size(),
                       recovery.count_is_known);
  };
  CHECK(without({"sqlite_sequence"}) == "30 0 true");
  CHECK(without({"profile"}) == "0 30 true");
  CHECK(without({"profile", "sqlite_sequence"}) == "0 0 false");
}

TEST_CASE("store faults: a recovery that fails leaves no file behind") {
  const Scratch scratch;
  const std::string saved = scratch.path("saved.db");
  scratch.file("text", "no store, but a line of text that is longer than the head of one");
  CHECK_THROWS_AS(recover_store(scratch.path("text"), saved), InputError);
  CHECK_THROWS_AS(recover_store(scratch.path("absent"), saved), InputError);
  const std::string newer = store_with(scratch, 1);
  Database(newer, Database::Access::write).run("PRAGMA user_version = 7");
  CHECK_THROWS_AS(recover_store(newer, saved), InputError);
  for (const char* end : {"", "-wal", "-shm"}) CHECK(!fs::exists(saved + end));
}

TEST_CASE("store faults: rows that wait beside the file are counted too") {
  // While somebody reads an old store, what is committed stays in the file -wal; a row takes 16
  // bytes at least, so that the file itself could not hold as many.
  constexpr std::size_t count = 6000;
  const Scratch scratch;
  const std::string path = store_with(scratch, 1);
  Database(path, Database::Access::write).run("PRAGMA journal_mode = WAL");
  Database reader(path, Database::Access::read);
  reader.run("BEGIN");
  REQUIRE(reader.whole("SELECT count(*) FROM profile") == 1);
  ProfileStore(path, ProfileStore::Access::write).add(rows_of(count - 1, 5));
  REQUIRE(fs::file_size(path) / 16 < count);
  CHECK(examine_store(path).readable == count);
}

TEST_CASE("store faults: columns written by another hand make a row unreadable, not the others") {
  const std::pair<const char*, const char*> damages[] = {
      {"UPDATE sample SET samples_ns = x'000000000000f87f' WHERE profile = 2",
       "its sample 0 is nan; a time is 0 or more"},
      {"UPDATE sample SET samples_ns = x'00' WHERE profile = 2",
       "its list of samples is missing or of another type"},
      {"UPDATE sample SET samples_ns = zeroblob(30000000) WHERE profile = 2",
       "it has more than 1000000 samples"},
      {"UPDATE sample SET profile = 9 WHERE profile = 2",
       "its list of samples is missing or of another type"},
      {"UPDATE profile SET shape = char(27) || '[2J' WHERE id = 2",
       "its shape holds control characters"},
      {"UPDATE profile SET shape = 'k=1' WHERE id = 2", "its checksum is not that of its content"},
      {"UPDATE profile SET env = 7 WHERE id = 2", "its environment is missing or of another type"},
      {"UPDATE profile SET canary_ns = -5 WHERE id = 2", "its canary took -5; a time is 0 or more"},
      {"UPDATE profile SET measured_at = '' WHERE id = 2",
       "it was measured at \"\"; a time reads 2026-11-21T18:40:00Z"}};
  for (const auto& example : damages) {
    const char* damage = example.first;
    CAPTURE(damage);
    const Scratch scratch;
    const std::string path = store_with(scratch, 3);
    Database(path, Database::Access::write).run(damage);
    const StoredRows stored = ProfileStore(path).rows();
    REQUIRE(stored.rows.size() == 2);
    CHECK(stored.rows[1].id == RowId{3});
    REQUIRE(stored.unreadable.size() == 1);
    CHECK(stored.unreadable[0].id == RowId{2});
    CHECK(stored.unreadable[0].why == example.second);
    CHECK_THROWS_AS(ProfileStore(path).row(RowId{2}), InputError);
    CHECK(examine_store(path).readable == 2);
  }
}

TEST_CASE("store faults: values beyond what is read, and numbers without end, cost no memory") {
  const Scratch scratch;
  const std::string path = store_with(scratch, 2);
  Database(path, Database::Access::write)
      .run("UPDATE sqlite_sequence SET seq = 9223372036854775807");
  CHECK(examine_store(path).readable == 2);
  CHECK(store_refusal(path) == "2 rows");
  Database(path, Database::Access::write).run("DELETE FROM sqlite_sequence");
  CHECK(examine_store(path).readable == 2);
}

}  // namespace penstock::testing
