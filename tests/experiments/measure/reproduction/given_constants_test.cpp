#include <doctest/doctest.h>

#include <string>

#include "experiments/input/files/output_file.hpp"
#include "experiments/measure/reproduction/constants.hpp"
#include "sim/base/error.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/says.hpp"
#include "tests/support/scratch.hpp"

namespace penstock::testing {
namespace {

constexpr const char* markdown = R"(# A paper

## times: time of an iteration, in us

### by group

- pace: length of F

- a: pace = 5.25 us, share = 1 (at its bound) (fitted to 3 rows, 0.1 % off)
- b: pace = 7 us, share = 0.5 (fitted to 2 rows, 0.2 % off)

### by row

- without 2 4: pace = 2 us (fitted to 2 rows, 0.0 % off)
- without 2 8: pace = 8 us (fitted to 2 rows, 0.0 % off)
)";

GivenConstants constants_in(const std::string& text) {
  const Scratch scratch;
  write_file(scratch.path("f"), text);
  return read_constants(scratch.path("f"));
}

double pace_of(const GivenConstants& given, const std::string& table, const std::string& judgement,
               const std::vector<std::string>& group, const std::vector<std::string>& label = {}) {
  const PaperTable judged{.name = table};
  const Judgement by{.name = judgement, .fit = PaperFit{{"pace"}, {}, "1", {}, false}};
  return constants_for(given, judged, by, group, label).values.at("pace");
}

std::string refusal_of(const std::string& text) {
  return refused_with<InputError>([&] { constants_in(text); });
}

}  // namespace

TEST_CASE("constants are read from a reproduction as Markdown, by table, judgement and group") {
  const GivenConstants given = constants_in(markdown);
  REQUIRE(given.sets.size() == 4);
  CHECK(given.sets[0].table == "times");
  CHECK(given.sets[0].judgement == "by group");
  CHECK(given.sets[0].apart == "a");
  CHECK(given.sets[0].values == Names{{"pace", 5.25}, {"share", 1}});
  CHECK(pace_of(given, "times", "by group", {"a"}) == 5.25);
  CHECK(pace_of(given, "times", "by group", {"b"}) == 7);
}

TEST_CASE("constants of single rows: each row has its own, others the geometric mean") {
  const GivenConstants given = constants_in(markdown);
  CHECK(pace_of(given, "times", "by row", {}, {"2", "8"}) == 8);
  CHECK(pace_of(given, "times", "by row", {}, {"2", "16"}) == doctest::Approx(4));
}

TEST_CASE("constants are read from a reproduction as JSON") {
  const GivenConstants given =
      constants_in(R"({"tables": [{"name": "times", "judgements": [{"name": "j",
      "constants": [{"apart": ["a", "1"], "values": {"pace": 5.123456789}}]}]}]})");
  REQUIRE(given.sets.size() == 1);
  CHECK(given.sets[0].apart == "a 1");
  CHECK(pace_of(given, "times", "j", {"a", "1"}) == 5.123456789);
  // A file with one set only serves every table and group.
  CHECK(pace_of(given, "elsewhere", "k", {"b"}) == 5.123456789);
}

TEST_CASE("a file without constants, or without those of a group, is refused") {
  CHECK(says(refusal_of("# nothing\n"), "it has no constants"));
  CHECK(says(refusal_of("{\"tables\": 3}"), "not a result of penstock reproduce"));
  CHECK(
      refused_with<InputError>([] { pace_of(constants_in(markdown), "times", "by group", {"c"}); })
          .ends_with("it has no pace for table \"times\", group c; it has constants of "
                     "\"times\" (a), \"times\" (b), \"times\" (single rows)"));
}

}  // namespace penstock::testing
