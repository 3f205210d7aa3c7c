#include "experiments/plan/studies/gallery.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "schedules/registry.hpp"
#include "tests/support/says.hpp"

namespace penstock::testing {
namespace {

using Names = std::set<std::string>;

Names rules() {
  Names names;
  for (const ScheduleEntry* entry : schedule_entries()) names.emplace(entry->name);
  return names;
}

Names shown(const Gallery& all) {
  Names names;
  for (const Exhibit& exhibit : all.exhibits) names.insert(exhibit.name);
  return names;
}

const Exhibit& exhibit_of(const Gallery& all, std::string_view name) {
  const auto found = std::ranges::find(all.exhibits, name, &Exhibit::name);
  REQUIRE(found != all.exhibits.end());
  return *found;
}

}  // namespace

TEST_CASE("every rule is an exhibit at the gallery's own sizes, once") {
  const Gallery all = gallery(4, 8);
  CHECK(all.exhibits.size() == rules().size());
  CHECK(shown(all) == rules());
  CHECK(all.left_out.empty());
}

TEST_CASE("rules that sizes do not suit are left out and named, with what they need") {
  // p = 3 is odd, and m = 4 < 2p.
  const Gallery all = gallery(3, 4);
  Names missing;
  for (const std::string& name : rules()) {
    if (!shown(all).contains(name)) missing.insert(name);
  }
  CHECK(missing == Names{"chimera", "dualpipe", "dualpipev", "interleaved-1f1b", "interleaved-zb"});
  REQUIRE(all.left_out.size() == missing.size());
  for (const std::string& name : missing) {
    CHECK(
        std::ranges::any_of(all.left_out, [&](const std::string& why) { return says(why, name); }));
  }
}

TEST_CASE("each rank of an exhibit has the same work, however many chunks its share is cut into") {
  // 8 microbatches of 4 ms for F, I and W each; forward-only has F alone.
  for (const Exhibit& exhibit : gallery(4, 8).exhibits) {
    CAPTURE(exhibit.name);
    for (const RankReport& rank : exhibit.result.report->ranks) {
      CHECK(to_us(rank.busy) == 8 * 4000 * (exhibit.name == "forward-only" ? 1 : 3));
    }
  }
}

TEST_CASE("the peak of an exhibit counts microbatches of a rank's whole share of the model") {
  const Gallery all = gallery(4, 8);
  CHECK(exhibit_of(all, "gpipe").peak_share == 8);
  CHECK(exhibit_of(all, "1f1b").peak_share == 4);
  CHECK(exhibit_of(all, "looped-bfs").peak_share == 8);          // 16 cells of half a share
  CHECK(exhibit_of(all, "interleaved-1f1b").peak_share == 5.5);  // 4 + 2*3 + 1 = 11 cells
  CHECK(exhibit_of(all, "seq-1f1b").peak_share == 2.5);          // 3 + 2 = 5 slices of a half
  CHECK(exhibit_of(all, "dualpipe").peak_share == 5);            // two copies: a cell is a share
  CHECK(exhibit_of(all, "v-half").peak_share == 3);
  CHECK(exhibit_of(all, "v-min").peak_share == 2);
}

TEST_CASE("the table of the gallery has a row for each exhibit below its header") {
  const Gallery all = gallery(4, 8);
  const std::string table = gallery_table(all.exhibits);
  CHECK(static_cast<std::size_t>(std::ranges::count(table, '\n')) == all.exhibits.size() + 1);
  for (const std::string& name : rules()) {
    CAPTURE(name);
    CHECK(says("\n" + table, "\n" + name + " "));
  }
  // (8+3) * 12 ms, of which 3/11 idle; 3/8 more than the ideal.
  CHECK(says(table,
             "\n1f1b                      132       27.3 %      37.5 %           27.3 %     "
             "4\n"));
}

TEST_CASE("the committed pictures are one a rule") {
  Names pictures;
  for (const auto& file :
       std::filesystem::directory_iterator(PENSTOCK_ROOT "/experiments/gallery")) {
    CHECK(file.path().extension() == ".svg");
    pictures.insert(file.path().stem().string());
  }
  CHECK(pictures == rules());
}

}  // namespace penstock::testing
