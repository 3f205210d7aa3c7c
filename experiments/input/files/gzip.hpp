#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace penstock {

/// Packs text into a .gz file. Equal contents give equal files: no time is stored.
std::string gzip(std::string_view content);

/// Packs content that comes in pieces, on all cores, block by block. Neither the pieces nor the
/// number of cores affect the file.
class GzipWriter {
 public:
  using Sink = std::function<void(std::string_view packed)>;

  GzipWriter();
  void write(std::string_view content, const Sink& sink);
  /// Call once, after all content.
  void finish(const Sink& sink);

 private:
  struct State;
  struct Close {
    void operator()(State* state) const;
  };

  std::unique_ptr<State, Close> state_;
};

/// Unpacks a gzip file as it is read, member by member. zlib's own `gzread` takes anything invalid
/// after a member, such as a member with a damaged head, for the end of the file.
class GzipReader {
 public:
  /// Reads up to `most` bytes of the file to `to` and returns how many; 0 at its end.
  using Source = std::function<std::size_t(char* to, std::size_t most)>;

  /// Errors give zlib's reason, after the file's name if there is one.
  explicit GzipReader(Source source, std::string name = {});

  /// Reads up to `most` bytes of the content, below 4 GiB, to `to` and returns how many: fewer only
  /// at its end. Throws InputError for a truncated or corrupt file.
  std::size_t read(char* to, std::size_t most);

 private:
  struct State;
  struct Close {
    void operator()(State* state) const;
  };
  void fill();
  [[noreturn]] void fail() const;

  Source source_;
  std::string name_;
  std::unique_ptr<State, Close> state_;
};

/// Whether a file that starts with these bytes is a gzip file.
bool is_gzip(std::string_view start);

/// The content of a .gz file. Throws InputError for a truncated or corrupt file, and for more than
/// `max_bytes`.
std::string gunzip(std::string_view file, std::uint64_t max_bytes);

}  // namespace penstock
