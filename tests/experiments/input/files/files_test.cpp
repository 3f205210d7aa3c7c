#include "experiments/input/files/files.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>

#include "experiments/input/files/byte_stream.hpp"
#include "experiments/input/files/output_file.hpp"
#include "experiments/input/long_work/budget.hpp"
#include "sim/base/error.hpp"
#include "tests/support/full_disk.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch.hpp"

namespace penstock::testing {
namespace {

namespace fs = std::filesystem;

std::string write_refusal(const std::string& path) {
  try {
    write_file(path, "content", Existing::any);
  } catch (const UsageError& error) {
    return error.what();
  } catch (const std::runtime_error& error) {
    return std::string("machine: ") + error.what();
  }
  return "accepted";
}

std::size_t files_in(const std::string& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator{}));
}

}  // namespace

TEST_CASE("what is written reads back, packed or not, bytes of any value") {
  const Scratch scratch;
  const std::string content("a\0b\r\n\xff", 6);
  for (const char* name : {"plain", "packed.gz"}) {
    write_file(scratch.path(name), content);
    CHECK(read_file(scratch.path(name)) == content);
  }
  CHECK(content_of(scratch.path("plain")) == content);
  CHECK(content_of(scratch.path("packed.gz")) != content);
  CHECK(files_in(scratch.path("")) == 2);  // nothing temporary is left
}

TEST_CASE("a packed file is recognised by its content, as that of a pipe has no name") {
  const Scratch scratch;
  CHECK(read_file(scratch.file("packed", gzip("content"))) == "content");
  CHECK(read_configuration(scratch.file("packed.json", gzip("{}"))) == "{}");
}

TEST_CASE("equal contents pack to equal files") {
  CHECK(gzip("the same") == gzip("the same"));
  CHECK(gunzip(gzip("the same"), 8) == "the same");
}

