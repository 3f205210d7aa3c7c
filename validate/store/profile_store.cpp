#include "validate/store/profile_store.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "sim/base/error.hpp"
#include "validate/store/row_content.hpp"
#include "validate/store/store_file.hpp"
#include "validate/store/store_rows.hpp"

namespace penstock {
namespace {

void check_row(const std::string& path, const ProfileRow& row, std::size_t number) {
  const auto fault = row_fault(row);
  if (!fault) return;
  throw InputError(fmt::format("{}: row {} of those to be added: {}", path, number, *fault));
}

StoredRow new_row(const ProfileRow& row, std::optional<RowId> origin) {
  return {.row = row, .schema = store_schema, .origin = origin};
}

RowId added(Database& database, const StoredRow& stored, std::string_view why) {
  const RowId id = insert_row(database, stored);
  insert_verdict(database, id, {stored.row.measured_at, stored.state, std::string(why)});
  return id;
}

/// Whether a row is still in the state on which a change was decided.
bool is_as_decided(const Database& database, const StateChange& change) {
  Statement found(database, "SELECT 1 FROM profile WHERE id = ?1 AND (?2 = '' OR state = ?2)");
  return found.with(index(change.id), change.from ? name(*change.from) : "").next();
}

/// False: it is in that state already, or has changed since the decision.
bool moved(Database& database, const StateChange& change, std::string_view at) {
  Statement(
      database,
      "UPDATE profile SET state = ?1 WHERE id = ?2 AND state <> ?1 AND (?3 = '' OR state = ?3)")
      .with(name(change.state), index(change.id), change.from ? name(*change.from) : "")
      .finish();
  if (database.changed() == 0) return false;
  insert_verdict(database, change.id, {std::string(at), change.state, change.why});
  return true;
}

}  // namespace

ProfileStore::ProfileStore(std::string path, Access access) : path_(std::move(path)) {
  database_ = in_store(path_, [&] {
    if (access == Access::create && !std::filesystem::exists(path_)) make_store(path_);
    return open_store(path_,
                      access == Access::read ? Database::Access::read : Database::Access::write);
  });
}

ProfileStore::~ProfileStore() = default;

std::vector<RowId> ProfileStore::add(std::span<const ProfileRow> rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) check_row(path_, rows[i], i);
  return in_store(path_, [&] {
    std::vector<RowId> ids;
    Transaction transaction(*database_);
    for (const ProfileRow& row : rows) {
      ids.push_back(added(*database_, new_row(row, std::nullopt), "measured"));
    }
    transaction.commit();
    return ids;
  });
}

std::vector<RowId> ProfileStore::add(std::span<const DerivedRow> rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) check_row(path_, rows[i].row, i);
  return in_store(path_, [&] {
    std::vector<RowId> ids;
    Transaction transaction(*database_);
    for (const DerivedRow& derived : rows) {
      ids.push_back(added(*database_, new_row(derived.row, derived.origin), derived.why));
    }
    transaction.commit();
    return ids;
  });
}

std::vector<RowId> ProfileStore::change(std::span<const StateChange> changes, std::string_view at) {
  return in_store(path_, [&] {
    std::vector<RowId> ids;
    Transaction transaction(*database_);
    Statement found(*database_, "SELECT 1 FROM profile WHERE id = ?");
    for (const StateChange& change : changes) {
      if (!found.with(index(change.id)).next()) {
        throw UsageError(fmt::format("{}: there is no row {}", path_, index(change.id)));
      }
      if (moved(*database_, change, at)) ids.push_back(change.id);
    }
    transaction.commit();
    return ids;
  });
}

std::optional<RowId> ProfileStore::renew(const StateChange& change, const DerivedRow& again,
                                         std::string_view at) {
  check_row(path_, again.row, 0);
  return in_store(path_, [&]() -> std::optional<RowId> {
    Transaction transaction(*database_);
    if (!is_as_decided(*database_, change)) return std::nullopt;
    moved(*database_, change, at);
    const RowId id = added(*database_, new_row(again.row, again.origin), again.why);
    transaction.commit();
    return id;
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

std::vector<RowVerdict> ProfileStore::verdicts(RowId id) const {
  return in_store(path_, [&] { return RowReader(*database_).verdicts(id); });
}

}  // namespace penstock
