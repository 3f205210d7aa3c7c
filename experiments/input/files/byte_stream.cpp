#include "experiments/input/files/byte_stream.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <future>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "experiments/input/long_work/budget.hpp"
#include "experiments/input/long_work/interruption.hpp"
#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"

namespace penstock {

/// A block of content as raw deflate data that depends on no other block.
struct PackedBlock {
  std::string data;
  uLong checksum = 0;
  std::size_t size = 0;  // unpacked
};

namespace {

constexpr std::size_t block_bytes = std::size_t{1} << 18;

std::size_t read_block(std::FILE* file, char* to, std::size_t most) {
  const std::size_t got = std::fread(to, 1, most, file);
  if (std::ferror(file) != 0) {
    throw InputError(fmt::format("cannot read: {}", std::strerror(errno)));
  }
  return got;
}

bool is_gzip(std::string_view start) { return start.starts_with("\x1f\x8b"); }

/// The size of a regular file; 0 for a stream.
std::uint64_t size_of(std::FILE* file) {
  struct stat facts {};
  if (::fstat(::fileno(file), &facts) != 0 || !S_ISREG(facts.st_mode)) return 0;
  return static_cast<std::uint64_t>(facts.st_size);
}

/// Takes the size of a content as it grows, and throws where it is too large.
using CheckSize = std::function<void(std::uint64_t bytes)>;

std::string read_all(std::FILE* file, const CheckSize& check) {
  std::string content;
  const std::uint64_t size = size_of(file);
  check(size);
  content.reserve(size);
  std::string block(std::size_t{1} << 20, '\0');
  while (const std::size_t got = read_block(file, block.data(), block.size())) {
    content.append(block, 0, got);
    check(content.size());
  }
  return content;
}

[[noreturn]] void refuse_configuration(const char* when) {
  throw InputError(fmt::format("it is larger than {}{}, the most for a configuration",
                               memory_text(static_cast<double>(configuration_bytes)), when));
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

constexpr int gzip_window = MAX_WBITS + 16;  // asks zlib for a gzip frame
constexpr std::size_t gzip_block = std::size_t{1} << 18;

// zlib does not write to its input, but its type lacks const.
Bytef* bytes_of(const char* text) { return reinterpret_cast<Bytef*>(const_cast<char*>(text)); }

/// Limits a size to what zlib's counters hold.
uInt part_of(std::size_t size) { return static_cast<uInt>(std::min(size, std::size_t{1} << 30)); }

/// Above this level, zlib takes twice the time for a tenth of the size.
constexpr int quick_level = 3;
constexpr std::size_t packed_at_a_time = std::size_t{1} << 20;

PackedBlock packed_block(const std::string& content, bool last) {
  constexpr int usual_memory = 8;
  z_stream stream{};
  if (deflateInit2(&stream, quick_level, Z_DEFLATED, -MAX_WBITS, usual_memory,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::bad_alloc();
  }
  constexpr std::size_t flush_bytes = 16;  // an empty block after the content
  PackedBlock packed{.checksum = crc32(0, bytes_of(content.data()), part_of(content.size())),
                     .size = content.size()};
  packed.data.resize(deflateBound(&stream, content.size()) + flush_bytes);
  stream.next_in = bytes_of(content.data());
  stream.avail_in = part_of(content.size());
  stream.next_out = bytes_of(packed.data.data());
  stream.avail_out = part_of(packed.data.size());
  deflate(&stream, last ? Z_FINISH : Z_SYNC_FLUSH);
  packed.data.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

/// Packs on another thread if there is one, else when the block is asked for.
std::future<PackedBlock> packing(std::string content) {
  const auto pack = [content = std::move(content)] { return packed_block(content, false); };
  const InterruptsWait left_to_the_caller;
  try {
    return std::async(std::launch::async, pack);
  } catch (const std::system_error&) {
    return std::async(std::launch::deferred, pack);
  }
}

/// Four bytes, the lowest first.
std::string little_endian(uLong number) {
  std::string bytes;
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(number >> shift & 0xff);
  return bytes;
}

/// The content of a .gz file.
std::string unpacked(std::string_view file, const CheckSize& check) {
  GzipReader reader([&](char* to, std::size_t most) {
    const std::size_t size = file.copy(to, most);
    file.remove_prefix(size);
    return size;
  });
  std::string content;
  for (std::size_t got = gzip_block; got == gzip_block;) {
    const std::size_t before = content.size();
    content.resize(before + gzip_block);
    got = reader.read(content.data() + before, gzip_block);
    content.resize(before + got);
    check(content.size());
  }
  return content;
}

constexpr std::uint64_t most_packed = 200;

/// No format has such a beginning, and as other text every second character would be a fault.
std::string without_utf16(std::string content) {
  if (content.starts_with("\xff\xfe") || content.starts_with("\xfe\xff")) {
    throw InputError("it is UTF-16; save it as UTF-8");
  }
  return content;
}

/// The content of a file. `check` gets its size as it grows, and when that is: behind gzip.
template <class Check>
std::string read_within(const std::string& path, const Check& check) {
  return about_file(path, [&] {
    const InputFile file = open_input(path);
    std::string content = read_all(file.get(), [&](std::uint64_t bytes) { check(bytes, ""); });
    const bool packed = is_gzip(content) || path.ends_with(".gz");
    if (!packed) return without_utf16(std::move(content));
    return without_utf16(unpacked(content, [&](std::uint64_t bytes) {
      check(bytes, " when unpacked");
      // Files of numbers and names pack to a third; only what is made for it packs to so little.
      if (bytes < configuration_bytes || bytes / most_packed <= content.size()) return;
      throw InputError(fmt::format("it is more than {} times larger when unpacked", most_packed));
    }));
  });
}

}  // namespace

ByteStream::ByteStream(const std::string& path, std::uint64_t most_bytes,
                       std::uint64_t most_unmarked)
    : file_(open_input(path)),
      most_(most_bytes),
      most_unmarked_(most_unmarked),
      block_(block_bytes),
      file_bytes_(size_of(file_.get())) {
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

struct GzipWriter::State {
  bool begun = false;
  std::string content;  // not yet being packed
  std::deque<std::future<PackedBlock>> blocks;
  uLong checksum = crc32(0, nullptr, 0);
  uLong size = 0;

  void pass_on(const PackedBlock& block, const Sink& sink) {
    if (!begun) sink({"\x1f\x8b\x08\0\0\0\0\0\0\x03", 10});  // no name, no time, Unix
    begun = true;
    checksum = crc32_combine(checksum, block.checksum, static_cast<z_off_t>(block.size));
    size += block.size;
    sink(block.data);
  }
  /// Waits until at most `most` blocks are being packed.
  void pass_on_until(std::size_t most, const Sink& sink) {
    for (; blocks.size() > most; blocks.pop_front()) pass_on(blocks.front().get(), sink);
  }
};

void GzipWriter::Close::operator()(State* state) const { delete state; }

GzipWriter::GzipWriter() : state_(new State) {}

void GzipWriter::write(std::string_view content, const Sink& sink) {
  const std::size_t at_once = std::max(1U, std::thread::hardware_concurrency());
  while (!content.empty()) {
    std::string& block = state_->content;
    const std::size_t taken = std::min(content.size(), packed_at_a_time - block.size());
    block += content.substr(0, taken);
    content.remove_prefix(taken);
    if (block.size() < packed_at_a_time) continue;
    state_->blocks.push_back(packing(std::exchange(block, {})));
    state_->pass_on_until(at_once, sink);
  }
}

void GzipWriter::finish(const Sink& sink) {
  state_->pass_on_until(0, sink);
  state_->pass_on(packed_block(state_->content, true), sink);
  sink(little_endian(state_->checksum) + little_endian(state_->size));
}

std::string gzip(std::string_view content) {
  std::string file;
  const auto append = [&](std::string_view packed) { file += packed; };
  GzipWriter writer;
  writer.write(content, append);
  writer.finish(append);
  return file;
}

struct GzipReader::State {
  z_stream stream{};
  std::vector<char> packed = std::vector<char>(gzip_block);
  bool ended = false;
};

void GzipReader::Close::operator()(State* state) const {
  inflateEnd(&state->stream);
  delete state;
}

GzipReader::GzipReader(Source source, std::string name)
    : source_(std::move(source)), name_(std::move(name)), state_(new State) {
  if (inflateInit2(&state_->stream, gzip_window) != Z_OK) throw std::bad_alloc();
}

/// Gives zlib the next block of the file when the last one is used up.
void GzipReader::fill() {
  if (state_->stream.avail_in != 0) return;
  state_->stream.next_in = bytes_of(state_->packed.data());
  state_->stream.avail_in = static_cast<uInt>(source_(state_->packed.data(), gzip_block));
}

void GzipReader::fail() const {
  const char* const reason = state_->stream.msg;
  throw InputError(name_.empty()
                       ? "corrupt gzip file"
                       : fmt::format("corrupt gzip file: {}: {}", name_,
                                     reason == nullptr ? "compressed data error" : reason));
}

std::size_t GzipReader::read(char* to, std::size_t most) {
  z_stream& stream = state_->stream;
  stream.next_out = bytes_of(to);
  stream.avail_out = static_cast<uInt>(most);
  while (stream.avail_out > 0 && !state_->ended) {
    fill();
    const bool no_more = stream.avail_in == 0;
    const int answer = inflate(&stream, Z_NO_FLUSH);
    if (answer == Z_MEM_ERROR) throw std::bad_alloc();
    if (answer == Z_STREAM_END) {
      fill();
      state_->ended = stream.avail_in == 0;
      inflateReset(&stream);
    } else if (answer == Z_BUF_ERROR && no_more) {
      throw InputError("truncated gzip file");
    } else if (answer != Z_OK && answer != Z_BUF_ERROR) {
      fail();
    }
  }
  return most - stream.avail_out;
}

std::string gunzip(std::string_view file, std::uint64_t max_bytes) {
  return unpacked(file, [&](std::uint64_t bytes) {
    if (bytes <= max_bytes) return;
    throw InputError(fmt::format("it is larger than {} bytes when unpacked", max_bytes));
  });
}

std::string read_file(const std::string& path, double bytes_for_each) {
  const std::string name = path == "-" ? "standard input" : path;
  return read_within(path, [&](std::uint64_t bytes, const char* when) {
    if (bytes > Limits::input_file_bytes) {
      throw InputError(fmt::format("it is larger than {} bytes{}", Limits::input_file_bytes, when));
    }
    need_memory(
        bytes_for_each * static_cast<double>(bytes),
        fmt::format("{} of at least {}{}", name, memory_text(static_cast<double>(bytes)), when),
        "use a smaller file");
  });
}

std::string read_configuration(const std::string& path) {
  return read_within(path, [](std::uint64_t bytes, const char* when) {
    if (bytes > configuration_bytes) refuse_configuration(when);
  });
}

void check_configuration(std::string_view text) {
  if (text.size() > configuration_bytes) refuse_configuration("");
}

}  // namespace penstock
