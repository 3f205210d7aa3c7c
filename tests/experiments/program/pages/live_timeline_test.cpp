
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/program/pages/result_page.hpp"
#include "experiments/program/pages/run_page.hpp"
#include "experiments/run/run.hpp"
#include "experiments/show/pictures/palette.hpp"
#include "tests/support/scratch.hpp"

namespace penstock::testing {
namespace {

const std::string scenarios = std::string(PENSTOCK_ROOT) + "/experiments/scenarios/";

std::string page_of(const std::vector<std::string>& settings) {
  const Scenario scenario = read_scenario(scenarios + "first_run.json", settings);
  std::string text;
  write_page(run_page(scenario, run(scenario)), [&](std::string_view piece) { text += piece; });
  return text;
}

/// What a command prints; nothing if it fails.
std::string printed_by(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string text;
  std::array<char, 4096> piece{};
  while (const std::size_t read = fread(piece.data(), 1, piece.size(), pipe.get())) {
    text.append(piece.data(), read);
  }
  return text;
}

/// Hands and eyes for a page; the rest of a script says what they do. Its faults stand in the
/// element "faults", which is empty if there are none.
constexpr std::string_view hands = R"js(
const canvas = document.getElementById('timeline');
canvas.setPointerCapture = () => {};
const line = () => document.getElementById('timeline-line').textContent;
const tip = document.getElementById('timeline-tip');
const frame = () => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
const faults = document.createElement('pre');
faults.id = 'faults';
faults.textContent = 'not finished\n';
document.body.append(faults);
let checks = 0;
const check = (is, wanted) => {
  ++checks;
  if (is !== wanted) faults.textContent += `check ${checks}: ${is} instead of ${wanted}\n`;
};
const at = (type, x, y, more = {}) => {
  const place = canvas.getBoundingClientRect();
  const kind = type === 'wheel' ? WheelEvent : PointerEvent;
  canvas.dispatchEvent(new kind(type, { clientX: place.left + x, clientY: place.top + y,
    bubbles: true, cancelable: true, pointerId: 1, ...more }));
};
const click = (x, y) => { at('pointerdown', x, y); at('pointerup', x, y); };
const key = name => canvas.dispatchEvent(new KeyboardEvent('keydown', { key: name }));
const pixel = (x, y) => {
  const [r, g, b] = canvas.getContext('2d').getImageData(x, y, 1, 1).data;
  return [r, g, b].join(' ');
};
// Of a run of 38.4 ms whose first forward takes 1 ms.
const gutter = 74, perMs = (canvas.clientWidth - gutter) / 1.02 / 38.4, first = 52;
)js";

/// The faults that a script finds in a page in Chromium. On a busy machine Chromium may end before
/// it has drawn a frame: it gets several goes.
std::string faults_in(const std::string& page, const std::string& script) {
  const Scratch scratch;
  const std::string file =
      scratch.file("page.html", page + "<script>(async () => {" + std::string(hands) + script +
                                    "faults.textContent = faults.textContent.slice(13);"
                                    "})();</script>");
  const std::string command = fmt::format(
      "chromium --headless=new --no-sandbox --disable-gpu --user-data-dir={} "
      "--window-size=1200,900 --virtual-time-budget=5000 --dump-dom file://{} "
      "2>/dev/null",
      scratch.path("profile"), file);
  constexpr std::string_view begin = "<pre id=\"faults\">";
  std::string faults;
  for (int go = 0; go < 4; ++go) {
    const std::string dom = printed_by(command);
    const std::size_t from = dom.find(begin);
    if (from == std::string::npos) return "the script did not run";
    faults = dom.substr(from + begin.size(), dom.find("</pre>", from) - from - begin.size());
    if (!faults.starts_with("not finished")) break;
  }
  return faults;
}

bool has_chromium() { return !printed_by("command -v chromium").empty(); }

}  // namespace

