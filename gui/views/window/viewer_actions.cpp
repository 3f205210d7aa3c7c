#include "gui/views/window/viewer_window.hpp"

namespace penstock {
namespace {

using Window = ViewerWindow;

constexpr double slow = 0.8;
constexpr double fast = 0.4;

const std::vector<ViewerAction> file_actions{
    {"open", "File", "Open…", "Ctrl+O", [](Window& w) { w.files().open_dialog(); }, false},
    {"example", "File", "Open the example", "Ctrl+Shift+E",
     [](Window& w) { w.files().open_example(); }, false},
    {"reload", "File", "Read the file again", "F5", [](Window& w) { w.files().reload(); }},
    {"save_scenario", "File", "Save as scenario…", "Ctrl+S",
     [](Window& w) { w.files().save_scenario_dialog(); }},
    {"save_order", "File", "Save the order as CSV…", "Ctrl+Shift+S",
     [](Window& w) { w.files().save_order_dialog(); }},
    {"export_view", "File", "Export what is seen…", "Ctrl+E",
     [](Window& w) { w.files().export_dialog(); }},
    {"export_run", "File", "Export the whole run…", "Ctrl+Alt+E",
     [](Window& w) { w.files().export_whole_dialog(); }},
    {"export_area", "File", "Export the selected area as CSV…", "",
     [](Window& w) { w.files().export_area_dialog(); }, true, on_gap | on_area},
    {"copy", "File", "Copy what is known of the selection", "Ctrl+C",
     [](Window& w) { w.panels().copy_selection(); }, true, on_op | on_gap | on_area | on_memory},
    {"close", "File", "Close the run", "Ctrl+W", [](Window& w) { w.runs().close(); }},
    {"quit", "File", "Quit", "Ctrl+Q", [](Window& w) { w.close(); }, false},
};

const std::vector<ViewerAction> view_actions{
    {"zoom_in", "View", "Zoom in at the pointer", "W =", [](Window& w) { w.canvas()->zoom(slow); }},
    {"zoom_out", "View", "Zoom out", "S -", [](Window& w) { w.canvas()->zoom(1 / slow); }},
    {"zoom_in_fast", "View", "Zoom in, fast", "Shift+W", [](Window& w) { w.canvas()->zoom(fast); }},
    {"zoom_out_fast", "View", "Zoom out, fast", "Shift+S",
     [](Window& w) { w.canvas()->zoom(1 / fast); }},
    {"pan_left", "View", "Earlier", "A Left", [](Window& w) { w.canvas()->pan(-0.1); }},
    {"pan_right", "View", "Later", "D Right", [](Window& w) { w.canvas()->pan(0.1); }},
    {"pan_left_fast", "View", "Earlier, fast", "Shift+A Shift+Left",
     [](Window& w) { w.canvas()->pan(-0.5); }},
    {"pan_right_fast", "View", "Later, fast", "Shift+D Shift+Right",
     [](Window& w) { w.canvas()->pan(0.5); }},
    {"scroll_up", "View", "Ranks above", "PgUp", [](Window& w) { w.canvas()->scroll(-200); }},
    {"scroll_down", "View", "Ranks below", "PgDown", [](Window& w) { w.canvas()->scroll(200); }},
    {"taller", "View", "Taller lanes", "Ctrl+=", [](Window& w) { w.canvas()->scale_lanes(1.25); }},
    {"lower", "View", "Lower lanes", "Ctrl+-", [](Window& w) { w.canvas()->scale_lanes(0.8); }},
    {"fit", "View", "Fit the run", "Home 0", [](Window& w) { w.canvas()->fit(); }, true, on_all},
    {"fit_selection", "View", "Fit the selection", "F",
     [](Window& w) { w.steps().fit_selection(); }, true, on_op | on_gap | on_area | on_memory},
    {"back", "View", "Previous view", "Z Alt+Left", [](Window& w) { w.steps().go_back(false); },
     true, on_all},
    {"forward", "View", "Next view", "Shift+Z Alt+Right",
     [](Window& w) { w.steps().go_back(true); }},
    {"by_pass", "View", "Colour by pass", "Ctrl+1",
     [](Window& w) { w.runs().colour_by(ColourBy::pass); }},
    {"by_microbatch", "View", "Colour by microbatch", "Ctrl+2",
     [](Window& w) { w.runs().colour_by(ColourBy::microbatch); }},
    {"by_stage", "View", "Colour by stage", "Ctrl+3",
     [](Window& w) { w.runs().colour_by(ColourBy::stage); }},
    {"by_cause", "View", "Colour only idle time", "Ctrl+4",
     [](Window& w) { w.runs().colour_by(ColourBy::cause); }},
    {"transfers", "View", "Transfers: sent, received too, or none", "Y",
     [](Window& w) { w.runs().toggle_transfers(); }, true, on_empty},
    {"memory", "View", "Show or hide memory", "N", [](Window& w) { w.runs().toggle_memory(); },
     true, on_empty},
    {"links", "View", "Show or hide the use of links", "U",
     [](Window& w) { w.runs().toggle_links(); }, true, on_empty},
    {"docks", "View", "Fold the panels, or open them again", "Q",
     [](Window& w) { w.panels().strip().toggle_all(); }, false},
    {"theme", "View", "Light, dark, high contrast", "T", [](Window& w) { w.cycle_theme(); }, false},
};

const std::vector<ViewerAction> rank_actions{
    {"by_number", "Ranks", "All ranks by number", "Shift+O",
     [](Window& w) { w.ranks().show_all(); }, true, on_empty},
    {"sort_ranks", "Ranks", "Order by idle time, memory, stage or number", "O",
     [](Window& w) { w.ranks().cycle_sort(); }, true, on_empty},
    {"filter_ranks", "Ranks", "Show only some ranks…", "Shift+F",
     [](Window& w) { w.ranks().ask_filter(); }, true, on_empty},
    {"fold_replicas", "Ranks", "Fold replicas to one rank, or unfold", "Shift+P",
     [](Window& w) { w.ranks().toggle_folded(); }},
    {"heat", "Ranks", "Only idle time, as heat by rank", "H",
     [](Window& w) { w.ranks().toggle_heat(); }},
    {"pin", "Ranks", "Pin the lane on top, or back", "P", [](Window& w) { w.steps().pin_lane(); },
     true, on_op | on_gap},
};

const std::vector<ViewerAction> go_actions{
    {"next_op", "Go", "Next op, or step of memory, of the lane", ".",
     [](Window& w) { w.steps().step_in_lane(true); }, true, on_memory},
    {"previous_op", "Go", "Previous op, or step of memory, of the lane", ",",
     [](Window& w) { w.steps().step_in_lane(false); }, true, on_memory},
    {"cause", "Go", "What the op waited for, or what changed the memory", "[",
     [](Window& w) { w.steps().step_to_cause(); }, true, on_op | on_gap | on_memory},
    {"effect", "Go", "What waited for the op, or what changes the memory next", "]",
     [](Window& w) { w.steps().step_to_effect(); }, true, on_op | on_memory},
    {"memory_step", "Go", "What the rank holds at the op, or where it holds most", "Shift+N",
     [](Window& w) { w.steps().show_memory(); }, true, on_op | on_gap},
    {"next_on_path", "Go", "Next op of the path", "Ctrl+.",
     [](Window& w) { w.steps().step_on_path(true); }, true, on_op},
    {"previous_on_path", "Go", "Previous op of the path", "Ctrl+,",
     [](Window& w) { w.steps().step_on_path(false); }},
    {"next_microbatch", "Go", "Same op of the next microbatch", "Shift+. >",
     [](Window& w) { w.steps().step_in_microbatch(true); }, true, on_op},
    {"previous_microbatch", "Go", "Same op of the previous microbatch", "Shift+, <",
     [](Window& w) { w.steps().step_in_microbatch(false); }},
    {"rank_up", "Go", "Rank above", "Up", [](Window& w) { w.steps().step_rank(false); }},
    {"rank_down", "Go", "Rank below", "Down", [](Window& w) { w.steps().step_rank(true); }},
    {"next_idle", "Go", "Next bubble by length", "B", [](Window& w) { w.steps().step_idle(true); },
     true, on_gap},
    {"previous_idle", "Go", "Previous bubble by length", "Shift+B",
     [](Window& w) { w.steps().step_idle(false); }},
    {"search", "Go", "Search ops", "/ Ctrl+F", [](Window& w) { w.steps().start_search(); }},
    {"next_found", "Go", "Next match", "F3", [](Window& w) { w.steps().step_found(true); }},
    {"previous_found", "Go", "Previous match", "Shift+F3",
     [](Window& w) { w.steps().step_found(false); }},
    {"next_iteration", "Go", "Next iteration of the trace", "I",
     [](Window& w) { w.comparison().step_iteration(true); }},
    {"previous_iteration", "Go", "Previous iteration of the trace", "Shift+I",
     [](Window& w) { w.comparison().step_iteration(false); }},
    {"find_lane", "Go", "Find a lane…", "Ctrl+P", [](Window& w) { w.show_lanes(); }},
    {"follow", "Go", "Follow the microbatch", "G", [](Window& w) { w.steps().follow_microbatch(); },
     true, on_op},
    {"path", "Go", "Critical path", "C", [](Window& w) { w.steps().toggle_path(); }, true, on_all},
    {"slack", "Go", "Slack: ops that could end later are pale", "Shift+C",
     [](Window& w) { w.steps().toggle_slack(); }},
    {"area", "Go", "Area of the selected op, on all ranks", "R",
     [](Window& w) { w.steps().area_from_selection(); }, true, on_op | on_gap},
    {"mark", "Go", "Mark the time at the pointer; on a mark: remove it", "M",
     [](Window& w) { w.steps().add_mark(); }, true, on_all},
    {"clear", "Go", "Clear selection, search and marks", "Esc",
     [](Window& w) { w.steps().clear_all(); }, true, on_all},
};

const std::vector<ViewerAction> change_actions{
    {"op_earlier", "Change", "Op one place earlier in its order", "Alt+Up",
     [](Window& w) { w.changes().move_op(false); }, true, on_op},
    {"op_later", "Change", "Op one place later in its order", "Alt+Down",
     [](Window& w) { w.changes().move_op(true); }, true, on_op},
    {"undo", "Change", "Undo the change", "Ctrl+Z", [](Window& w) { w.changes().undo(false); }},
    {"redo", "Change", "Do the change again", "Ctrl+Shift+Z",
     [](Window& w) { w.changes().undo(true); }},
    {"freeze", "Change", "Freeze as reference A", "Ctrl+D",
     [](Window& w) { w.comparison().freeze_reference(); }},
    {"compare", "Change", "Compare with files…", "Ctrl+Shift+O",
     [](Window& w) { w.files().compare_dialog(); }},
    {"stack", "Change", "Stack the runs of all tabs", "Ctrl+Shift+T",
     [](Window& w) { w.comparison().stack_tabs(); }},
    {"drop", "Change", "Drop B and the others", "Ctrl+Shift+D",
     [](Window& w) { w.comparison().drop_reference(); }},
    {"swap", "Change", "Swap A and B", "X", [](Window& w) { w.comparison().swap_runs(); }},
    {"only_a", "Change", "A alone", "1",
     [](Window& w) { w.comparison().pair_style(PairStyle::only_first); }},
    {"only_b", "Change", "B alone; again: the next one", "2",
     [](Window& w) { w.comparison().show_other_alone(); }},
    {"both", "Change", "A above B and the others", "3",
     [](Window& w) { w.comparison().pair_style(PairStyle::above); }},
    {"style", "Change", "Ghost, above, mirrored", "V",
     [](Window& w) { w.comparison().cycle_pair_style(); }},
    {"align", "Change", "Align by start, first op, makespan or iteration", "L",
     [](Window& w) { w.comparison().cycle_alignment(); }},
    {"align_op", "Change", "Align by the selected op", "Shift+L",
     [](Window& w) { w.comparison().align_by_op(); }, true, on_op},
    {"blink", "Change", "Show A and the others in turn", "K",
     [](Window& w) { w.comparison().blink(); }},
    {"difference", "Change", "First difference", "J",
     [](Window& w) { w.comparison().first_difference(); }},
};

const std::vector<ViewerAction> help_actions{
    {"actions", "Help", "Find an action…", "Ctrl+Shift+P", [](Window& w) { w.show_actions(); },
     false},
    {"help", "Help", "Keys", "? F1", [](Window& w) { w.show_help(); }, false},
    {"message", "Help", "The whole message", "F2", [](Window& w) { w.show_whole_message(); },
     false},
};

}  // namespace

const std::vector<ViewerAction>& viewer_actions() {
  static const std::vector<ViewerAction> table = [] {
    std::vector<ViewerAction> all;
    for (const auto* part : {&file_actions, &view_actions, &rank_actions, &go_actions,
                             &change_actions, &help_actions}) {
      all.insert(all.end(), part->begin(), part->end());
    }
    return all;
  }();
  return table;
}

}  // namespace penstock
