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

/// What kept a database from doing something.
enum class DatabaseFault : std::uint8_t {
  damaged,       // its content contradicts itself
  no_database,   // the file is something else
  cannot_open,   // it is not there, or is not ours to read
  cannot_write,  // the file, its folder or its medium takes no writes
  full,          // the disk, or what this process may take of it
  busy,          // another process has been writing for longer than was waited
  too_large,     // a value beyond Database::most_value_bytes
  other,
};

/// The text says what happened, in words of SQLite and of the system.
class DatabaseError : public std::runtime_error {
 public:
  DatabaseError(DatabaseFault fault, const std::string& what)
      : std::runtime_error(what), fault_(fault) {}
  DatabaseFault fault() const { return fault_; }

 private:
  DatabaseFault fault_;
};

/// A connection to a SQLite file, whose content is not trusted. What fails throws DatabaseError.
class Database {
 public:
  enum class Access : std::uint8_t {
    read,
    read_unchanging,  // nobody writes meanwhile, as on a medium that takes no writes
    write,
    create,
    salvage,  // reads what can be read of a damaged file
  };
  static constexpr int most_value_bytes = 64 << 20;

  Database(const std::string& path, Access access);

  /// Runs statements that give no rows.
  void run(const std::string& sql);
  /// The first column of the first row, of a query that gives a whole number; 0 of none.
  std::int64_t whole(const std::string& sql);
  /// How many rows the statement that wrote last has changed.
  std::int64_t changed() const;
  /// The number of the row that was put in last.
  std::int64_t last_id() const;

 private:
  friend class Statement;
  struct Close {
    void operator()(sqlite3* connection) const;
  };
  [[noreturn]] void fail(const std::string& doing) const;

  std::unique_ptr<sqlite3, Close> connection_;
};

/// A query, made ready once and run any number of times. The connection must outlive it.
class Statement {
 public:
  Statement(const Database& database, std::string_view sql);

  /// Starts anew with these in place of its question marks.
  template <class... Values>
  Statement& with(const Values&... values) {
    clear();
    (bind(values), ...);
    return *this;
  }
  /// Goes on to the next row; false: there is none.
  bool next();
  /// Runs it to its end.
  void finish();

  // A column of the present row; nothing where it holds something else.
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

/// Everything written while it lives is kept by `commit`, or else nothing of it. It waits for
/// others that write.
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
