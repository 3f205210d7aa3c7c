#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>

#include "sim/base/error.hpp"
#include "tests/support/profile_rows.hpp"
#include "tests/support/scratch.hpp"
#include "validate/store/database.hpp"
#include "validate/store/profile_store.hpp"
#include "validate/store/store_recovery.hpp"

// What may go wrong with a file that others write too. Processes are real ones, made by fork; what
// they find out comes back as their exit code, or as a line in a file.

namespace penstock::testing {
namespace {

namespace fs = std::filesystem;

/// Runs something in a process of its own.
pid_t started(const std::function<int()>& what) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child != 0) return child;
  try {
    ::_exit(what());
  } catch (const std::exception&) {
    ::_exit(99);
  }
}

int status_of(pid_t child) {
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return status;
}

int exit_code_of(const std::function<int()>& what) {
  const int status = status_of(started(what));
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

std::vector<ProfileRow> rows_of(std::size_t count, std::size_t samples = 10) {
  return std::vector<ProfileRow>(count, gemm_row(64, std::vector<double>(samples, 12.5)));
}

std::string store_with(const Scratch& scratch, std::size_t count, std::size_t samples = 10) {
  const std::string path = scratch.path("p.db");
  ProfileStore(path, ProfileStore::Access::create).add(rows_of(count, samples));
  return path;
}

/// What opening says: the error's text without the file's name.
std::string refusal(const std::string& path) {
  try {
    return fmt::format("{} rows", ProfileStore(path).rows().rows.size());
  } catch (const InputError& error) {
    return std::string(error.what()).substr(path.size() + 2);
  }
}

void write_at(const std::string& path, std::size_t place, const std::string& bytes) {
  const int file = ::open(path.c_str(), O_WRONLY);
  REQUIRE(::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(place)) ==
          static_cast<ssize_t>(bytes.size()));
  ::close(file);
}

/// Adds rows until that fails, where the room for files has an end: 0 where what was kept before
/// the failure, and nothing more, is still there, and the error says so.
int fill_until_full(const std::string& path, const std::string& expected) {
  ProfileStore store(path, ProfileStore::Access::create);
  std::size_t kept = 0;
  for (; kept < 1000; ++kept) {
    try {
      store.add(rows_of(1, 500));
    } catch (const StoreError& error) {
      const std::string text = error.what();
      if (text.find("there is no room; nothing of this was kept") == std::string::npos) return 2;
      if (text.find(expected) == std::string::npos) return 3;
      return store.rows().rows.size() == kept && kept > 0 ? 0 : 4;
    }
  }
  return 5;
}

/// Puts a file system of a megabyte into a folder, for this process alone, where that is allowed.
bool has_small_disk(const std::string& folder) {
  const std::string map = fmt::format("0 {} 1", ::getuid());
  if (::unshare(CLONE_NEWNS) != 0) {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    const int file = ::open("/proc/self/uid_map", O_WRONLY);
    const bool mapped = ::write(file, map.data(), map.size()) > 0;
    ::close(file);
    if (!mapped) return false;
  }
  return ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("none", folder.c_str(), "tmpfs", 0, "size=1m") == 0;
}

}  // namespace

TEST_CASE("store faults: of two processes that write at once, all rows are there") {
  const Scratch scratch;
  const std::string path = scratch.path("p.db");
  const auto write = [&] {
    ProfileStore store(path, ProfileStore::Access::create);  // whoever comes first makes it
    for (int i = 0; i < 200; ++i) store.add(rows_of(1));
    return 0;
  };
  const pid_t first = started(write);
  const pid_t second = started(write);
  CHECK(status_of(first) == 0);
  CHECK(status_of(second) == 0);
  const StoredRows stored = ProfileStore(path).rows();
  CHECK(stored.rows.size() == 400);
  CHECK(stored.unreadable.empty());
  CHECK(ProfileStore(path).verdicts(RowId{400}).size() == 1);
}

