#include "experiments/files/byte_stream.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr std::size_t block_bytes = std::size_t{1} << 18;

gzFile handle(void* file) { return static_cast<gzFile>(file); }

/// zlib passes what is no gzip file on as it is.
void* open(const std::string& path) {
  if (path == "-") return gzdopen(::dup(STDIN_FILENO), "rb");
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw InputError("it is a folder; a file is needed");
  }
  return gzopen(path.c_str(), "rb");
}

/// Why nothing more could be read, unless that is the end of the file.
void check(gzFile file) {
  int code = Z_OK;
  const char* const text = gzerror(file, &code);
  if (code == Z_OK || code == Z_STREAM_END) return;
  if (code == Z_BUF_ERROR) throw InputError("it is a gzip file that was cut off");
  if (code == Z_ERRNO) throw InputError(fmt::format("cannot read: {}", std::strerror(errno)));
  if (code == Z_MEM_ERROR) throw std::bad_alloc();
  throw InputError(fmt::format("it is no intact gzip file: {}", text));
}

}  // namespace

void ByteStream::Close::operator()(void* file) const { gzclose(handle(file)); }

ByteStream::ByteStream(const std::string& path, std::uint64_t most_bytes,
                       std::uint64_t most_unmarked)
    : most_(most_bytes), most_unmarked_(most_unmarked), block_(block_bytes) {
  errno = 0;
  file_.reset(open(path));
  if (!file_) throw InputError(fmt::format("cannot open: {}", std::strerror(errno)));
  fill();
}

void ByteStream::fill() {
  before_ += filled_;
  at_ = 0;
  filled_ = 0;
  const int got = gzread(handle(file_.get()), block_.data(), static_cast<unsigned>(block_bytes));
  if (got < static_cast<int>(block_bytes)) check(handle(file_.get()));
  filled_ = static_cast<std::size_t>(got);
  if (before_ + filled_ > most_) {
    throw InputError(fmt::format("it is larger than {} bytes when unpacked", most_));
  }
  if (before_ - marked_ > most_unmarked_) {
    throw InputError(fmt::format("a single value is larger than {} bytes", most_unmarked_));
  }
}

}  // namespace penstock
