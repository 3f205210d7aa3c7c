#include "validate/store/store_schema.hpp"

#include <fmt/format.h>

#include <array>
#include <set>

namespace penstock {

const std::string_view newest_row_sql =
    "SELECT id FROM profile"
    " WHERE env IN (SELECT id FROM env WHERE identity = ?)"
    " AND kernel = (SELECT id FROM kernel WHERE name = ? AND pass = ? AND build = ?)"
    " AND shape = ? AND cond = ? AND state = ?"
    " ORDER BY measured_at DESC, id DESC LIMIT 1";

namespace {

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

/// Tables and indices that SQLite adds itself.
bool is_of_sqlite(std::string_view name) {
  return name == "sqlite_sequence" || name.starts_with("sqlite_autoindex_");
}

bool is_part(const std::string& name, const std::string& sql) {
  for (const Part& part : parts) {
    if (part.name == name) return part.sql == sql;
  }
  return false;
}

/// Names extra or missing tables of the file.
std::optional<std::string> other_tables(const Database& database) {
  std::set<std::string> seen;
  Statement listed(database, "SELECT name, sql FROM sqlite_schema");
  while (listed.next()) {
    const std::string name = listed.text(0).value_or("");
    if (is_of_sqlite(name)) continue;
    if (!is_part(name, listed.text(1).value_or(""))) {
      return "its tables are not those of a profile store";
    }
    seen.insert(name);
  }
  if (seen.size() == parts.size()) return std::nullopt;
  return "it lacks tables that a profile store has";
}

}  // namespace

void make_tables(Database& database, std::int64_t schema) {
  Transaction transaction(database);
  for (const Part& part : parts) database.run(std::string(part.sql));
  database.run(fmt::format("INSERT INTO meta VALUES ('schema', '{}')", schema));
  database.run(fmt::format("PRAGMA application_id = {}", store_application_id));
  database.run(fmt::format("PRAGMA user_version = {}", schema));
  transaction.commit();
}

std::optional<std::string> why_no_store(Database& database, std::int64_t schema) {
  if (database.whole("PRAGMA application_id") != store_application_id) {
    return "it is a database of something else, no profile store";
  }
  const std::int64_t version = database.whole("PRAGMA user_version");
  if (version > schema) {
    return fmt::format(
        "its schema is version {}, and this program knows none above {}; use a newer one", version,
        schema);
  }
  if (version < 1) return fmt::format("its schema is version {}; there is none below 1", version);
  return other_tables(database);
}

}  // namespace penstock
