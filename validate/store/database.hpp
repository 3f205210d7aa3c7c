#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace penstock {

/// Why a database operation failed.
enum class DatabaseFault : std::uint8_t {
  damaged,       // its content is inconsistent
  no_database,   // not a database file
  cannot_open,   // missing, or not readable by us
  cannot_write,  // the file, its folder or its medium is read-only
  full,          // the disk or the quota of this process is full
  busy,          // another process has been writing for too long
  too_large,     // a value beyond Database::most_value_bytes
  other,
};

/// The text is the message of SQLite and of the system.
class DatabaseError : public std::runtime_error {
 public:
  DatabaseError(DatabaseFault fault, const std::string& what)
      : std::runtime_error(what), fault_(fault) {}
  DatabaseFault fault() const { return fault_; }

 private:
  DatabaseFault fault_;
};

/// A connection to a SQLite file with untrusted content. Failures throw DatabaseError.
class Database {
 public:
  enum class Access : std::uint8_t {
    read,
    read_unchanging,  // no writers, as on a read-only medium
    write,
    create,
    salvage,  // reads what is left of a damaged file
  };
  static constexpr int most_value_bytes = 64 << 20;

  Database(const std::string& path, Access access);

  /// Runs statements that return no rows.
  void run(const std::string& sql);
  /// The first column of the first row, a whole number; 0 without rows.
  std::int64_t whole(const std::string& sql);
  /// The number of rows changed by the last writing statement.
  std::int64_t changed() const;
  /// The number of the last inserted row.
  std::int64_t last_id() const;

 private:
  friend class Statement;
  struct Close {
    void operator()(sqlite3* connection) const;
  };
  [[noreturn]] void fail(const std::string& doing) const;

  std::unique_ptr<sqlite3, Close> connection_;
};

/// A query, prepared once and run any number of times. The connection must outlive it.
class Statement {
 public:
  Statement(const Database& database, std::string_view sql);

  /// Starts again with these values for its question marks.
  template <class... Values>
  Statement& with(const Values&... values) {
    clear();
    (bind(values), ...);
    return *this;
  }
  /// The same of a list.
  template <class BoundValues>
  Statement& with_each(const BoundValues& values) {
    clear();
    for (const auto& value : values) bind(value);
    return *this;
  }
  /// Goes to the next row; false: none is left.
  bool next();
  /// Runs it to its end.
  void finish();

  // A column of the current row; nothing for a value of another type.
  std::optional<std::int64_t> whole(int column) const;
  std::optional<double> real(int column) const;
  std::optional<std::string> text(int column) const;
  /// Valid until the next step.
  std::optional<std::span<const std::byte>> bytes(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  void clear();
  void bind(std::int64_t value);
  void bind(double value);
  void bind(std::string_view value);
  void bind(std::span<const std::byte> value);
  void bind(std::optional<std::int64_t> value);
  void check(int result) const;

  const Database* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int bound_ = 0;
};

/// `commit` keeps everything written during its life; without it nothing is kept. Waits for other
/// writers.
class Transaction {
 public:
  explicit Transaction(Database& database);
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();

  void commit();

 private:
  Database& database_;
  bool open_ = true;
};

}  // namespace penstock
