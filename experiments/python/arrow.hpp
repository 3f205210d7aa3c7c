#pragma once

#include <cstdint>
#include <memory>

#include "experiments/python/column.hpp"

// The structures of the Arrow C data and stream interfaces, as their specification lays them down:
// https://arrow.apache.org/docs/format/CDataInterface.html

extern "C" {

struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  std::int64_t flags;
  std::int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  std::int64_t length;
  std::int64_t null_count;
  std::int64_t offset;
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};

struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema* out);
  int (*get_next)(ArrowArrayStream*, ArrowArray* out);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};

}  // extern "C"

namespace penstock::python {

// What is exported holds the columns until its consumer releases it; buffers are those of the
// columns.

void export_schema(const Column& column, ArrowSchema& schema);
void export_array(const SharedColumn& column, ArrowArray& array);

/// A stream of one batch: the table.
void export_stream(std::shared_ptr<const Table> table, ArrowArrayStream& stream);

}  // namespace penstock::python
