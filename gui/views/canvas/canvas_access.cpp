#include <QAccessibleWidget>
#include <QPointer>
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "experiments/input/files/table.hpp"
#include "gui/views/canvas/canvas.hpp"
#include "gui/views/canvas/look.hpp"

namespace penstock {
namespace {

constexpr int most_ops = 1000;

QRect on_screen(const TimelineCanvas& canvas, const QRectF& place) {
  const QRect seen = place.toAlignedRect() & canvas.rect();
  return {canvas.mapToGlobal(seen.topLeft()), seen.size()};
}

/// A lane or an op: it is no object of its own.
class PartAccess : public QAccessibleInterface {
 public:
  explicit PartAccess(TimelineCanvas* canvas) : canvas_(canvas) {}
  bool isValid() const override { return canvas_ != nullptr && canvas_->first() != nullptr; }
  QObject* object() const override { return nullptr; }
  QAccessibleInterface* childAt(int, int) const override { return nullptr; }
  void setText(QAccessible::Text, const QString&) override {}

 protected:
  QPointer<TimelineCanvas> canvas_;
};

class OpAccess : public PartAccess {
 public:
  OpAccess(TimelineCanvas* canvas, QAccessibleInterface* lane, const ShownOp& op)
      : PartAccess(canvas), lane_(lane), op_(op) {}
  bool isValid() const override {
    return PartAccess::isValid() && op_.run < canvas_->runs() &&
           op_.task < canvas_->run(op_.run).run->plan.tasks();
  }
  QAccessibleInterface* parent() const override { return lane_; }
  QAccessibleInterface* child(int) const override { return nullptr; }
  int childCount() const override { return 0; }
  int indexOfChild(const QAccessibleInterface*) const override { return -1; }
  QAccessible::Role role() const override { return QAccessible::ListItem; }
  QRect rect() const override {
    return isValid() ? on_screen(*canvas_, canvas_->place_of_task(op_)) : QRect();
  }
  QAccessible::State state() const override {
    QAccessible::State state;
    state.selectable = state.focusable = true;
    state.selected = state.focused = isValid() && canvas_->selected() == op_;
    return state;
  }
  QString text(QAccessible::Text kind) const override {
    if (!isValid() || kind != QAccessible::Name) return {};
    const ViewedRun& run = *canvas_->run(op_.run).run;
    return qt_text(op_text(run, op_.task, canvas_->of_run(op_.run).toStdString()));
  }

 private:
  QAccessibleInterface* lane_;
  ShownOp op_;
};

/// Run and rank of a lane.
using LaneKey = std::pair<std::uint8_t, std::uint32_t>;

/// Owns its ops; the system knows them by number.
class LaneAccess : public PartAccess {
 public:
  LaneAccess(TimelineCanvas* canvas, QAccessibleInterface* whole, const LaneKey& key)
      : PartAccess(canvas), whole_(whole), run_(key.first), rank_(key.second) {}
  ~LaneAccess() override {
    for (const auto& [task, id] : ops_) QAccessible::deleteAccessibleInterface(id);
  }
  bool isValid() const override {
    return PartAccess::isValid() && run_ < canvas_->runs() &&
           rank_ < canvas_->run(run_).lanes->ranks.size();
  }
  QAccessibleInterface* parent() const override { return whole_; }
  QAccessible::Role role() const override { return QAccessible::List; }
  QAccessible::State state() const override { return {}; }
  QRect rect() const override {
    return isValid() ? on_screen(*canvas_, canvas_->place_of_lane(rank_, run_)) : QRect();
  }
  int childCount() const override { return static_cast<int>(tasks().size()); }
  QAccessibleInterface* child(int number) const override {
    const std::vector<TaskId> seen = tasks();
    if (number < 0 || static_cast<std::size_t>(number) >= seen.size()) return nullptr;
    return op(seen[static_cast<std::size_t>(number)]);
  }
  QAccessibleInterface* op(TaskId task) const {
    const auto known = ops_.find(task);
    if (known != ops_.end()) return QAccessible::accessibleInterface(known->second);
    auto* self = const_cast<LaneAccess*>(this);
    auto* made = new OpAccess(canvas_, self, {task, run_});
    ops_[task] = QAccessible::registerAccessibleInterface(made);
    return made;
  }
  int indexOfChild(const QAccessibleInterface* child) const override {
    const std::vector<TaskId> seen = tasks();
    for (std::size_t i = 0; i < seen.size(); ++i) {
      if (op(seen[i]) == child) return static_cast<int>(i);
    }
    return -1;
  }
  QString text(QAccessible::Text kind) const override {
    if (!isValid() || kind != QAccessible::Name) return {};
    const PaintedRun& run = canvas_->run(run_);
    const RankReport& report = run.run->report.ranks[rank_];
    const double busy = 100 * static_cast<double>(report.busy.picoseconds) /
                        static_cast<double>(std::max<std::int64_t>(1, run.lanes->span));
    const RankSummary& facts = (*run.facts)[rank_];
    QString text = QString("%1%2: %3, %4 % busy")
                       .arg(qt_text(place_text(run.run->plan, rank_)), canvas_->of_run(run_),
                            qt_text(counted(report.actions, "op")))
                       .arg(busy, 0, 'f', 1);
    if (!facts.holds.empty()) text += ", " + qt_text(facts.holds);
    return facts.peak_bytes == 0 ? text : text + ", " + qt_text(bytes_text(facts.peak_bytes));
  }

