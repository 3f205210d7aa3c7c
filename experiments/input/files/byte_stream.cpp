#include "experiments/input/files/byte_stream.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr std::size_t block_bytes = std::size_t{1} << 18;

std::size_t read_block(std::FILE* file, char* to, std::size_t most) {
  const std::size_t got = std::fread(to, 1, most, file);
  if (std::ferror(file) != 0) {
    throw InputError(fmt::format("cannot read: {}", std::strerror(errno)));
  }
  return got;
}

/// Continues a file whose first block has already been read.
GzipReader::Source source_behind(std::string start, std::FILE* file) {
  return [start = std::move(start), file](char* to, std::size_t most) mutable {
    if (start.empty()) return read_block(file, to, most);
    const std::size_t size = start.copy(to, most);
    start.erase(0, size);
    return size;
  };
}

}  // namespace

ByteStream::ByteStream(const std::string& path, std::uint64_t most_bytes,
                       std::uint64_t most_unmarked)
    : file_(open_input(path)),
      most_(most_bytes),
      most_unmarked_(most_unmarked),
      block_(block_bytes) {
  std::error_code unknown;
  const auto size = std::filesystem::file_size(path, unknown);
  if (!unknown) file_bytes_ = size;
  const std::size_t got = read_block(file_.get(), block_.data(), block_bytes);
  const std::string_view start(block_.data(), got);
  if (is_gzip(start)) {
    unpacked_.emplace(source_behind(std::string(start), file_.get()), path);
    fill();
  } else {
    take_in(got);
  }
}

double ByteStream::share_read() const {
  const long at = std::ftell(file_.get());
  if (file_bytes_ == 0 || at < 0) return 0;
  return static_cast<double>(at) / static_cast<double>(file_bytes_);
}

void ByteStream::fill() {
  if (on_block_) on_block_(share_read());
  before_ += filled_;
  take_in(unpacked_ ? unpacked_->read(block_.data(), block_bytes)
                    : read_block(file_.get(), block_.data(), block_bytes));
}

/// Starts with a block that has already been read.
void ByteStream::take_in(std::size_t got) {
  at_ = 0;
  filled_ = got;
  if (before_ + filled_ > most_) {
    throw InputError(fmt::format("it is larger than {} bytes when unpacked", most_));
  }
  if (before_ - marked_ > most_unmarked_) {
    throw InputError(fmt::format("a single value is larger than {} bytes", most_unmarked_));
  }
}

}  // namespace penstock