// How it may be damaged: see the gzip files of the test of traces.
TEST_CASE("a packed file that is cut off is refused") {
  const Scratch scratch;
  const std::string packed = gzip(std::string(10'000, 'x') + "and an end");
  const std::string cut = scratch.file("cut.gz", packed.substr(0, packed.size() / 2));
  CHECK(refused_file(cut, [&] { read_file(cut); }) == "truncated gzip file");
}

TEST_CASE("a packed file may hold no more than it is allowed to, however small it is itself") {
  CHECK_THROWS_AS(gunzip(gzip(std::string(1'000'000, 'x')), 999'999), InputError);
  std::string large;  // several blocks, packed side by side
  for (std::uint64_t i = 0; large.size() < 5'000'000; ++i) large += std::to_string(i * i);
  CHECK(gunzip(gzip(large), 10'000'000) == large);
  GzipWriter writer;
  std::string in_pieces;
  const auto append = [&](std::string_view packed) { in_pieces += packed; };
  for (std::size_t at = 0; at < large.size(); at += 7777) {
    writer.write(std::string_view(large).substr(at, 7777), append);
  }
  writer.finish(append);
  CHECK(in_pieces == gzip(large));
  CHECK(gunzip(gzip(std::string(1'000'000, 'x')), 1'000'000).size() == 1'000'000);
}

TEST_CASE("writing replaces a file whole") {
  const Scratch scratch;
  const std::string path = scratch.file("out", "something that was longer");
  write_file(path, "new", Existing::any);
  CHECK(content_of(path) == "new");
}

TEST_CASE("a file that Penstock did not write is not replaced unless that is asked for") {
  const Scratch scratch;
  const std::string order = scratch.file("order.csv", "0F0,0F1,0B0,0B1\n");
  CHECK_THROWS_WITH_AS(write_file(order, "new"),
                       (order + ": it exists, and nothing in it says that Penstock wrote it; give "
                                "another name, or --force to overwrite it")
                           .c_str(),
                       UsageError);
  CHECK(content_of(order) == "0F0,0F1,0B0,0B1\n");
  CHECK_THROWS_AS(check_outputs({order}, {}, Existing::own), UsageError);
  CHECK_NOTHROW(check_outputs({order}, {}, Existing::any));
  const std::string empty = scratch.file("empty", "");  // nothing is lost
  write_file(empty, "new");
  CHECK(content_of(empty) == "new");
}

TEST_CASE("a file is known as Penstock's own by its mark, its head or its keys") {
  const Scratch scratch;
  const std::string mark(own_mark);
  for (const std::string& own :
       {"<!-- " + mark + " -->", std::string(1000, ' ') + "%" + mark + "\n",
        std::string("PENSTOCK\1\0\0\0", 12), std::string(R"({"item":0,"of":2,"sweep":"ab"})"),
        std::string("item,hash,/schedule/name\n"),
        std::string("series,microbatches,bubble,simulated,closed_form,missing\n1f1b,8\n"),
        std::string("quantity,microbatches,schedule,value\n"),
        std::string("quantity,microbatches,schedule,value,finding\n"),
        std::string(R"({"penstock": 1, "is": "stack", "summary": "written by penstock"})"),
        std::string(
            R"({"penstock": 1, "schedule": {}, "description": "written by penstock new"})")}) {
    CAPTURE(own);
    CHECK(is_own_file(scratch.file("f", own)));
    write_file(scratch.path("f.gz"), own, Existing::any);
    CHECK((own.size() > 900 || is_own_file(scratch.path("f.gz"))));
  }
  for (const char* other :
       {"PENSTOCK is a program", R"({"item": "bread"})", R"({"penstock": 1, "schedule": {}})",
        R"({"penstock": 1, "schedule": {}, "description": 5})", R"({"penstock": )", "{}", "text",
        "0F0,0B0\n", R"({"penstock": 1, "is": "device", "name": "mine", "summary": "mine"})",
        R"({"penstock": 1, "title": "a paper", "tables": []})", R"({"penstock": 1, "axes": []})",
        "series,episode,seen\nDark,1,yes\n", "quantity,price\n3,4\n"}) {
    CAPTURE(other);
    CHECK_FALSE(is_own_file(scratch.file("f", other)));
  }
}

// A file that is read whole needs ten times its bytes.
TEST_CASE("whether a file is Penstock's own takes no memory, and a trace is not read on") {
  const Scratch scratch;
  const std::string wide = "\"a\": [" + std::string(2'000'000, ' ') + "]";
  const std::string own = R"("penstock": 1, "description": "written by penstock")";
  const Budget before = budget();
  set_budget(given_budget(18e6));  // 3 MB beside the program
  CHECK(is_own_file(scratch.file("own", "{" + wide + ", " + own + "}")));
  CHECK_FALSE(is_own_file(scratch.file("other", "{" + wide + "}")));
  CHECK_FALSE(is_own_file(scratch.file("trace", R"({"traceEvents": [], )" + own + "}")));
  set_budget(before);
}

TEST_CASE("a file that is replaced keeps its mode, and a new one has the usual mode") {
  const Scratch scratch;
  const auto mode_of = [](const std::string& path) { return fs::status(path).permissions(); };
  const std::string path = scratch.file("private", "old");
  for (const auto mode : {fs::perms(0600), fs::perms(0640), fs::perms(0444)}) {
    fs::permissions(path, mode);
    write_file(path, "new", Existing::any);
    CHECK(mode_of(path) == mode);
  }
  const mode_t mask = ::umask(0027);
  write_file(scratch.path("made"), "new");
  ::umask(mask);
  CHECK(mode_of(scratch.path("made")) == fs::perms(0640));
}

TEST_CASE("the temporary name of an output is another each time, and leads through no link") {
  const Scratch scratch;
  std::set<std::string> names;
  for (int i = 0; i < 4; ++i) {
    const OutputFile file(scratch.path("out"));
    names.insert(file.name_until_published());
    CHECK(fs::status(file.name_until_published()).type() == fs::file_type::regular);
  }
  CHECK(names.size() == 4);
  CHECK(files_in(scratch.path("")) == 0);
}

TEST_CASE("writing through a symbolic link changes the file it leads to") {
  const Scratch scratch;
  const std::string target = scratch.file("target", "old");
  fs::create_symlink("target", scratch.path("link"));
  write_file(scratch.path("link"), "new", Existing::any);
  CHECK(content_of(target) == "new");
  CHECK(fs::is_symlink(scratch.path("link")));
}

TEST_CASE("where nothing can be written, the error names the path") {
  const Scratch scratch;
  CHECK(write_refusal(scratch.path("missing/out")) ==
        scratch.path("missing/out") + ": cannot write: No such file or directory");
  CHECK(write_refusal(scratch.path("")) == scratch.path("") + ": cannot write: Is a directory");
  CHECK(write_refusal("/dev/full") == "machine: /dev/full: cannot write: No space left on device");
  CHECK(write_refusal("/dev/null") == "accepted");
}

TEST_CASE("a file that could not be written whole is not there, nor half of it") {
  const Scratch scratch;
  std::string refusal;
  {
    const FullDisk full;
    refusal = write_refusal(scratch.path("out"));
  }
  CHECK(refusal == "machine: " + scratch.path("out") + ": cannot write: File too large");
  CHECK(files_in(scratch.path("")) == 0);
}

TEST_CASE("a file written in pieces is that of the whole, packed or not, and appears at the end") {
  std::string content;
  for (std::int64_t i = 0; i < 300'000; ++i) content += std::to_string(i * 7919 % 1000);
  for (const char* name : {"plain", "packed.gz"}) {
    CAPTURE(name);
    const Scratch scratch;
    write_file(scratch.path(name), content);
    const std::string whole = content_of(scratch.path(name));
    OutputFile file(scratch.path(name), Existing::any);
    for (std::size_t at = 0; at < content.size(); at += 777) {
      file.write(std::string_view(content).substr(at, 777));
    }
    CHECK(files_in(scratch.path("")) == 2);
    file.publish();
    CHECK(files_in(scratch.path("")) == 1);
    CHECK(content_of(scratch.path(name)) == whole);
  }
}

TEST_CASE("files that belong together appear together, or none does") {
  const Scratch scratch;
  {
    OutputSet files;
    files.make_folder(scratch.path("new/deep"));
    for (const char* name : {"a", "b"}) files.write(scratch.path(name), name);
    CHECK_FALSE(fs::exists(scratch.path("a")));
    files.publish();
  }
  CHECK(content_of(scratch.path("b")) == "b");
  CHECK(fs::is_directory(scratch.path("new/deep")));
}

TEST_CASE("of files that belong together the former ones are back where one cannot be published") {
  const Scratch scratch;
  scratch.file("a", "former");
  {
    OutputSet files(Existing::any);
    files.make_folder(scratch.path("new/deep"));
    for (const char* name : {"a", "b", "c"}) files.write(scratch.path(name), "later");
    fs::create_directory(scratch.path("c"));  // a folder took its name meanwhile
    CHECK_THROWS_AS(files.publish(), UsageError);
  }
  CHECK(content_of(scratch.path("a")) == "former");
  CHECK_FALSE(fs::exists(scratch.path("b")));
  CHECK_FALSE(fs::exists(scratch.path("new")));
  CHECK(files_in(scratch.path("")) == 2);  // and nothing temporary
}

TEST_CASE("relative paths are seen from the folder of who names them") {
  CHECK(resolve("a/b", "c.csv") == "a/b/c.csv");
  CHECK(resolve("", "c.csv") == "c.csv");
  CHECK(resolve("a/b", "/c.csv") == "/c.csv");
}

TEST_CASE("the file at fault stands in front of the place within it") {
  CHECK(std::string(in_file("s.json", InputError("/model", "it is wrong")).what()) ==
        "s.json: /model: it is wrong");
  CHECK(std::string(in_file("s.json", InputError("it is empty")).what()) == "s.json: it is empty");
}

TEST_CASE("an error keeps file, place and message apart; that of a named file is a message") {
  const auto parts = [](const InputError& error) {
    return fmt::format("{} | {} | {}", error.file(), error.where(), error.message());
  };
  const InputError error("/model", "it is wrong");
  CHECK(parts(error) == " | /model | it is wrong");
  CHECK(error.text() == "/model: it is wrong");
  const InputError of_file = in_file("m.json", error);
  CHECK(parts(of_file) == "m.json | /model | it is wrong");
  CHECK(of_file.text() == "m.json: /model: it is wrong");
  const InputError outer = in_file("s.json", of_file);
  CHECK(parts(outer) == "s.json |  | m.json: /model: it is wrong");
  CHECK(refused_at([&] { below("/hardware/file", [&] { throw of_file; }); }) ==
        "/hardware/file: m.json: /model: it is wrong");
}

}  // namespace penstock::testing