TEST_CASE("store faults: after kill -9 in the middle, what was committed is there and no more") {
  // 20 rows are committed. Then a transaction writes 2 MB, far more than stays in memory, and the
  // process kills itself before it is committed.
  const Scratch scratch;
  const std::string path = scratch.path("p.db");
  const int ended = exit_code_of([&] {
    ProfileStore(path, ProfileStore::Access::create).add(rows_of(20));
    Database database(path, Database::Access::write);
    database.run("PRAGMA cache_size = 10");
    Transaction open(database);
    for (int i = 0; i < 500; ++i) {
      database.run(
          fmt::format("INSERT INTO verdict (profile, at, state, why) VALUES "
                      "(1, 'now', 'retired', '{}')",
                      std::string(4000, 'x')));
    }
    return ::raise(SIGKILL);
  });
  REQUIRE(ended == -SIGKILL);
  REQUIRE(fs::file_size(path + "-wal") > 1'000'000);
  CHECK(ProfileStore(path).rows().rows.size() == 20);
  CHECK(ProfileStore(path).verdicts(RowId{1}).size() == 1);
  ProfileStore store(path, ProfileStore::Access::write);
  store.add(rows_of(1));
  CHECK(store.rows().rows.size() == 21);
}

TEST_CASE("store faults: killed while it is being made, it is either there or not") {
  const Scratch scratch;
  const std::string path = scratch.path("p.db");
  CHECK(exit_code_of([&] {
          Database half(path + ".1.tmp", Database::Access::create);
          half.run("CREATE TABLE meta (key TEXT)");
          return ::raise(SIGKILL);
        }) == -SIGKILL);
  CHECK(refusal(path) == "cannot open: No such file or directory");
  ProfileStore(path, ProfileStore::Access::create).add(rows_of(1));
  CHECK(refusal(path) == "1 rows");
}

TEST_CASE("store faults: where files may grow no further, it says so and loses no row") {
  const Scratch scratch;
  const std::string path = scratch.path("p.db");
  const int code = exit_code_of([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{400'000, 400'000};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 98;
    return fill_until_full(path, "File too large");
  });
  CHECK(code == 0);
  const std::size_t rows = ProfileStore(path).rows().rows.size();
  CHECK(rows > 0);
  ProfileStore(path, ProfileStore::Access::write).add(rows_of(1));  // where there is room again
  CHECK(ProfileStore(path).rows().rows.size() == rows + 1);
}

TEST_CASE("store faults: on a disk that is full, it says so and loses no row") {
  const Scratch scratch;
  const std::string folder = scratch.path("disk");
  fs::create_directory(folder);
  const int code = exit_code_of(
      [&] { return has_small_disk(folder) ? fill_until_full(folder + "/p.db", "is full") : 97; });
  if (code == 97) {
    MESSAGE("skipped: no file system of a size of its own may be mounted here");
    return;
  }
  CHECK(code == 0);
}

