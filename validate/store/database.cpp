#include "validate/store/database.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace penstock {
namespace {

constexpr int most_wait_ms = 20'000;

DatabaseFault fault_of(int code, std::string_view message) {
  // A header of no version that there is; SQLite has no code of its own for it.
  if (code == SQLITE_ERROR && message == "unsupported file format") {
    return DatabaseFault::no_database;
  }
  switch (code & 0xff) {  // the other bits are the exact kind
    case SQLITE_CORRUPT:
      return DatabaseFault::damaged;
    case SQLITE_NOTADB:
      return DatabaseFault::no_database;
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return DatabaseFault::cannot_open;
    case SQLITE_READONLY:
      return DatabaseFault::cannot_write;
    case SQLITE_FULL:
      return DatabaseFault::full;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return DatabaseFault::busy;
    case SQLITE_TOOBIG:
      return DatabaseFault::too_large;
    default:
      return DatabaseFault::other;
  }
}

/// An absolute path. SQLite gives some names a special meaning, such as a database in memory.
std::string absolute(const std::string& path) {
  return std::filesystem::absolute(path).lexically_normal().string();
}

/// A file URI: some options exist only in URIs.
std::string address_of_unchanging(const std::string& path) {
  std::string address = "file:";
  for (const char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      address += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    } else {
      address += c;
    }
  }
  return address + "?immutable=1";
}

int flags_of(Database::Access access) {
  switch (access) {
    case Database::Access::read:
    case Database::Access::salvage:
      return SQLITE_OPEN_READONLY;
    case Database::Access::read_unchanging:
      return SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
    case Database::Access::write:
      return SQLITE_OPEN_READWRITE;
    case Database::Access::create:
      return SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  }
  return SQLITE_OPEN_READONLY;
}

}  // namespace

void Database::Close::operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }
void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Database::Database(const std::string& path, Access access) {
  const std::string whole_path = absolute(path);
  const std::string name =
      access == Access::read_unchanging ? address_of_unchanging(whole_path) : whole_path;
  sqlite3* connection = nullptr;
  const int result =
      sqlite3_open_v2(name.c_str(), &connection, flags_of(access) | SQLITE_OPEN_NOMUTEX, nullptr);
  connection_.reset(connection);
  if (connection == nullptr) throw std::bad_alloc();
  if (result != SQLITE_OK) fail("cannot open");
  sqlite3_extended_result_codes(connection, 1);
  sqlite3_busy_timeout(connection, most_wait_ms);
  sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, most_value_bytes);
  // SQLite reads a truncated file only with defensive mode off.
  const bool salvages = access == Access::salvage;
  sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, salvages ? 0 : 1, nullptr);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  if (salvages) run("PRAGMA writable_schema = ON");
  run("PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0");
}

void Database::fail(const std::string& doing) const {
  const int of_system = errno;  // SQLite keeps it for some calls only
  const int kept = sqlite3_system_errno(connection_.get());
  const int code = sqlite3_extended_errcode(connection_.get());
  const int kind = code & 0xff;
  const int system =
      kind == SQLITE_CANTOPEN || kind == SQLITE_IOERR ? (kept != 0 ? kept : of_system) : 0;
  const std::string message = sqlite3_errmsg(connection_.get());
  const bool no_room = system == EFBIG || system == EDQUOT || system == ENOSPC;
  throw DatabaseError(
      no_room ? DatabaseFault::full : fault_of(code, message),
      fmt::format("{}: {}{}", doing, message,
                  system == 0 ? std::string() : fmt::format(" ({})", std::strerror(system))));
}

void Database::run(const std::string& sql) {
  if (sqlite3_exec(connection_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    fail("cannot go on");
  }
}

std::int64_t Database::whole(const std::string& sql) {
  Statement statement(*this, sql);
  return statement.next() ? statement.whole(0).value_or(0) : 0;
}

std::int64_t Database::changed() const { return sqlite3_changes(connection_.get()); }

std::int64_t Database::last_id() const { return sqlite3_last_insert_rowid(connection_.get()); }

Statement::Statement(const Database& database, std::string_view sql) : database_(&database) {
  sqlite3_stmt* statement = nullptr;
  const int result = sqlite3_prepare_v2(database.connection_.get(), sql.data(),
                                        static_cast<int>(sql.size()), &statement, nullptr);
  statement_.reset(statement);
  check(result);
}

void Statement::check(int result) const {
  if (result != SQLITE_OK) database_->fail("cannot go on");
}

void Statement::clear() {
  sqlite3_reset(statement_.get());  // its return code belongs to the previous run
  bound_ = 0;
}

bool Statement::next() {
  const int result = sqlite3_step(statement_.get());
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  database_->fail("cannot go on");
}

void Statement::finish() {
  while (next()) {
  }
  sqlite3_reset(statement_.get());
}

void Statement::bind(std::int64_t value) {
  check(sqlite3_bind_int64(statement_.get(), ++bound_, value));
}

void Statement::bind(double value) {
  check(sqlite3_bind_double(statement_.get(), ++bound_, value));
}

void Statement::bind(std::string_view value) {
  check(sqlite3_bind_text64(statement_.get(), ++bound_, value.data() == nullptr ? "" : value.data(),
                            value.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
}

void Statement::bind(std::span<const std::byte> value) {
  if (value.empty()) return check(sqlite3_bind_zeroblob(statement_.get(), ++bound_, 0));
  check(sqlite3_bind_blob64(statement_.get(), ++bound_, value.data(), value.size(),
                            SQLITE_TRANSIENT));
}

void Statement::bind(std::optional<std::int64_t> value) {
  if (value) return bind(*value);
  check(sqlite3_bind_null(statement_.get(), ++bound_));
}

std::optional<std::int64_t> Statement::whole(int column) const {
  if (sqlite3_column_type(statement_.get(), column) != SQLITE_INTEGER) return std::nullopt;
  return sqlite3_column_int64(statement_.get(), column);
}

std::optional<double> Statement::real(int column) const {
  if (sqlite3_column_type(statement_.get(), column) != SQLITE_FLOAT) return std::nullopt;
  return sqlite3_column_double(statement_.get(), column);
}

std::optional<std::string> Statement::text(int column) const {
  if (sqlite3_column_type(statement_.get(), column) != SQLITE_TEXT) return std::nullopt;
  const unsigned char* begin = sqlite3_column_text(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  if (begin == nullptr) throw std::bad_alloc();
  return std::string(reinterpret_cast<const char*>(begin), static_cast<std::size_t>(size));
}

std::optional<std::span<const std::byte>> Statement::bytes(int column) const {
  if (sqlite3_column_type(statement_.get(), column) != SQLITE_BLOB) return std::nullopt;
  const auto* begin = static_cast<const std::byte*>(sqlite3_column_blob(statement_.get(), column));
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return std::span(begin, begin == nullptr ? 0 : static_cast<std::size_t>(size));
}

Transaction::Transaction(Database& database) : database_(database) {
  database_.run("BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
  if (!open_) return;
  try {
    database_.run("ROLLBACK");
  } catch (const DatabaseError&) {  // SQLite has rolled back already, as on a full disk
  }
}

void Transaction::commit() {
  database_.run("COMMIT");
  open_ = false;
}

}  // namespace penstock
