#include "experiments/input/files/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "experiments/input/files/byte_stream.hpp"
#include "experiments/input/files/files.hpp"
#include "experiments/input/files/lenient_json.hpp"
#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;

/// Whether the machine is at fault, not the path.
bool is_of_machine(int reason) {
  return reason == ENOSPC || reason == EDQUOT || reason == EIO || reason == EFBIG ||
         reason == ENFILE || reason == EMFILE || reason == ENOMEM;
}

/// A special file, such as /dev/null, is written directly, without a temporary file.
bool is_special(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) && !fs::is_regular_file(path, ignored);
}

/// Follows a symbolic link, so that its target is replaced, not the link.
std::string place_of(const std::string& path) {
  std::error_code ignored;
  const fs::path canonical = fs::weakly_canonical(path, ignored);
  return canonical.empty() ? path : canonical.string();
}

/// A name beside a file that nobody can guess, and so cannot lead elsewhere by a link.
std::string name_beside(const std::string& place) {
  std::random_device random;
  const std::string name = fmt::format("penstock-{:08x}{:08x}.tmp", random(), random());
  return (fs::path(place).parent_path() / name).string();
}

/// A new file, for its user alone until it has the mode of the file that it replaces.
std::FILE* create(const std::string& path, const std::string& place) {
  struct stat former {};
  const bool replaces = ::stat(place.c_str(), &former) == 0;
  const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  const int file = ::open(path.c_str(), flags, replaces ? 0600 : 0666);
  if (file < 0) return nullptr;
  if (replaces) {
    // Only root may give a file away. The mode comes last: a change of owner clears bits of it.
    [[maybe_unused]] const int ignored = ::fchown(file, former.st_uid, former.st_gid);
    ::fchmod(file, former.st_mode & 0777);
  }
  return ::fdopen(file, "wb");
}

bool is_file(const std::string& path) { return !path.empty() && path != "-"; }

/// Compares the places that the paths lead to, whether or not a file exists there.
bool are_one_file(const std::string& a, const std::string& b) {
  std::error_code error;
  if (fs::equivalent(a, b, error)) return fs::is_regular_file(a, error);
  return !fs::exists(a, error) && fs::weakly_canonical(a, error) == fs::weakly_canonical(b, error);
}

constexpr std::size_t head_bytes = 512;
constexpr long tail_bytes = 128;

/// What the first line of a table as CSV begins with, has in it and ends with: CSV has no place for
/// a mark.
struct TableHead {
  std::string_view begin, middle, end;
};
constexpr std::array<TableHead, 8> own_tables{{{"item,hash,", "", ""},
                                               {"series,", ",simulated,", ",missing"},
                                               {"quantity,", "", ",value"},
                                               {"quantity,", "", ",value,finding"},
                                               {"rank,link,pass,stage,", "", "begin_us,end_us"},
                                               {"rank,time_us,bytes", "", ""},
                                               {"panel,series,unit,", "", ""},
                                               {"seconds,gibibytes,on_front", "", ""}}};

/// The first bytes, unpacked.
std::string head_of(const std::string& path) {
  ByteStream bytes(path, Limits::input_file_bytes, Limits::input_file_bytes);
  std::string head;
  for (; head.size() < head_bytes && !bytes.ended(); bytes.advance()) head += bytes.current();
  return head;
}

std::string tail_of(const std::string& path) {
  const InputFile file(std::fopen(path.c_str(), "rb"));
  if (!file) return {};
  if (std::fseek(file.get(), -tail_bytes, SEEK_END) != 0) return {};  // all of it is head
  std::string tail(tail_bytes, '\0');
  tail.resize(std::fread(tail.data(), 1, tail.size(), file.get()));
  return tail;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Whether a file of a format without a place for the mark begins like this.
bool is_own_beginning(std::string_view head) {
  const bool timeline = head.starts_with("PENSTOCK") && contains(head, std::string_view("\0", 1));
  constexpr std::size_t at_id = 68;
  const bool database = head.starts_with("SQLite format 3") && head.substr(at_id, 4) == "PENS";
  const bool row = head.starts_with(R"({"item":)") && contains(head, R"(,"sweep":")");
  const bool program = head.starts_with("penstock gpu program ");
  const std::string_view line = head.substr(0, head.find('\n'));
  return timeline || database || row || program ||
         std::ranges::any_of(own_tables, [&](const auto& table) {
           return line.starts_with(table.begin) && contains(line, table.middle) &&
                  line.ends_with(table.end);
         });
}

/// Whether it says what it is, and that Penstock wrote it. A reader of its format refuses other
/// keys, so that it has no comment. Only its outermost values are kept, and a trace is not read on.
bool is_own_json(const std::string& path) {
  using Event = nlohmann::json::parse_event_t;
  ByteStream stream(path, Limits::input_file_bytes, Limits::input_file_bytes);
  LenientJson bytes(stream);
  const auto keep = [](int depth, Event event, const nlohmann::json& value) {
    if (depth == 1 && event == Event::key && value == "traceEvents") throw InputError("a trace");
    return depth == 0 || event == Event::key || event == Event::value;
  };
  const auto document =
      nlohmann::json::parse(ByteIterator(bytes), ByteIterator(), keep, /*allow_exceptions=*/false);
  if (!document.is_object() || !document.contains("penstock")) return false;
  return std::ranges::any_of(std::array{"description", "summary"}, [&](const char* key) {
    const auto about = document.find(key);
    return about != document.end() && about->is_string() &&
           contains(about->get_ref<const std::string&>(), "written by penstock");
  });
}

}  // namespace

void OutputFile::Close::operator()(std::FILE* file) const {
  if (file != stdout) std::fclose(file);
}

