#include "validate/store/store_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <set>
#include <system_error>

#include "sim/base/error.hpp"
#include "validate/store/store_rows.hpp"
#include "validate/store/stored_row.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view magic{"SQLite format 3\0", 16};
constexpr std::uintmax_t most_checked_bytes = 32 << 20;  // above this a full check takes too long

std::string first_bytes(const std::string& path, std::size_t most = magic.size()) {
  std::string head(most, '\0');
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InputError(path, "", fmt::format("cannot open: {}", std::strerror(errno)));
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(file.gcount()));
  return head;
}

/// Throws InputError for a file that is clearly not a store.
void check_file(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    throw InputError(
        path, "", fmt::format("cannot open: {}", error ? error.message() : std::strerror(ENOENT)));
  }
  if (fs::is_directory(status)) {
    throw InputError(path, "", "it is a folder; a profile store is a file");
  }
  if (!fs::is_regular_file(status)) {
    throw InputError(path, "", "it is a device or a pipe; a profile store is a file");
  }
  const std::string head = first_bytes(path);
  if (head.empty()) {
    throw InputError(path, "", "it is empty; a profile store has tables even without rows");
  }
  if (head != magic) {
    throw InputError(path, "", "not a profile store: no SQLite header");
  }
}

/// The application id in the header of the file.
constexpr std::int64_t store_application_id = 0x5065'6e73;  // "Pens"

/// A table of a store, or what belongs to one:
///
///   meta     version of the program
///   env      environments of the measurements: the keys that count, and all keys
///   kernel   measured kernels, with the hash of their source and flags
///   profile  a row: environment, kernel, shape, condition, state, time, checksum
///   sample   samples of a row, as little-endian doubles
///   verdict  why a row changed its state, and when
struct Part {
  std::string_view name;
  std::string_view sql;
};

constexpr std::array parts{
    Part{"meta", "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT"},
    Part{"env",
         "CREATE TABLE env (id INTEGER PRIMARY KEY, identity TEXT NOT NULL,"
         " facts TEXT NOT NULL UNIQUE) STRICT"},
    Part{"env_identity", "CREATE INDEX env_identity ON env (identity)"},
    Part{"kernel",
         "CREATE TABLE kernel (id INTEGER PRIMARY KEY, name TEXT NOT NULL, pass TEXT NOT NULL,"
         " build TEXT NOT NULL, UNIQUE (name, pass, build)) STRICT"},
    Part{"profile",
         "CREATE TABLE profile (id INTEGER PRIMARY KEY AUTOINCREMENT,"
         " env INTEGER NOT NULL REFERENCES env, kernel INTEGER NOT NULL REFERENCES kernel,"
         " shape TEXT NOT NULL, cond TEXT NOT NULL,"
         " state TEXT NOT NULL CHECK (state IN ('valid', 'suspect', 'retired')),"
         " measured_at TEXT NOT NULL, canary_ns REAL NOT NULL, schema INTEGER NOT NULL,"
         " origin INTEGER REFERENCES profile, checksum INTEGER NOT NULL) STRICT"},
    Part{"profile_lookup",
         "CREATE INDEX profile_lookup ON profile (env, kernel, shape, cond, state, measured_at)"},
    Part{"sample",
         "CREATE TABLE sample (profile INTEGER PRIMARY KEY REFERENCES profile,"
         " samples_ns BLOB NOT NULL) STRICT"},
    Part{"verdict",
         "CREATE TABLE verdict (id INTEGER PRIMARY KEY,"
         " profile INTEGER NOT NULL REFERENCES profile, at TEXT NOT NULL, state TEXT NOT NULL,"
         " why TEXT NOT NULL) STRICT"},
    Part{"verdict_of_profile", "CREATE INDEX verdict_of_profile ON verdict (profile)"},
    Part{"profile_stays",
         "CREATE TRIGGER profile_stays BEFORE DELETE ON profile"
         " BEGIN SELECT RAISE(ABORT, 'rows are retired, never deleted'); END"},
    Part{"sample_stays",
         "CREATE TRIGGER sample_stays BEFORE DELETE ON sample"
         " BEGIN SELECT RAISE(ABORT, 'rows are retired, never deleted'); END"},
    Part{"verdict_stays",
         "CREATE TRIGGER verdict_stays BEFORE DELETE ON verdict"
         " BEGIN SELECT RAISE(ABORT, 'verdicts are never deleted'); END"},
};

