#include "experiments/input/files/spilled_list.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

#include "sim/base/error.hpp"

namespace penstock {
namespace {

[[noreturn]] void fail_on_scratch(const char* what) {
  throw InputError(fmt::format("cannot {} a temporary file: {}; TMPDIR sets its folder", what,
                               std::strerror(errno)));
}

int open_scratch() {
  std::error_code none;
  const auto folder = std::filesystem::temp_directory_path(none);
  std::string name = (none ? std::filesystem::path("/tmp") : folder) / "penstock-XXXXXX";
  const int file = ::mkostemp(name.data(), O_CLOEXEC);
  if (file < 0) fail_on_scratch("make");
  ::unlink(name.c_str());
  return file;
}

/// Calls `step(bytes, count, at)`, which returns how many bytes it did, until all are done.
template <class Byte, class Step>
void do_all(Byte* bytes, std::size_t count, std::size_t at, const char* what, Step step) {
  while (count > 0) {
    const ssize_t done = step(bytes, count, static_cast<off_t>(at));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) fail_on_scratch(what);
    bytes += done;
    at += static_cast<std::size_t>(done);
    count -= static_cast<std::size_t>(done);
  }
}

}  // namespace

ScratchFile::~ScratchFile() {
  if (file_ >= 0) ::close(file_);
}

void ScratchFile::write(const void* bytes, std::size_t count, std::size_t at) {
  if (file_ < 0) file_ = open_scratch();
  do_all(static_cast<const char*>(bytes), count, at, "write",
         [this](const char* from, std::size_t size, off_t place) {
           return ::pwrite(file_, from, size, place);
         });
}

void ScratchFile::read(void* bytes, std::size_t count, std::size_t at) const {
  do_all(
      static_cast<char*>(bytes), count, at, "read",
      [this](char* to, std::size_t size, off_t place) { return ::pread(file_, to, size, place); });
}

}  // namespace penstock