 private:
  /// The ops in sight, by begin.
  std::vector<TaskId> tasks() const {
    std::vector<TaskId> seen;
    if (!isValid()) return seen;
    const TimeAxis& axis = canvas_->view().axis;
    const std::int64_t end = axis.time_at(canvas_->lanes_width());
    for (const Track& track : canvas_->run(run_).lanes->ranks[rank_].compute) {
      for (std::size_t i = track.first_ending_after(axis.origin); i < track.size(); ++i) {
        if (track.begin_at(i) >= end || seen.size() >= most_ops) break;
        seen.push_back(track.tag[i]);
      }
    }
    return seen;
  }

  QAccessibleInterface* whole_;
  std::uint8_t run_;
  std::uint32_t rank_;
  mutable std::map<TaskId, QAccessible::Id> ops_;
};

class CanvasAccess : public QAccessibleWidget {
 public:
  explicit CanvasAccess(TimelineCanvas* canvas)
      : QAccessibleWidget(canvas, QAccessible::Table), canvas_(canvas) {}
  ~CanvasAccess() override {
    for (const auto& [key, id] : lanes_) QAccessible::deleteAccessibleInterface(id);
  }
  int childCount() const override { return static_cast<int>(keys().size()); }
  QAccessibleInterface* child(int number) const override {
    const std::vector<LaneKey> all = keys();
    const auto at = static_cast<std::size_t>(number);
    return number < 0 || at >= all.size() ? nullptr : lane(all[at]);
  }
  int indexOfChild(const QAccessibleInterface* child) const override {
    const std::vector<LaneKey> all = keys();
    for (const auto& [key, id] : lanes_) {
      if (QAccessible::accessibleInterface(id) != child) continue;
      const auto at = std::find(all.begin(), all.end(), key);
      return at == all.end() ? -1 : static_cast<int>(at - all.begin());
    }
    return -1;
  }
  QAccessibleInterface* childAt(int x, int y) const override {
    for (int lane = 0; lane < childCount(); ++lane) {
      if (child(lane)->rect().contains(x, y)) return child(lane);
    }
    return nullptr;
  }
  QAccessibleInterface* focusChild() const override {
    if (canvas_ == nullptr || canvas_->selected().is_none()) return nullptr;
    const auto [task, run] = canvas_->selected();
    const Plan& plan = canvas_->run(run).run->plan;
    const std::uint32_t resource = plan.class_of(task).resource;
    return plan.is_link(resource) ? nullptr : lane({run, resource})->op(task);
  }

 private:
  /// The shown ranks of each run in turn, as they stand.
  std::vector<LaneKey> keys() const {
    std::vector<LaneKey> all;
    const std::size_t runs = canvas_ == nullptr ? 0 : canvas_->runs();
    for (std::size_t run = 0; run < runs; ++run) {
      const auto ranks = static_cast<std::uint32_t>(canvas_->run(run).lanes->ranks.size());
      for (const std::uint32_t rank : shown_ranks(canvas_->choice())) {
        if (rank < ranks) all.emplace_back(static_cast<std::uint8_t>(run), rank);
      }
    }
    return all;
  }
  LaneAccess* lane(const LaneKey& key) const {
    const auto known = lanes_.find(key);
    if (known != lanes_.end()) {
      return static_cast<LaneAccess*>(QAccessible::accessibleInterface(known->second));
    }
    auto* made = new LaneAccess(canvas_, const_cast<CanvasAccess*>(this), key);
    lanes_[key] = QAccessible::registerAccessibleInterface(made);
    return made;
  }

  QPointer<TimelineCanvas> canvas_;
  mutable std::map<LaneKey, QAccessible::Id> lanes_;
};

QAccessibleInterface* access_of(const QString&, QObject* object) {
  auto* canvas = dynamic_cast<TimelineCanvas*>(object);
  return canvas == nullptr ? nullptr : new CanvasAccess(canvas);
}

}  // namespace

void install_canvas_access() { QAccessible::installFactory(access_of); }

}  // namespace penstock
