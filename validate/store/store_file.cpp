#include "validate/store/store_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "sim/base/error.hpp"
#include "validate/store/store_error.hpp"
#include "validate/store/store_schema.hpp"
#include "validate/store/stored_row.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view magic{"SQLite format 3\0", 16};
constexpr std::uintmax_t most_checked_bytes = 32 << 20;  // above this a full check takes too long

std::string first_bytes(const std::string& path) {
  std::array<char, magic.size()> head{};
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InputError(fmt::format("{}: cannot open: {}", path, std::strerror(errno)));
  file.read(head.data(), head.size());
  return {head.data(), static_cast<std::size_t>(file.gcount())};
}

/// Throws InputError for a file that is clearly not a store.
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
    throw InputError(path + ": not a profile store: no SQLite header");
  }
}

void check_content(const std::string& path, Database& database) {
  if (const auto fault = why_no_store(database, store_schema)) {
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

/// If nothing can be written next to the file, SQLite cannot keep track of writers, and there are
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

}  // namespace

void make_store(const std::string& path) {
  const std::string temporary = fmt::format("{}.{}.tmp", path, ::getpid());
  fs::remove(temporary);
  {
    Database database(temporary, Database::Access::create);
    make_tables(database, store_schema);
    database.run("PRAGMA journal_mode = WAL");  // readers and a writer at once
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

}  // namespace penstock
