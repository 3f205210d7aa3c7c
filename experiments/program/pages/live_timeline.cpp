#include "experiments/program/pages/live_timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>

#include "experiments/input/files/base64.hpp"
#include "experiments/program/pages/result_page.hpp"
#include "experiments/show/pictures/lanes/lane_cells.hpp"
#include "experiments/show/pictures/lanes/timeline_picture.hpp"
#include "experiments/show/pictures/palette.hpp"
#include "experiments/show/results/run_summary.hpp"
#include "sim/report/idle.hpp"
#include "sim/report/idle_sums.hpp"

namespace penstock {
namespace {

using nlohmann::json;

constexpr const char* help =
    "Drag to pan, Ctrl+wheel or +/- to zoom, 0 shows the whole run; click or arrow keys select an "
    "op, C shows the critical path";

/// Longer runs are known to the nanosecond: half of that cannot be seen in any view of them.
constexpr Time shortest_in_nanoseconds{10'000'000'000};

std::string hex(Colour colour) {
  return fmt::format("#{:02x}{:02x}{:02x}", colour.red, colour.green, colour.blue);
}

/// A run as numbers of variable length, seven bits a byte, lowest first.
class RunBytes {
 public:
  RunBytes(const Plan& plan, const Timeline& timeline)
      : plan_(plan),
        timeline_(timeline),
        number_(plan.tasks(), 0),
        length_(plan.classes.size(), 0),
        microbatch_(plan.classes.size(), 0),
        unit_(makespan(plan, timeline) < shortest_in_nanoseconds ? 1 : 1000) {
    find_ops();
  }

  std::string of(const std::vector<TaskId>& path) {
    const std::vector<IdleGap> gaps = idle_gaps(plan_, timeline_);
    // Gaps name ops behind them, so these have their numbers first.
    for (std::uint32_t rank = 0; rank < plan_.ranks; ++rank) {
      for (const Tracks* tracks : {&actions_[rank], &transfers_[rank]}) number(*tracks);
    }
    auto gap = gaps.begin();
    for (std::uint32_t rank = 0; rank < plan_.ranks; ++rank) {
      add_ops(actions_[rank]);
      add_ops(transfers_[rank]);
      const auto first = gap;
      while (gap != gaps.end() && index(gap->rank) == rank) ++gap;
      add_idle({first, gap});
    }
    add_path(path);
    return std::move(bytes_);
  }
  std::int64_t unit() const { return unit_; }
  bool has_transfers() const {
    return std::any_of(transfers_.begin(), transfers_.end(),
                       [](const Tracks& tracks) { return !tracks.empty(); });
  }

 private:
  using Tracks = std::vector<std::vector<TaskId>>;  // ops that overlap stand in several

  void find_ops() {
    actions_.resize(plan_.ranks);
    transfers_.resize(plan_.ranks);
    std::vector<TaskId> ops;
    for (TaskId task = 0; task < plan_.tasks(); ++task) {
      if (timeline_.end[task] > timeline_.begin[task]) ops.push_back(task);
    }
    std::ranges::stable_sort(ops, {}, [&](TaskId task) { return timeline_.begin[task]; });
    for (const TaskId op : ops) {
      auto& all = is_transfer(plan_.class_of(op).pass) ? transfers_ : actions_;
      Tracks& tracks = all[rank_of_task(plan_, op)];
      const auto free = std::ranges::find_if(tracks, [&](const std::vector<TaskId>& track) {
        return timeline_.end[track.back()] <= timeline_.begin[op];
      });
      if (free == tracks.end()) {
        tracks.push_back({op});
      } else {
        free->push_back(op);
      }
    }
  }
  void number(const Tracks& tracks) {
    for (const std::vector<TaskId>& track : tracks) {
      for (const TaskId op : track) number_[op] = ++numbers_;
    }
  }

  /// What repeats within a class costs one byte.
  void add_ops(const Tracks& tracks) {
    add(tracks.size());
    for (const std::vector<TaskId>& track : tracks) {
      add(track.size());
      std::int64_t end = 0;
      for (const TaskId op : track) {
        const std::uint32_t work = plan_.work[op];
        const std::int64_t begin = rounded(timeline_.begin[op]);
        add(work);
        add_change(index(plan_.microbatch[op]), microbatch_[work]);
        add_signed(begin - end);
        end = rounded(timeline_.end[op]);
        add_change(end - begin, length_[work]);
      }
    }
  }

  void add_idle(std::span<const IdleGap> gaps) {
    std::uint64_t count = 0;
    for (const IdleGap& gap : gaps) for_each_cause(gap, [&](auto...) { ++count; });
    add(count);
    std::int64_t end = 0;
    std::int64_t behind = 0;
    for (const IdleGap& gap : gaps) {
      for_each_cause(gap, [&](IdleCause cause, Time from, Time to) {
        add(static_cast<std::uint64_t>(cause));
        add(static_cast<std::uint64_t>(rounded(from) - end));
        add(static_cast<std::uint64_t>(rounded(to) - rounded(from)));
        add_change(waits_for(gap, cause), behind);
        end = rounded(to);
      });
    }
  }
  /// The number of the op that is waited for; 0: none.
  std::int64_t waits_for(const IdleGap& gap, IdleCause cause) const {
    const bool on_the_way = cause == IdleCause::transfer || cause == IdleCause::contention;
    const TaskId op = on_the_way ? gap.input : gap.producer;
    return op == no_task || cause == IdleCause::memory || cause == IdleCause::launch ? 0
                                                                                     : number_[op];
  }

  void add_path(const std::vector<TaskId>& path) {
    std::vector<std::int64_t> known;
    for (const TaskId op : path) {
      if (number_[op] > 0) known.push_back(number_[op] - 1);
    }
    add(known.size());
    std::int64_t before = 0;
    for (const std::int64_t op : known) add_change(op, before);
  }

  std::int64_t rounded(Time time) const { return (time.picoseconds + unit_ / 2) / unit_; }
  void add(std::uint64_t value) {
    for (; value > 127; value >>= 7) bytes_ += static_cast<char>(value | 128);
    bytes_ += static_cast<char>(value);
  }
  void add_signed(std::int64_t value) {
    add(value < 0 ? 2 * static_cast<std::uint64_t>(-(value + 1)) + 1
                  : 2 * static_cast<std::uint64_t>(value));
  }
  void add_change(std::int64_t value, std::int64_t& before) {
    add_signed(value - before);
    before = value;
  }

  const Plan& plan_;
  const Timeline& timeline_;
  std::vector<Tracks> actions_, transfers_;        // by rank
  std::vector<std::int64_t> number_;               // by task, from 1 on
  std::vector<std::int64_t> length_, microbatch_;  // of the last op, by class
  std::int64_t numbers_ = 0;
  std::int64_t unit_;  // picoseconds
  std::string bytes_;
};

json classes_of(const Plan& plan) {
  const std::vector<ChunkPlace> places = chunks_of(plan);
  json all = json::array();
  for (std::size_t c = 0; c < plan.classes.size(); ++c) {
    const WorkClass& work = plan.classes[c];
    const auto [chunk, chunks] = is_transfer(work.pass) ? ChunkPlace{0, 1} : places[c];
    const bool named = !plan.class_names.empty();
    const Colour colour = named ? series_colour(series_of(plan.class_names[c]))
                                : pass_colour(work.pass, chunk, chunks);
    all.push_back({{"name", named ? plan.class_names[c] : ""},
                   {"letters", word_of(plan, work)},
                   {"text", pass_name(work.pass)},
                   {"stage", index(work.stage)},
                   {"place", place_text(plan, work.resource)},
                   {"colour", hex(colour)},
                   {"ink", hex(text_on(colour))}});
  }
  return all;
}

/// What passes have on dark ground instead of their colours.
json pale_json() {
  json all = json::object();
  for (std::size_t p = 0; p < pass_count; ++p) {
    const auto pass = static_cast<Pass>(p);
    const Colour pale = pass_colour(pass, 0, 1, PictureTheme::dark);
    if (pale == pass_colour(pass)) continue;
    all[hex(pass_colour(pass))] = {{"colour", hex(pale)}, {"ink", hex(text_on(pale))}};
  }
  return all;
}

json causes(const Plan& plan) {
  json all = json::array();
  for (std::size_t c = 0; c < idle_cause_count; ++c) {
    const auto cause = static_cast<IdleCause>(c);
    json rows = json::array();
    for (int y = 0; y < hatch_pixels; ++y) rows.push_back(hatch_row(hatch_of(cause), y));
    all.push_back({{"name", cause_name(plan, cause)}, {"rows", std::move(rows)}});
  }
  return all;
}

/// The colours around ops on a ground, as the page has them.
json theme_of(PictureTheme ground) {
  const bool dark = ground == PictureTheme::dark;
  const Colour letters = dark ? Colour{228, 231, 234} : ink;
  json idle = json::array();
  for (std::size_t c = 0; c < idle_cause_count; ++c) {
    const Colour colour = idle_colour(static_cast<IdleCause>(c), ground);
    idle.push_back({{"colour", hex(colour)}, {"lines", hex(idle_lines(colour, letters))}});
  }
  return {{"ground", dark ? "#17191c" : "#ffffff"},
          {"lane", dark ? "#21252b" : hex(idle_ground)},
          {"ink", hex(letters)},
          {"faint", dark ? "#a2a9b2" : hex(faint_ink)},
          {"busy", dark ? "#bec1c5" : "#4d5055"},
          {"mark", dark ? "#56b4e9" : "#0072b2"},
          {"causes", std::move(idle)}};
}

std::string swatch(const std::string& colour, std::string_view text) {
  return fmt::format("<span><i style=\"background:{0}\" data-colour=\"{0}\"></i>{1}</span>\n",
                     colour, html_text(text));
}

/// The same of colours that follow the theme.
template <class Cause>
std::string drawn_swatch(const Cause& cause, std::string_view text) {
  return fmt::format(
      "<span><canvas width=\"18\" height=\"12\" data-cause=\"{}\"></canvas>{}</span>\n", cause,
      html_text(text));
}

std::string legend_of(const Plan& plan, const Timeline& timeline) {
  std::array<bool, pass_count> seen{};
  for (const WorkClass& work : plan.classes) {
    seen[static_cast<std::size_t>(work.pass)] = plan.class_names.empty();
  }
  IdleSums idle;
  for (const IdleCauses& of_rank : idle_causes(plan, timeline)) idle += of_rank;
  std::string text;
  for (std::size_t p = 0; p < pass_count; ++p) {
    const auto pass = static_cast<Pass>(p);
    if (seen[p]) text += swatch(hex(pass_colour(pass)), pass_name(pass));
  }
  for (std::size_t c = 0; c < idle_cause_count; ++c) {
    const auto cause = static_cast<IdleCause>(c);
    if (time_of(idle, cause) == Time{}) continue;
    text += drawn_swatch(c, fmt::format("idle: {}", cause_name(plan, cause)));
  }
  return text + drawn_swatch("none", "busy, in the overview of idle shares");
}

}  // namespace

std::string live_timeline(const Plan& plan, const Timeline& timeline,
                          const std::vector<TaskId>& path) {
  RunBytes run(plan, timeline);
  const json info{{"ranks", plan.ranks},
                  {"span", makespan(plan, timeline).picoseconds},
                  {"unit", run.unit()},
                  {"transfers", run.has_transfers()},
                  {"classes", classes_of(plan)},
                  {"pale", pale_json()},
                  {"names", plan.rank_names},
                  {"causes", causes(plan)},
                  {"hatch", hatch_pixels},
                  {"themes", {theme_of(PictureTheme::light), theme_of(PictureTheme::dark)}},
                  {"help", help},
                  {"data", base64(run.of(path))}};
  // A text cannot end the element: "</" is written as JSON allows.
  std::string text = kept_in_order(info.dump());
  for (std::size_t at = text.find("</"); at != std::string::npos; at = text.find("</", at)) {
    text.insert(at + 1, "\\");
  }
  return fmt::format(
      "<div class=\"live\">\n<p class=\"note\" role=\"group\" aria-label=\"Timeline\">\n"
      "<button type=\"button\" id=\"timeline-in\" aria-label=\"Zoom in\">+</button>\n"
      "<button type=\"button\" id=\"timeline-out\" aria-label=\"Zoom out\">&#8722;</button>\n"
      "<button type=\"button\" id=\"timeline-fit\">Whole run</button>\n"
      "<button type=\"button\" id=\"timeline-path\" aria-pressed=\"false\">Critical "
      "path</button>\n</p>\n"
      "<canvas id=\"timeline\" tabindex=\"0\" role=\"application\" aria-label=\"Timeline; the line "
      "below it describes what is selected\"></canvas>\n"
      "<p id=\"timeline-tip\" class=\"tip\" hidden=\"\"></p>\n"
      "<p id=\"timeline-line\" class=\"note\" aria-live=\"polite\"></p>\n"
      "<p class=\"legend\">{}</p>\n</div>\n"
      "<script type=\"application/json\" id=\"timeline-info\">{}</script>\n<script>{}</script>\n",
      legend_of(plan, timeline), text, live_timeline_script());
}

}  // namespace penstock
