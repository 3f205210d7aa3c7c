#include "validate/profile_store.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "sim/error.hpp"
#include "validate/environment_keys.hpp"
#include "validate/row_content.hpp"
#include "validate/store_reading.hpp"
#include "validate/store_schema.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view magic{"SQLite format 3\0", 16};
constexpr std::uintmax_t most_checked_bytes = 32 << 20;  // beyond, looking through all takes long

std::string first_bytes(const std::string& path) {
  std::array<char, magic.size()> head{};
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InputError(fmt::format("{}: cannot open: {}", path, std::strerror(errno)));
  file.read(head.data(), head.size());
  return {head.data(), static_cast<std::size_t>(file.gcount())};
}

/// Throws InputError for a file that is no store at first sight.
void check_file(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    throw InputError(
        fmt::format("{}: cannot open: {}", path, error ? error.message() : std::strerror(ENOENT)));
  }
  if (fs::is_directory(status)) {
    throw InputError(path + ": it is a folder; a profile store is a file");
  }
  if (!fs::is_regular_file(status)) {
    throw InputError(path + ": it is a device or a pipe; a profile store is a file");
  }
  const std::string head = first_bytes(path);
  if (head.empty()) {
    throw InputError(path + ": it is empty; a profile store has tables even without rows");
  }
  if (head != magic) {
    throw InputError(path + ": it is no profile store: it does not begin as files of SQLite do");
  }
}

/// A file under a name of its own until it is whole; then it gets the name that is wanted, unless
/// another process was quicker.
void make_store(const std::string& path) {
  const std::string temporary = fmt::format("{}.{}.tmp", path, ::getpid());
  fs::remove(temporary);
  in_store(path, [&] {
    Database database(temporary, Database::Access::create);
    make_tables(database, ProfileStore::schema);
    database.run("PRAGMA journal_mode = WAL");  // readers and a writer at once
  });
  const bool linked = ::link(temporary.c_str(), path.c_str()) == 0;
  const int reason = errno;
  fs::remove(temporary);
  if (!linked && reason != EEXIST) {
    throw StoreError(fmt::format("{}: cannot be made: {}", path, std::strerror(reason)));
  }
}

void check_content(const std::string& path, Database& database) {
  if (const auto fault = why_no_store(database, ProfileStore::schema)) {
    throw InputError(fmt::format("{}: {}", path, *fault));
  }
  if (fs::file_size(path) > most_checked_bytes) return;
  Statement check(database, "PRAGMA quick_check(1)");
  const std::string said = check.next() ? check.text(0).value_or("") : "";
  if (said != "ok") throw DatabaseError(DatabaseFault::damaged, said);
}

std::unique_ptr<Database> opened(const std::string& path, Database::Access access) {
  auto database = std::make_unique<Database>(path, access);
  check_content(path, *database);
  if (access == Database::Access::write) {
    database->run("PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL");
  }
  return database;
}

/// Where nothing can be written beside the file, SQLite cannot keep track of writers, and there are
/// none.
std::unique_ptr<Database> opened_to_read(const std::string& path) {
  try {
    return opened(path, Database::Access::read);
  } catch (const DatabaseError& error) {
    if (error.fault() != DatabaseFault::cannot_open && error.fault() != DatabaseFault::cannot_write)
      throw;
    const std::string log = path + "-wal";
    std::error_code ignored;
    if (fs::exists(log, ignored) && fs::file_size(log, ignored) > 0) {
      throw InputError(
          fmt::format("{}: rows wait in {}, which only a folder that takes writes can "
                      "bring in; copy both files to one",
                      path, log));
    }
    return opened(path, Database::Access::read_unchanging);
  }
}

std::int64_t environment_id(Database& database, const ProfileRow& row) {
  const std::string facts = facts_text(row.environment);
  Statement(database, "INSERT INTO env (identity, facts) VALUES (?, ?) ON CONFLICT DO NOTHING")
      .with(identity_of(row.environment), facts)
      .finish();
  Statement found(database, "SELECT id FROM env WHERE facts = ?");
  return found.with(facts).next() ? found.whole(0).value_or(0) : 0;
}

std::int64_t kernel_id(Database& database, const ProfileRow& row) {
  const KernelPoint& point = row.point;
  Statement(database,
            "INSERT INTO kernel (name, pass, build) VALUES (?, ?, ?) ON CONFLICT DO NOTHING")
      .with(point.kernel, point.pass, row.build)
      .finish();
  Statement found(database, "SELECT id FROM kernel WHERE name = ? AND pass = ? AND build = ?");
  return found.with(point.kernel, point.pass, row.build).next() ? found.whole(0).value_or(0) : 0;
}

void insert_verdict(Database& database, RowId id, std::string_view at, RowState state,
                    std::string_view why) {
  Statement(database, "INSERT INTO verdict (profile, at, state, why) VALUES (?, ?, ?, ?)")
      .with(index(id), at, name(state), why)
      .finish();
}

