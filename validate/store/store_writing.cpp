#include "validate/store/store_writing.hpp"

#include "validate/store/environment_keys.hpp"
#include "validate/store/row_content.hpp"

namespace penstock {
namespace {

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
