#include "experiments/python/arrow.hpp"

#include <string>
#include <utility>
#include <vector>

namespace penstock::python {
namespace {

constexpr std::int64_t nullable = 2;  // ARROW_FLAG_NULLABLE

const char* format_of(ColumnType type) {
  switch (type) {
    case ColumnType::uint32:
      return "I";
    case ColumnType::int64:
      return "l";
    case ColumnType::float64:
      return "g";
    case ColumnType::code:
      return "c";
    case ColumnType::text:
      return "u";
  }
  return "n";
}

/// What an exported schema or array points to.
template <class Exported>
struct Holder {
  std::string name;
  std::vector<const void*> buffers;
  std::vector<Exported> items;  // children, then the dictionary if there is one
  std::vector<Exported*> children;
  std::shared_ptr<const void> owner;

  /// With room for so many children, and a dictionary.
  Holder(std::size_t count, bool with_dictionary) : items(count + (with_dictionary ? 1 : 0)) {
    for (std::size_t i = 0; i < count; ++i) children.push_back(&items[i]);
  }
};

/// Frees a structure and what was not moved out of it.
template <class Exported>
void release(Exported* exported) {
  auto* holder = static_cast<Holder<Exported>*>(exported->private_data);
  for (Exported& item : holder->items) {
    if (item.release != nullptr) item.release(&item);
  }
  exported->release = nullptr;
  delete holder;
}

template <class Exported>
Holder<Exported>& held_by(Exported& exported, std::size_t children, bool with_dictionary) {
  auto* holder = new Holder<Exported>(children, with_dictionary);
  exported = {};
  exported.n_children = static_cast<std::int64_t>(children);
  exported.children = children == 0 ? nullptr : holder->children.data();
  exported.dictionary = with_dictionary ? &holder->items.back() : nullptr;
  exported.release = release<Exported>;
  exported.private_data = holder;
  return *holder;
}

/// The categories of a column as a column of texts.
SharedColumn categories_of(const Column& column) {
  return std::make_shared<const Column>(
      text_column("", {column.categories.begin(), column.categories.end()}));
}

struct Stream {
  std::shared_ptr<const Table> table;
  bool at_end = false;
};

int schema_of_stream(ArrowArrayStream* stream, ArrowSchema* out) {
  const auto& table = static_cast<Stream*>(stream->private_data)->table;
  Holder<ArrowSchema>& holder = held_by(*out, table->columns.size(), false);
  out->format = "+s";
  out->name = "";
  for (std::size_t i = 0; i < table->columns.size(); ++i) {
    export_schema(*table->columns[i], holder.items[i]);
  }
  return 0;
}

/// The table at first, then the end: an array without a release.
int next_of_stream(ArrowArrayStream* stream, ArrowArray* out) {
  auto& [table, at_end] = *static_cast<Stream*>(stream->private_data);
  *out = {};
  if (std::exchange(at_end, true)) return 0;
  Holder<ArrowArray>& holder = held_by(*out, table->columns.size(), false);
  holder.buffers = {nullptr};
  out->length = table->rows();
  out->n_buffers = 1;
  out->buffers = holder.buffers.data();
  for (std::size_t i = 0; i < table->columns.size(); ++i) {
    export_array(table->columns[i], holder.items[i]);
  }
  return 0;
}

}  // namespace

void export_schema(const Column& column, ArrowSchema& schema) {
  const bool with_dictionary = column.type == ColumnType::code;
  Holder<ArrowSchema>& holder = held_by(schema, 0, with_dictionary);
  holder.name = column.name;
  schema.format = format_of(column.type);
  schema.name = holder.name.c_str();
  schema.flags = column.present.empty() ? 0 : nullable;
  if (with_dictionary) export_schema(*categories_of(column), holder.items.front());
}

void export_array(const SharedColumn& column, ArrowArray& array) {
  const bool with_dictionary = column->type == ColumnType::code;
  Holder<ArrowArray>& holder = held_by(array, 0, with_dictionary);
  holder.owner = column;
  holder.buffers = {column->present.empty() ? nullptr : column->present.data(), column->values};
  if (column->type == ColumnType::text) holder.buffers.push_back(column->bytes);
  array.length = column->length;
  array.null_count = column->missing;
  array.n_buffers = static_cast<std::int64_t>(holder.buffers.size());
  array.buffers = holder.buffers.data();
  if (with_dictionary) export_array(categories_of(*column), holder.items.front());
}

void export_stream(std::shared_ptr<const Table> table, ArrowArrayStream& stream) {
  stream = {.get_schema = schema_of_stream,
            .get_next = next_of_stream,
            .get_last_error = [](ArrowArrayStream*) -> const char* { return nullptr; },
            .release =
                [](ArrowArrayStream* done) {
                  delete static_cast<Stream*>(done->private_data);
                  done->release = nullptr;
                },
            .private_data = new Stream{std::move(table)}};
}

}  // namespace penstock::python