RowId insert_row(Database& database, const StoredRow& stored, std::string_view why) {
  const ProfileRow& row = stored.row;
  const auto origin = stored.origin ? std::optional(index(*stored.origin)) : std::nullopt;
  Statement(database,
            "INSERT INTO profile (env, kernel, shape, cond, state, measured_at, canary_ns, schema,"
            " origin, checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .with(environment_id(database, row), kernel_id(database, row), row.point.shape,
            row.point.condition, name(stored.state), row.measured_at, row.canary_ns, stored.schema,
            origin, row_checksum(row))
      .finish();
  const RowId id{database.last_id()};
  Statement(database, "INSERT INTO sample (profile, samples_ns) VALUES (?, ?)")
      .with(index(id), std::span<const std::byte>(samples_bytes(row.samples_ns)))
      .finish();
  insert_verdict(database, id, row.measured_at, stored.state, why);
  return id;
}

void check_row(const std::string& path, const ProfileRow& row, std::size_t number) {
  const auto fault = row_fault(row);
  if (!fault) return;
  throw InputError(fmt::format("{}: row {} of those to be added: {}", path, number, *fault));
}

StoredRow new_row(const ProfileRow& row, std::optional<RowId> origin) {
  return {.row = row, .schema = ProfileStore::schema, .origin = origin};
}

}  // namespace

bool looks_like_store(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && first_bytes(path) == magic;
}

ProfileStore::ProfileStore(std::string path, Access access) : path_(std::move(path)) {
  if (access == Access::create && !fs::exists(path_)) make_store(path_);
  check_file(path_);
  database_ = in_store(path_, [&] {
    return access == Access::read ? opened_to_read(path_) : opened(path_, Database::Access::write);
  });
}

ProfileStore::ProfileStore(ProfileStore&&) noexcept = default;
ProfileStore& ProfileStore::operator=(ProfileStore&&) noexcept = default;
ProfileStore::~ProfileStore() = default;

std::vector<RowId> ProfileStore::add(std::span<const ProfileRow> rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) check_row(path_, rows[i], i);
  return in_store(path_, [&] {
    std::vector<RowId> ids;
    Transaction transaction(*database_);
    for (const ProfileRow& row : rows) {
      ids.push_back(insert_row(*database_, new_row(row, std::nullopt), "measured"));
    }
    transaction.commit();
    return ids;
  });
}

RowId ProfileStore::add(const ProfileRow& row, RowId origin, std::string_view why) {
  check_row(path_, row, 0);
  return in_store(path_, [&] {
    Transaction transaction(*database_);
    const RowId id = insert_row(*database_, new_row(row, origin), why);
    transaction.commit();
    return id;
  });
}

void ProfileStore::change(std::span<const StateChange> changes, std::string_view at) {
  in_store(path_, [&] {
    Transaction transaction(*database_);
    Statement found(*database_, "SELECT 1 FROM profile WHERE id = ?");
    Statement update(*database_, "UPDATE profile SET state = ? WHERE id = ?");
    for (const StateChange& change : changes) {
      if (!found.with(index(change.id)).next()) {
        throw UsageError(fmt::format("{}: there is no row {}", path_, index(change.id)));
      }
      update.with(name(change.state), index(change.id)).finish();
      insert_verdict(*database_, change.id, at, change.state, change.why);
    }
    transaction.commit();
  });
}

StoredRows ProfileStore::rows() const {
  return in_store(path_, [&] {
    StoredRows all;
    RowReader reader(*database_);
    Statement ids(*database_, "SELECT id FROM profile ORDER BY id");
    while (ids.next()) {
      auto read = reader.read(RowId{ids.whole(0).value_or(0)});
      if (!read) continue;
      if (auto* row = std::get_if<StoredRow>(&*read)) all.rows.push_back(std::move(*row));
      if (auto* row = std::get_if<UnreadableRow>(&*read)) all.unreadable.push_back(*row);
    }
    return all;
  });
}

std::optional<StoredRow> ProfileStore::row(RowId id) const {
  return in_store(path_, [&]() -> std::optional<StoredRow> {
    auto read = RowReader(*database_).read(id);
    if (!read) return std::nullopt;
    if (auto* row = std::get_if<StoredRow>(&*read)) return std::move(*row);
    throw InputError(fmt::format("{}: row {} cannot be read: {}", path_, index(id),
                                 std::get<UnreadableRow>(*read).why));
  });
}

std::optional<StoredRow> ProfileStore::newest(const KernelPoint& point, std::string_view build,
                                              const std::map<std::string, std::string>& environment,
                                              RowState state) const {
  const auto id = in_store(path_, [&]() -> std::optional<std::int64_t> {
    Statement found(*database_, newest_row_sql);
    found.with(identity_of(environment), point.kernel, point.pass, build, point.shape,
               point.condition, name(state));
    return found.next() ? found.whole(0) : std::nullopt;
  });
  return id ? row(RowId{*id}) : std::nullopt;
}

std::vector<Verdict> ProfileStore::verdicts(RowId id) const {
  return in_store(path_, [&] { return RowReader(*database_).verdicts(id); });
}

}  // namespace penstock
