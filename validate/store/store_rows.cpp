#include "validate/store/store_rows.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "sim/base/error.hpp"
#include "validate/store/environment_keys.hpp"
#include "validate/store/row_content.hpp"
#include "validate/store/stored_row.hpp"

namespace penstock {
namespace {

constexpr std::string_view row_sql =
    "SELECT kernel.name, kernel.pass, profile.shape, profile.cond, kernel.build, env.facts,"
    " profile.canary_ns, sample.samples_ns, profile.measured_at, profile.state, profile.env,"
    " profile.schema, profile.origin, profile.checksum"
    " FROM profile LEFT JOIN env ON env.id = profile.env"
    " LEFT JOIN kernel ON kernel.id = profile.kernel"
    " LEFT JOIN sample ON sample.profile = profile.id WHERE profile.id = ?";

constexpr std::string_view verdicts_sql =
    "SELECT at, state, why FROM verdict WHERE profile = ? ORDER BY id";

template <class Value>
Value needed(std::optional<Value> value, std::string_view what) {
  if (!value) throw InputError(fmt::format("its {} is missing or of another type", what));
  return std::move(*value);
}

RowState state_of(std::optional<std::string> text) {
  return needed(row_state(needed(std::move(text), "state")), "state");
}

/// A possibly foreign text, made printable.
std::string printable(std::optional<std::string> text) {
  if (!text) return "?";
  for (char& c : *text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return std::move(*text);
}

/// The measured row, from the columns before the state.
ProfileRow measured_row(const Statement& columns) {
  ProfileRow row;
  row.point.kernel = needed(columns.text(0), "kernel");
  row.point.pass = needed(columns.text(1), "pass");
  row.point.shape = needed(columns.text(2), "shape");
  row.point.condition = needed(columns.text(3), "condition");
  row.build = needed(columns.text(4), "build");
  row.environment = needed(facts_of(needed(columns.text(5), "environment")), "environment");
  row.canary_ns = needed(columns.real(6), "canary");
  row.samples_ns =
      needed(samples_of(needed(columns.bytes(7), "list of samples")), "list of samples");
  row.measured_at = needed(columns.text(8), "time of measurement");
  return row;
}

StoredRow stored_row(RowId id, const Statement& columns) {
  StoredRow stored{.id = id, .row = measured_row(columns), .state = state_of(columns.text(9))};
  stored.environment = needed(columns.whole(10), "environment");
  stored.schema = needed(columns.whole(11), "schema version");
  if (const auto origin = columns.whole(12)) stored.origin = RowId{*origin};
  if (const auto fault = row_fault(stored.row)) throw InputError(*fault);
  if (needed(columns.whole(13), "checksum") != row_checksum(stored.row)) {
    throw InputError("its checksum is not that of its content");
  }
  return stored;
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

}  // namespace

std::string_view name(RowState state) {
  constexpr std::array<std::string_view, 3> names{"valid", "suspect", "retired"};
  return names[static_cast<std::size_t>(state)];
}

std::optional<RowState> row_state(std::string_view text) {
  for (const RowState state : {RowState::valid, RowState::suspect, RowState::retired}) {
    if (name(state) == text) return state;
  }
  return std::nullopt;
}

RowReader::RowReader(const Database& database)
    : row_(database, row_sql), verdicts_(database, verdicts_sql) {}

std::optional<ReadRow> RowReader::read(RowId id) {
  try {
    if (!row_.with(index(id)).next()) return std::nullopt;
    return stored_row(id, row_);
  } catch (const InputError& error) {
    return UnreadableRow{id, error.what()};
  } catch (const DatabaseError& error) {
    if (error.fault() != DatabaseFault::too_large) throw;
    return UnreadableRow{id,
                         fmt::format("it holds more than {} bytes", Database::most_value_bytes)};
  }
}

std::vector<RowVerdict> RowReader::verdicts(RowId id) {
  std::vector<RowVerdict> all;
  verdicts_.with(index(id));
  while (verdicts_.next()) {
    const auto state = row_state(verdicts_.text(1).value_or(""));
    all.push_back({printable(verdicts_.text(0)), state.value_or(RowState::suspect),
                   printable(verdicts_.text(2))});
  }
  return all;
}

void rethrow(const std::string& path, const DatabaseError& error) {
  const auto said = [&](std::string_view text) {
    return fmt::format("{}: {}: {}", path, text, error.what());
  };
  switch (error.fault()) {
    case DatabaseFault::damaged:
      throw InputError(said("the file is damaged") +
                       fmt::format("; penstock profile check {} --recover OUT saves the rows that "
                                   "can still be read",
                                   path));
    case DatabaseFault::no_database:
      throw InputError(said("not a profile store, or its header is damaged"));
    case DatabaseFault::cannot_open:
      throw InputError(said("it cannot be read"));
    case DatabaseFault::too_large:
      throw InputError(said("a value is larger than any of a profile store"));
    case DatabaseFault::cannot_write:
      throw StoreError(said("it takes no writes, and is as it was"));
    case DatabaseFault::full:
      throw StoreError(
          said("there is no room; nothing of this was kept, and all rows of before "
               "are still there"));
    case DatabaseFault::busy:
      throw StoreError(said("another process has kept it for too long; nothing of this was kept"));
    case DatabaseFault::other:
      break;
  }
  throw StoreError(said("the store failed"));
}

void insert_verdict(Database& database, RowId id, const RowVerdict& verdict) {
  Statement(database, "INSERT INTO verdict (profile, at, state, why) VALUES (?, ?, ?, ?)")
      .with(index(id), verdict.at, name(verdict.state), verdict.why)
      .finish();
}

RowId insert_row(Database& database, const StoredRow& stored) {
  const ProfileRow& row = stored.row;
  const auto origin = stored.origin ? std::optional(index(*stored.origin)) : std::nullopt;
  const auto number = index(stored.id) == 0 ? std::nullopt : std::optional(index(stored.id));
  Statement(
      database,
      "INSERT INTO profile (id, env, kernel, shape, cond, state, measured_at, canary_ns, schema,"
      " origin, checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .with(number, environment_id(database, row), kernel_id(database, row), row.point.shape,
            row.point.condition, name(stored.state), row.measured_at, row.canary_ns, stored.schema,
            origin, row_checksum(row))
      .finish();
  const RowId id{database.last_id()};
  Statement(database, "INSERT INTO sample (profile, samples_ns) VALUES (?, ?)")
      .with(index(id), std::span<const std::byte>(samples_bytes(row.samples_ns)))
      .finish();
  return id;
}

}  // namespace penstock
