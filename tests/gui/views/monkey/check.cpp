#include <QLabel>
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "gui/views/window/viewer_window.hpp"
#include "tests/gui/views/monkey/journal.hpp"
#include "tests/gui/views/monkey/monkey.hpp"

namespace penstock::monkey {
namespace {

void expect(bool holds, const char* fault) {
  if (!holds) fail(fault);
}

/// Words that belong to the program's insides, not to a message.
constexpr std::array insides{"std::", "stod", "stoi",           "stoul",   "basic_string",
                             "_M_",   "bad_", "json.exception", "vector::"};

void check_text(const QString& text) {
  for (const char* word : insides) {
    if (text.contains(word))
      fail("a message with '" + std::string(word) + "': " + text.toStdString());
  }
}

void check_run(ViewerWindow& window) {
  const OpenRun& open = *window.now();
  const TimelineCanvas& canvas = *open.canvas;
  expect(canvas.isVisibleTo(&window), "the timeline of the tab in front is hidden");
  expect(canvas.first() != nullptr && canvas.first()->run == open.run,
         "the timeline shows another run than its tab has");
  expect(canvas.others().size() == open.others.size() && open.pairs.size() == open.others.size(),
         "the timeline shows other runs beside its own than its tab has");
  const auto known = [&](const ShownOps& ops) {
    return ops.empty() ||
           (ops.run < canvas.runs() && *std::max_element(ops.tasks.begin(), ops.tasks.end()) <
                                           canvas.run(ops.run).run->plan.tasks());
  };
  const ShownOp& op = canvas.selected();
  expect(op.is_none() || known({{op.task}, op.run}),
         "an op is selected that the run does not have");
  expect(known(canvas.path()), "a path of another run");
  expect(known(canvas.bright()), "bright ops of another run");
  expect(known(open.steps.found), "ops found in another run");
  const CanvasView& view = canvas.view();
  expect(std::isfinite(view.axis.picoseconds_per_pixel) && view.axis.picoseconds_per_pixel > 0,
         "the time axis has no scale");
  expect(std::isfinite(view.top) && view.top >= 0, "the lanes have no place");
  if (canvas.area()) {
    expect(canvas.area()->begin <= canvas.area()->end, "an area ends before it begins");
    expect(canvas.area()->first_rank < canvas.area()->end_rank, "an area without a rank");
  }
  expect(open.changes.past.size() <= 50, "more changes are kept than can be undone");
}

}  // namespace

void check(Monkey& monkey) {
  ViewerWindow& window = *monkey.window;
  const auto* const tabs = window.findChild<QTabWidget*>();
  expect(tabs->count() == static_cast<int>(std::max<std::size_t>(1, window.count())),
         "tabs and runs differ in number");
  expect((window.now() == nullptr) == (window.count() == 0), "a tab without its run");
  check_text(window.message());
  check_text(window.status());
  for (const QLabel* const label : window.findChildren<QLabel*>()) check_text(label->text());
  for (const ViewerAction& entry : viewer_actions()) {
    expect(window.action(entry.id)->isEnabled() == (window.now() != nullptr || !entry.needs_run),
           "an action is enabled that cannot run, or disabled though it can");
  }
  if (window.now() != nullptr) check_run(window);
}

}  // namespace penstock::monkey
