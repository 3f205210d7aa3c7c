#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "experiments/input/files/table.hpp"
#include "experiments/measure/reproduction/reproduction.hpp"
#include "experiments/measure/reproduction/row_values.hpp"
#include "experiments/program/commands/registry.hpp"

namespace penstock::reproduce_file {
namespace {

namespace fs = std::filesystem;

struct Options : Arguments {
  Texts papers = line.input().required_list("PAPER", "folders with a paper.json, or such files");
  Text rows =
      line.input().option("--rows", "other rows of a table to judge, with its columns", "FILE.csv");
  Text table = line.option("--table", "the table that is meant; otherwise the first", "NAME");
  Text constants =
      line.input().option("--constants", "constants instead of a fit, as -o writes them", "FILE");
  Number anchor = line.number("--anchor", "only scale by this row of the table, from 1");
  Number scenario_of_row = line.number("--scenario", "only print the scenario of a row, from 1");
  Text output = line.option("-o,--output", "write all tables as Markdown or JSON", "F.md|F.json");
  Flag summary = line.flag("--summary", "only a line for each judgement");
  Flag json = line.json();
  const Existing& replaced = line.replaces();
};

/// A paper is a folder with a paper.json, or a paper.json file.
std::string file_of(const std::string& paper) {
  return paper != "-" && fs::is_directory(paper) ? (fs::path(paper) / "paper.json").string()
                                                 : paper;
}

const PaperTable& table_named(const Paper& paper, const std::string& name) {
  if (name.empty()) return paper.tables.front();
  const auto found = std::ranges::find(paper.tables, name, &PaperTable::name);
  if (found != paper.tables.end()) return *found;
  throw UsageError(fmt::format("--table: there is no table \"{}\"; tables: {}", name,
                               fmt::join(words_of(paper.tables), ", ")));
}

std::optional<OtherRows> other_rows(const Options& options, const Paper& paper) {
  const PaperTable& table = table_named(paper, options.table);
  if (options.rows.empty()) return std::nullopt;
  return OtherRows{table.name, read_paper_rows(options.rows, table)};
}

/// Prints the scenario of one row, to run and inspect by itself.
int print_scenario(const Options& options, const Paper& paper) {
  const PaperTable& table = table_named(paper, options.table);
  const auto other = other_rows(options, paper);
  const std::vector<PaperRow>& rows = other ? other->rows : table.rows;
  const std::uint32_t number =
      within("--scenario", options.scenario_of_row, static_cast<std::uint32_t>(rows.size()));
  show(fmt::format("{}\n", scenario_of({paper, table}, rows[number - 1])));
  if (!paper.constants.empty()) say("constants are where their search starts, not as fitted");
  return ExitCode::done;
}

/// The paper as asked for, and how to judge it.
struct PaperTask {
  Paper paper;
  ReproduceOptions options;
};

PaperTask paper_task_of(const Options& options, const std::string& name) {
  PaperTask task{read_paper(file_of(name)), {}};
  task.options.other = other_rows(options, task.paper);
  if (!options.constants.empty()) task.options.constants = read_constants(options.constants);
  if (!options.anchor) return task;
  const PaperTable& table = table_named(task.paper, options.table);
  const std::vector<PaperRow> rows = task.options.other ? task.options.other->rows : table.rows;
  const auto row = within("--anchor", options.anchor, static_cast<std::uint32_t>(rows.size()));
  task.paper = anchored(task.paper, table.name, rows, row - 1, task.options.constants.has_value());
  return task;
}

int print_all(const Options& options) {
  check_outputs({options.output, json_output(options.json)}, {options.rows, options.constants},
                options.replaced);
  std::vector<std::vector<std::string>> summary{summary_heads()};
  std::string text;
  nlohmann::ordered_json documents = nlohmann::ordered_json::array();
  std::string markdown;
  bool met = true;
  ProgressBar bar;
  for (const std::string& name : options.papers) {
    // What a shell makes of experiments/papers/* has the page about them too.
    if (fs::path(name).filename() == "README.md" && options.papers.size() > 1) continue;
    PaperTask task = paper_task_of(options, name);
    const Paper& paper = task.paper;
    task.options.on_progress = bar.callback();
    const Reproduction reproduction = reproduce(paper, task.options);
    met = met && reproduction.met();
    const std::string folder = fs::path(file_of(name)).parent_path().filename().string();
    for (auto& row : summary_rows(folder, paper, reproduction)) summary.push_back(row);
    text += (text.empty() ? "" : "\n") + reproduction_text(paper, reproduction);
    markdown += (markdown.empty() ? "" : "\n") + reproduction_markdown(paper, reproduction);
    documents.push_back(reproduction_json(paper, reproduction));
  }
  bar.erase();
  const nlohmann::ordered_json document = documents.size() == 1 ? documents[0] : documents;
  if (!options.output.empty()) {
    const bool as_json = options.output.ends_with(".json");
    write_file(options.output, as_json ? printed(document) : markdown, options.replaced);
  }
  if (options.json) {
    show(printed(document));
  } else {
    show(options.summary ? aligned(summary, {0, 1, 2, 6, 7}) : text);
  }
  return met ? ExitCode::done : ExitCode::finding;
}

int judge_papers(const Options& options) {
  if (!options.scenario_of_row) return print_all(options);
  return print_scenario(options, read_paper(file_of(options.papers.front())));
}

}  // namespace

constinit extern const CommandEntry reproduce_entry{
    .name = "reproduce",
    .summary = "compare published numbers of a paper with simulation",
    .group = CommandGroup::validate,
    .example = "penstock reproduce gpipe -o gpipe.md",
    .declare = command<Options, judge_papers>,
};

}  // namespace penstock::reproduce_file