TEST_CASE("store faults: a file that is none is refused in words") {
  const Scratch scratch;
  CHECK(refusal(scratch.file("empty.db", "")) ==
        "it is empty; a profile store has tables even without rows");
  CHECK(refusal(scratch.file("text.db", "layer,examples\n")) ==
        "not a profile store: no SQLite header");
  CHECK(refusal(scratch.path("")) == "it is a folder; a profile store is a file");
  CHECK(refusal("/dev/null") == "it is a device or a pipe; a profile store is a file");
  CHECK(refusal(scratch.path("absent")) == "cannot open: No such file or directory");
  const std::string pipe = scratch.path("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(refusal(pipe) == "it is a device or a pipe; a profile store is a file");
  Database(scratch.path("other.db"), Database::Access::create).run("CREATE TABLE t (a)");
  CHECK(refusal(scratch.path("other.db")) ==
        "it is a database of something else, no profile store");
}

TEST_CASE("store faults: a store of a newer version is refused, and says which") {
  const Scratch scratch;
  const std::string path = store_with(scratch, 1);
  Database(path, Database::Access::write).run("PRAGMA user_version = 7");
  CHECK(refusal(path) ==
        "its schema is version 7, and this program knows none above 1; use a newer one");
  Database(path, Database::Access::write).run("PRAGMA user_version = 0");
  CHECK(refusal(path) == "its schema is version 0; there is none below 1");
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
    const std::string text = refusal(path);
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
  const std::string text = refusal(path);
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
  CHECK(refusal(path) == "30 rows");
}

TEST_CASE("store faults: a page overwritten in the middle is told, and others are recovered") {
  const Scratch scratch;
  const std::string path = store_with(scratch, 100, 100);
  const auto pages = fs::file_size(path) / 4096;
  write_at(path, pages / 2 * 4096, std::string(4096, '\x7f'));
  CHECK(refusal(path).starts_with("the file is damaged: "));
  const Recovery recovery = recover_store(path, scratch.path("saved.db"));
  CHECK(recovery.readable >= 80);
  CHECK(recovery.readable < 100);
  CHECK(recovery.readable + recovery.damaged.size() == 100);
  const ProfileStore saved(scratch.path("saved.db"));
  REQUIRE(saved.rows().rows.size() == recovery.readable);
  CHECK(saved.verdicts(saved.rows().rows.front().id).size() == 1);
  CHECK_THROWS_AS(recover_store(path, scratch.path("saved.db")), UsageError);
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
  // While somebody reads, what is committed stays in the file -wal; a row takes 16 bytes at least,
  // so that the file itself could not hold as many.
  constexpr std::size_t count = 6000;
  const Scratch scratch;
  const std::string path = store_with(scratch, 1);
  Database reader(path, Database::Access::read);
  reader.run("BEGIN");
  REQUIRE(reader.whole("SELECT count(*) FROM profile") == 1);
  ProfileStore(path, ProfileStore::Access::write).add(rows_of(count - 1, 5));
  REQUIRE(fs::file_size(path) / 16 < count);
  CHECK(examine_store(path).readable == count);
}

TEST_CASE("store faults: where nothing can be written, rows are read and writing says why not") {
  const Scratch scratch;
  const std::string folder = scratch.path("medium");
  fs::create_directory(folder);
  const std::string path = folder + "/p.db";
  ProfileStore(path, ProfileStore::Access::create).add(rows_of(3));
  ::chmod(path.c_str(), 0444);
  ::chmod(folder.c_str(), 0555);
  ::chmod(fs::path(folder).parent_path().c_str(), 0755);
  const int code = exit_code_of([&] {
    constexpr uid_t nobody = 65534;
    if (::getuid() == 0 && ::setuid(nobody) != 0) return 97;  // root may write anywhere
    if (ProfileStore(path).rows().rows.size() != 3) return 1;
    try {
      ProfileStore(path, ProfileStore::Access::write).add(rows_of(1));
    } catch (const StoreError& error) {
      const std::string text = error.what();
      return text.find("it takes no writes, and is as it was") == std::string::npos ? 2 : 0;
    }
    return 3;
  });
  ::chmod(folder.c_str(), 0755);
  CHECK(code == 0);
}

TEST_CASE("store faults: what may not be read is refused in words") {
  const Scratch scratch;
  const std::string path = store_with(scratch, 1);
  ::chmod(path.c_str(), 0);
  ::chmod(fs::path(path).parent_path().c_str(), 0755);
  const int code = exit_code_of([&] {
    constexpr uid_t nobody = 65534;
    if (::getuid() == 0 && ::setuid(nobody) != 0) return 97;
    return refusal(path) == "cannot open: Permission denied" ? 0 : 1;
  });
  CHECK(code == 0);
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
  CHECK(refusal(path) == "2 rows");
  Database(path, Database::Access::write).run("DELETE FROM sqlite_sequence");
  CHECK(examine_store(path).readable == 2);
}

}  // namespace penstock::testing