/// Names extra or missing tables of the file.
std::optional<std::string> other_tables(const Database& database) {
  std::set<std::string> seen;
  Statement listed(database, "SELECT name, sql FROM sqlite_schema");
  while (listed.next()) {
    const std::string name = listed.text(0).value_or("");
    // Tables and indices that SQLite adds itself.
    if (name == "sqlite_sequence" || name.starts_with("sqlite_autoindex_")) continue;
    const auto part = std::ranges::find(parts, name, &Part::name);
    if (part == parts.end() || part->sql != listed.text(1).value_or("")) {
      return "its tables are not those of a profile store";
    }
    seen.insert(name);
  }
  if (seen.size() == parts.size()) return std::nullopt;
  return "it lacks tables that a profile store has";
}

/// Makes the tables in an empty file.
void make_tables(Database& database) {
  Transaction transaction(database);
  for (const Part& part : parts) database.run(std::string(part.sql));
  database.run(fmt::format("INSERT INTO meta VALUES ('schema', '{}')", store_schema));
  database.run(fmt::format("PRAGMA application_id = {}", store_application_id));
  database.run(fmt::format("PRAGMA user_version = {}", store_schema));
  transaction.commit();
}

/// Why a file is not a store of this version or an older one; nothing: it is one. Its tables must
/// match `parts` letter by letter, so that nothing defined in a foreign file is ever run.
std::optional<std::string> why_no_store(Database& database) {
  if (database.whole("PRAGMA application_id") != store_application_id) {
    return "it is a database of something else, no profile store";
  }
  const std::int64_t version = database.whole("PRAGMA user_version");
  if (version > store_schema) {
    return fmt::format(
        "its schema is version {}, and this program knows none above {}; use a newer one", version,
        store_schema);
  }
  if (version < 1) return fmt::format("its schema is version {}; there is none below 1", version);
  return other_tables(database);
}

/// Throws InputError for a file that is not a store.
void check_tables(const std::string& path, Database& database) {
  if (const auto fault = why_no_store(database)) {
    throw InputError(path, "", *fault);
  }
}

void check_content(const std::string& path, Database& database) {
  check_tables(path, database);
  if (fs::file_size(path) > most_checked_bytes) return;
  Statement check(database, "PRAGMA quick_check(1)");
  const std::string said = check.next() ? check.text(0).value_or("") : "";
  if (said != "ok") throw DatabaseError(DatabaseFault::damaged, said);
}

/// Whether the store keeps a write-ahead log, as stores once did. Whoever reads one writes beside
/// it, and network disks cannot share one.
bool keeps_log(const std::string& path) {
  constexpr std::size_t at_read_version = 19;
  constexpr char of_log = 2;
  const std::string head = first_bytes(path, at_read_version + 1);
  return head.size() > at_read_version && head[at_read_version] == of_log;
}

void leave_log(Database& database) {
  try {
    database.run("PRAGMA journal_mode = DELETE");
  } catch (const DatabaseError& error) {
    if (error.fault() != DatabaseFault::busy) throw;  // somebody reads: the next writer
  }
}

std::unique_ptr<Database> opened(const std::string& path, Database::Access access) {
  auto database = std::make_unique<Database>(path, access);
  check_content(path, *database);
  if (access == Database::Access::write) {
    database->run("PRAGMA foreign_keys = ON; PRAGMA synchronous = EXTRA");
    if (keeps_log(path)) leave_log(*database);
  }
  return database;
}

/// Whether a file beside the store has content.
bool has_beside(const std::string& path, const char* end) {
  std::error_code absent;
  return fs::file_size(path + end, absent) > 0 && !absent;
}

/// Takes back what a writer that was killed left half done, and brings in rows of an old store that
/// wait beside it, where that is possible.
void complete_store(const std::string& path) {
  if (!has_beside(path, "-journal") && !has_beside(path, "-wal")) return;
  try {
    Database database(path, Database::Access::write);
    // With its first look SQLite takes back what a journal began; a log becomes part of the store.
    static_cast<void>(database.whole("SELECT count(*) FROM sqlite_master"));
    leave_log(database);
  } catch (const DatabaseError&) {
    // Another process writes, or we may not: reading says so where it matters.
  }
}

/// A store with a log that nobody writes is read without it: nothing appears beside it.
std::unique_ptr<Database> opened_to_read(const std::string& path) {
  complete_store(path);
  const bool waits = has_beside(path, "-wal");
  if (keeps_log(path) && !waits) return opened(path, Database::Access::read_unchanging);
  try {
    return opened(path, Database::Access::read);
  } catch (const DatabaseError& error) {
    const bool here =
        error.fault() == DatabaseFault::cannot_open || error.fault() == DatabaseFault::cannot_write;
    if (!here || (!waits && !has_beside(path, "-journal"))) throw;
    throw InputError(
        fmt::format("{}: rows wait in {}{}, which only a folder that takes writes can "
                    "bring in; copy both files to one",
                    path, path, waits ? "-wal" : "-journal"));
  }
}

