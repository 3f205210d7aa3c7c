#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace penstock {

/// The content of a .gz file. Equal contents give equal files: no time is written into them.
std::string gzip(std::string_view content);

/// Packs content that comes in pieces; how it is cut into them does not change the file.
class GzipWriter {
 public:
  using Sink = std::function<void(std::string_view packed)>;

  GzipWriter();
  void write(std::string_view content, const Sink& sink);
  /// Once, behind all content.
  void finish(const Sink& sink);

 private:
  struct State;
  struct Close {
    void operator()(State* state) const;
  };
  void pack(bool last, const Sink& sink);

  std::unique_ptr<State, Close> state_;
};

/// Unpacks a gzip file while it is read, its members one after the other. zlib's own `gzread` would
/// take whatever follows a member and is none, such as one with a damaged head, for the end.
class GzipReader {
 public:
  /// Puts at most so many bytes of the file at a place and says how many these are; 0 at its end.
  using Source = std::function<std::size_t(char* to, std::size_t most)>;

  /// Errors give zlib's reason, with the file's name in front, where there is a name.
  explicit GzipReader(Source source, std::string name = {});

  /// Puts at most so many bytes of the content, below 4 GiB, at a place and says how many these
  /// are: fewer only at its end. Throws InputError for a file that is cut off or damaged.
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

/// Whether a file that begins so is a gzip file.
bool is_gzip(std::string_view start);

/// What a .gz file holds. Throws InputError for a file that is cut off or damaged, and for more
/// than `max_bytes`.
std::string gunzip(std::string_view file, std::uint64_t max_bytes);

}  // namespace penstock