OutputFile::OutputFile(std::string path, Existing replaced) : path_(std::move(path)) {
  if (path_ == "-") {
    path_ = "standard output";
    file_.reset(stdout);
    return;
  }
  check_replaced(path_, replaced);
  place_ = path_;
  if (is_special(path_)) {
    file_.reset(std::fopen(place_.c_str(), "wb"));
  } else {
    open_temporary();
  }
  if (!file_) fail(errno);
  if (path_.ends_with(".gz")) packed_.emplace();
}

void OutputFile::open_temporary() {
  place_ = place_of(path_);
  temporary_.emplace(name_beside(place_));
  file_.reset(create(temporary_->path(), place_));
  if (!file_) temporary_->keep();  // whatever has that name is not ours
}

void OutputFile::write(std::string_view piece) {
  if (!packed_) return write_raw(piece);
  packed_->write(piece, [this](std::string_view packed) { write_raw(packed); });
}

void OutputFile::write_raw(std::string_view piece) {
  if (std::fwrite(piece.data(), 1, piece.size(), file_.get()) != piece.size()) fail(errno);
}

void OutputFile::close() {
  if (!file_) return;
  if (packed_) packed_->finish([this](std::string_view packed) { write_raw(packed); });
  if (std::fflush(file_.get()) != 0) fail(errno);
  std::FILE* const file = file_.release();
  if (file != stdout && std::fclose(file) != 0) fail(errno);
}

void OutputFile::publish() {
  close();
  if (!temporary_) return;
  if (std::rename(temporary_->path().c_str(), place_.c_str()) != 0) fail(errno);
  temporary_->keep();
}

/// Where the disk knows no second names, `take_back` leaves the new file.
void OutputFile::keep_former() {
  is_new_ = temporary_ && !fs::exists(place_);
  if (!temporary_ || is_new_) return;
  former_.emplace(name_beside(place_));
  if (::link(place_.c_str(), former_->path().c_str()) == 0) return;
  former_->keep();
  former_.reset();
}

/// What was there before `publish` is there again.
void OutputFile::take_back() {
  if (is_new_) ::unlink(place_.c_str());
  if (former_ && std::rename(former_->path().c_str(), place_.c_str()) == 0) former_->keep();
}

void OutputFile::fail(int reason) const {
  const std::string text = fmt::format("{}: cannot write: {}", path_, std::strerror(reason));
  if (is_of_machine(reason)) throw std::runtime_error(text);
  throw UsageError(text);
}

OutputSet::~OutputSet() {
  files_.clear();
  while (!made_folders_.empty()) made_folders_.pop_back();
}

void OutputSet::make_folder(const std::string& path) {
  std::error_code fault;
  std::list<std::string> missing;  // the inmost last
  for (fs::path place = path; !place.empty() && !fs::exists(place, fault);
       place = place.parent_path()) {
    missing.push_front(place.string());
  }
  for (const std::string& folder : missing) made_folders_.emplace_back(folder);
  fs::create_directories(path, fault);
  if (!fault && !fs::is_directory(path, fault)) {
    fault = std::make_error_code(std::errc::not_a_directory);
  }
  if (fault) {
    throw UsageError(fmt::format("{}: cannot make this folder: {}", path, fault.message()));
  }
}

OutputFile& OutputSet::add(const std::string& path) { return files_.emplace_back(path, replaced_); }

void OutputSet::write(const std::string& path, std::string_view content, Existing replaced) {
  OutputFile& file = files_.emplace_back(path, std::max(replaced, replaced_));
  file.write(content);
  file.close();
}

void OutputSet::publish() {
  for (OutputFile& file : files_) file.close();
  const InterruptsWait until_all_are_there;
  auto next = files_.begin();
  try {
    for (; next != files_.end(); ++next) {
      if (files_.size() > 1) next->keep_former();
      next->publish();
    }
  } catch (...) {
    for (auto file = std::make_reverse_iterator(next); file != files_.rend(); ++file) {
      file->take_back();
    }
    throw;
  }
  files_.clear();
  for (UnfinishedFile& folder : made_folders_) folder.keep();
}

void write_file(const std::string& path, std::string_view content, Existing replaced) {
  OutputFile file(path, replaced);
  file.write(content);
  file.publish();
}

void check_outputs(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs,
                   Existing replaced) {
  for (auto output = outputs.begin(); output != outputs.end(); ++output) {
    if (*output == "-" && std::count(std::next(output), outputs.end(), "-") > 0) {
      throw UsageError("-: two outputs cannot be one file");
    }
    if (!is_file(*output)) continue;
    const auto is_output = [&](const std::string& path) {
      return is_file(path) && are_one_file(path, *output);
    };
    if (std::any_of(std::next(output), outputs.end(), is_output)) {
      throw UsageError(fmt::format("{}: two outputs cannot be one file", *output));
    }
    if (std::ranges::any_of(inputs, is_output)) {
      throw UsageError(fmt::format("{}: an output cannot be an input as well", *output));
    }
    check_replaced(*output, replaced);
  }
}

bool is_own_file(const std::string& path) {
  try {
    const std::string head = head_of(path);
    if (contains(head, own_mark) || contains(tail_of(path), own_mark)) return true;
    return is_own_beginning(head) || (head.starts_with('{') && is_own_json(path));
  } catch (const InputError&) {
    return false;  // no format of ours
  }
}

void check_replaced(const std::string& path, Existing replaced) {
  std::error_code error;
  const bool is_file = fs::is_regular_file(path, error) && fs::file_size(path, error) > 0;
  if (replaced == Existing::any || !is_file || is_own_file(path)) return;
  throw UsageError(fmt::format(
      "{}: it exists, and nothing in it says that Penstock wrote it; give another name, "
      "or --force to overwrite it",
      path));
}

}  // namespace penstock