/// Called with a readable row and its verdicts.
using Keep = std::function<void(const StoredRow& row, const std::vector<RowVerdict>& verdicts)>;

/// The result of a query, or a replacement if the file is damaged.
template <class Value, class Query>
Value despite_damage(Value otherwise, Query query) {
  try {
    return query();
  } catch (const DatabaseError& error) {
    if (error.fault() != DatabaseFault::damaged) throw;
    return otherwise;
  }
}

/// The size of a file; 0 if it is missing.
std::int64_t bytes_of(const std::string& path) {
  std::error_code absent;
  const auto bytes = fs::file_size(path, absent);
  return absent ? 0 : static_cast<std::int64_t>(bytes);
}

/// The highest row number, if the store can say it.
struct HighestId {
  std::int64_t number = 0;
  bool is_known = true;  // otherwise the number of rows that would fit into the file and its log
};

HighestId highest_id(Database& database, const std::string& path) {
  constexpr std::int64_t least_row_bytes = 16;
  const std::int64_t most = (bytes_of(path) + bytes_of(path + "-wal")) / least_row_bytes;
  HighestId highest;
  bool all_answer = true;
  for (const char* query :
       {"SELECT seq FROM sqlite_sequence WHERE name = 'profile'", "SELECT max(id) FROM profile"}) {
    const std::int64_t said = despite_damage(most + 1, [&] { return database.whole(query); });
    all_answer = all_answer && said <= most;
    if (said <= most) highest.number = std::max(highest.number, said);
  }
  if (highest.number == 0 && !all_answer) return {most, false};
  return highest;
}

Recovery read_all(const std::string& path, const Keep& keep) {
  complete_store(path);
  Database database(path, Database::Access::salvage);
  check_tables(path, database);
  Recovery recovery;
  RowReader reader(database);
  const HighestId highest = highest_id(database, path);
  recovery.count_is_known = highest.is_known;
  for (std::int64_t number = 1; number <= highest.number; ++number) {
    const RowId id{number};
    std::optional<ReadRow> lost;  // where the page is damaged
    if (highest.is_known) lost = UnreadableRow{id, "its page is damaged"};
    const auto read = despite_damage(lost, [&] { return reader.read(id); });
    if (!read) continue;
    if (const auto* row = std::get_if<StoredRow>(&*read)) {
      ++recovery.readable;
      keep(*row, despite_damage(std::vector<RowVerdict>(), [&] { return reader.verdicts(id); }));
    } else {
      recovery.damaged.push_back(std::get<UnreadableRow>(*read));
    }
  }
  return recovery;
}

/// Copies the readable rows of one store into another, empty one.
Recovery copy_rows(const std::string& path, const std::string& into) {
  Database target(into, Database::Access::write);
  Transaction transaction(target);
  const Recovery recovery = in_store(path, [&] {
    return read_all(path, [&](const StoredRow& row, const std::vector<RowVerdict>& verdicts) {
      in_store(into, [&] {
        insert_row(target, row);
        for (const RowVerdict& verdict : verdicts) insert_verdict(target, row.id, verdict);
      });
    });
  });
  transaction.commit();
  return recovery;
}

}  // namespace

void make_store(const std::string& path) {
  std::random_device random;  // a name that nobody can guess cannot lead elsewhere by a link
  const std::string temporary = fmt::format("{}.{:08x}{:08x}.tmp", path, random(), random());
  {
    Database database(temporary, Database::Access::create);
    make_tables(database);
  }
  const bool linked = ::link(temporary.c_str(), path.c_str()) == 0;
  const int reason = errno;
  fs::remove(temporary);
  if (!linked && reason != EEXIST) {
    throw StoreError(fmt::format("{}: cannot be made: {}", path, std::strerror(reason)));
  }
}

std::unique_ptr<Database> open_store(const std::string& path, Database::Access access) {
  check_file(path);
  return access == Database::Access::read ? opened_to_read(path) : opened(path, access);
}

bool looks_like_store(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && first_bytes(path) == magic;
}

Recovery examine_store(const std::string& path) {
  return in_store(path, [&] {
    return read_all(path, [](const StoredRow&, const std::vector<RowVerdict>&) {});
  });
}

Recovery recover_store(const std::string& path, const std::string& into) {
  if (fs::exists(into)) {
    throw UsageError(
        fmt::format("{}: it is there already; rows are recovered into a new file", into));
  }
  in_store(into, [&] { make_store(into); });
  try {
    return in_store(into, [&] { return copy_rows(path, into); });
  } catch (...) {
    std::error_code ignored;  // it holds nothing
    for (const char* end : {"", "-wal", "-shm"}) fs::remove(into + end, ignored);
    throw;
  }
}

}  // namespace penstock
