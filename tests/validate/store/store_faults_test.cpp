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
#include "tests/support/scratch.hpp"
#include "tests/support/stored_rows.hpp"
#include "validate/store/database.hpp"
#include "validate/store/profile_store.hpp"

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

/// Takes the rights of root from this process, who may write anywhere.
bool without_rights() {
  constexpr uid_t nobody = 65534;
  return ::getuid() != 0 || ::setuid(nobody) == 0;
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
  REQUIRE(fs::exists(path + "-journal"));
  REQUIRE(fs::file_size(path) > 1'000'000);
  CHECK(ProfileStore(path).rows().rows.size() == 20);
  CHECK(ProfileStore(path).verdicts(RowId{1}).size() == 1);
  ProfileStore store(path, ProfileStore::Access::write);
  store.add(rows_of(1));
  CHECK(store.rows().rows.size() == 21);
}

TEST_CASE("store faults: reading leaves nothing beside a store, old or new") {
  const Scratch scratch;
  const std::string path = store_with(scratch, 2);
  for (const char* mode : {"DELETE", "WAL"}) {
    CAPTURE(mode);
    Database(path, Database::Access::write).run(fmt::format("PRAGMA journal_mode = {}", mode));
    CHECK(ProfileStore(path).rows().rows.size() == 2);
    const ProfileStore open(path);
    CHECK(open.rows().rows.size() == 2);
    for (const char* end : {"-wal", "-shm", "-journal"}) CHECK_FALSE(fs::exists(path + end));
  }
}

TEST_CASE("store faults: the first writer turns an old store with a log into one without") {
  const Scratch scratch;
  const std::string path = store_with(scratch, 2);
  Database(path, Database::Access::write).run("PRAGMA journal_mode = WAL");
  ProfileStore(path, ProfileStore::Access::write).add(rows_of(1));
  CHECK(content_of(path)[19] == 1);
  CHECK(ProfileStore(path).rows().rows.size() == 3);
}

TEST_CASE("store faults: rows that a killed writer left in an old store's log are brought in") {
  const Scratch scratch;
  const std::string path = store_with(scratch, 2);
  const int ended = exit_code_of([&] {
    Database database(path, Database::Access::write);
    database.run("PRAGMA journal_mode = WAL");
    database.run("INSERT INTO verdict (profile, at, state, why) VALUES (1, 'now', 'valid', 'x')");
    return ::raise(SIGKILL);
  });
  REQUIRE(ended == -SIGKILL);
  REQUIRE(fs::file_size(path + "-wal") > 0);
  CHECK(ProfileStore(path).verdicts(RowId{1}).size() == 2);
  for (const char* end : {"-wal", "-shm", "-journal"}) CHECK_FALSE(fs::exists(path + end));
}

TEST_CASE("store faults: killed while it is being made, it is either there or not") {
  const Scratch scratch;
  const std::string path = scratch.path("p.db");
  CHECK(exit_code_of([&] {
          Database half(path + ".1.tmp", Database::Access::create);
          half.run("CREATE TABLE meta (key TEXT)");
          return ::raise(SIGKILL);
        }) == -SIGKILL);
  CHECK(store_refusal(path) == "cannot open: No such file or directory");
  ProfileStore(path, ProfileStore::Access::create).add(rows_of(1));
  CHECK(store_refusal(path) == "1 rows");
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
    if (!without_rights()) return 97;
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
    if (!without_rights()) return 97;
    return store_refusal(path) == "cannot open: Permission denied" ? 0 : 1;
  });
  CHECK(code == 0);
}

}  // namespace penstock::testing
