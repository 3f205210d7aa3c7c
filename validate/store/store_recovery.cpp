#include "validate/store/store_recovery.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <system_error>
#include <utility>

#include "sim/base/error.hpp"
#include "validate/store/profile_store.hpp"
#include "validate/store/store_file.hpp"
#include "validate/store/store_rows.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;

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

/// An upper bound on row numbers. If the store cannot say, the number of rows that would fit into
/// the file and its write-ahead log.
std::int64_t highest_id(Database& database, const std::string& path) {
  constexpr std::int64_t least_row_bytes = 16;
  const std::int64_t most = (bytes_of(path) + bytes_of(path + "-wal")) / least_row_bytes;
  std::int64_t highest = 0;
  for (const char* query :
       {"SELECT seq FROM sqlite_sequence WHERE name = 'profile'", "SELECT max(id) FROM profile"}) {
    highest = std::max(highest, despite_damage(most, [&] { return database.whole(query); }));
  }
  return std::min(highest, most);
}

std::vector<RowVerdict> verdicts_of(RowReader& reader, RowId id) {
  return despite_damage(std::vector<RowVerdict>(), [&] { return reader.verdicts(id); });
}

Recovery read_all(const std::string& path, const Keep& keep) {
  complete_store(path);
  Database database(path, Database::Access::salvage);
  if (const auto fault = why_no_store(database, store_schema)) {
    throw InputError(fmt::format("{}: {}", path, *fault));
  }
  Recovery recovery;
  RowReader reader(database);
  const std::int64_t highest = highest_id(database, path);
  for (std::int64_t number = 1; number <= highest; ++number) {
    const RowId id{number};
    const UnreadableRow lost{id, "its page is damaged"};
    const auto read = despite_damage(std::optional<ReadRow>(lost), [&] { return reader.read(id); });
    if (!read) continue;
    if (const auto* row = std::get_if<StoredRow>(&*read)) {
      ++recovery.readable;
      keep(*row, verdicts_of(reader, id));
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

void remove_store(const std::string& path) {
  std::error_code ignored;
  for (const char* end : {"", "-wal", "-shm"}) fs::remove(path + end, ignored);
}

}  // namespace

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
    remove_store(into);  // it holds nothing
    throw;
  }
}

}  // namespace penstock