TEST_CASE("live timeline: 100,000 ops take at most 2 MB") {
  for (const char* const jitter : {"/chance/jitter=0", "/chance/jitter=0.05"}) {
    const Scenario scenario =
        read_scenario(scenarios + "first_run.json", {"/schedule/microbatches=7143", jitter});
    const RunResult result = run(scenario);
    REQUIRE(result.plan->tasks() >= 100'000);
    std::string text;
    write_page(run_page(scenario, result), [&](std::string_view piece) { text += piece; });
    CAPTURE(jitter);
    CHECK(text.size() <= 2'000'000);
  }
}

TEST_CASE("live timeline: ops and idle time are drawn, and are told where the pointer is") {
  if (!has_chromium()) return;
  const Colour forward = pass_colour(Pass::forward);
  CHECK(faults_in(page_of({}), fmt::format(R"js(
await frame();
check(pixel(gutter + perMs * 0.15, first), '{} {} {}');
at('pointermove', gutter + perMs * 0.5, first);
check(tip.hidden, false);
check(tip.textContent, 'forward of microbatch 0, stage 0, rank 0\n0 to 1 ms, 1 ms');
at('pointermove', gutter + perMs * 8, first);
check(tip.textContent.split('\n')[0], 'idle, rank 0: dependency');
check(tip.textContent.split('\n')[1], 'waits for backward of microbatch 0, stage 1, rank 1');
click(gutter + perMs * 1.5, first);
check(line(), 'forward of microbatch 1, stage 0, rank 0; 1 ms to 2 ms, 1 ms');
click(gutter + perMs * 1.15, first + 44);
check(line().split(';')[0], 'send activation of microbatch 0, stage 0, link 0>1');
at('pointerleave', 0, 0);
check(tip.hidden, true);
)js",
                                           forward.red, forward.green, forward.blue)) == "");
}

TEST_CASE("live timeline: it zooms at the pointer, pans, fits, and goes by keys") {
  if (!has_chromium()) return;
  CHECK(faults_in(page_of({}), R"js(
await frame();
const x = gutter + perMs * 12.5;
click(x, first);
const op = line();
check(op.startsWith('backward of microbatch 0, stage 0'), true);
for (let i = 0; i < 12; ++i) at('wheel', x, first, { deltaY: -200, ctrlKey: true });
click(gutter + 5, first);
check(line(), op);  // it fills the view now
click(x, first);
check(line(), op);
at('pointerdown', x, first);
at('pointermove', x - 40, first);
at('pointerup', x - 40, first);
check(line(), op);  // a drag selects nothing
key('0');
click(x, first);
check(line(), op);
at('pointerdown', x, first);
at('pointermove', x - 60, first);
at('pointerup', x - 60, first);
click(x, first);
check(line(), op);  // the whole run has no room to be panned
key('ArrowRight');
check(line().startsWith('forward of microbatch 4, stage 0'), true);
key('ArrowDown');
check(line().includes('rank 1'), true);
key('Escape');
check(line().startsWith('Drag to pan'), true);
key('c');
check(document.getElementById('timeline-path').getAttribute('aria-pressed'), 'true');
)js") == "");
}

TEST_CASE("live timeline: the frame of the overview hides no idle share, and busy has its swatch") {
  // Rank 3 takes 3.18 ms of each microbatch and others 3: they idle for 5.7 %, 4.2 % of all.
  const std::string page =
      page_of({"/schedule/microbatches=5000", "/hardware/latency_us=0",
               "/hardware/bandwidth_bytes_per_s=1e15", "/model/stages/3/forward_us=1180"});
  CHECK(page.find("busy, in the overview of idle shares") != std::string::npos);
  if (!has_chromium()) return;
  CHECK(faults_in(page, R"js(
await frame();
check(pixel(600, 10), '77 80 85');
check(pixel(600, 19) === '77 80 85', false);
)js") == "");
}

TEST_CASE("live timeline: a run that takes no time has none, and says so") {
  const Scenario scenario = parse_scenario(
      R"({"model": {"stages": [{"forward_us": 0, "backward_us": 0}]}, "hardware": {"name": "ideal"},
          "schedule": {"name": "1f1b", "microbatches": 1}})",
      "s.json");
  const ResultPage page = run_page(scenario, run(scenario));
  CHECK(page.live.empty());
  CHECK(page.notes.front() == "No op takes time, so there is no timeline.");
}

TEST_CASE("live timeline: far from whole pixels, a lane is its busy share") {
  if (!has_chromium()) return;
  CHECK(faults_in(page_of({"/schedule/microbatches=5000"}), R"js(
await frame();
// Rows of rank 0 in the middle of the run: nearly all of its time is busy, 2/3 of that backward.
const pixels = canvas.getContext('2d').getImageData(600, 46, 1, 44).data;
const rows = {};
for (let i = 0; i < pixels.length; i += 4) {
  const colour = pixels.slice(i, i + 3).join(' ');
  rows[colour] = (rows[colour] ?? 0) + 1;
}
const total = pixels.length / 4;
const share = text => (rows[text] ?? 0) / total;
// Rows at the edge of two colours are mixed.
check(share('36 114 250') > 0.24 && share('36 114 250') < 0.3, true);
check(share('197 124 19') > 0.48 && share('197 124 19') < 0.6, true);
)js") == "");
}

}  // namespace penstock::testing
