#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "experiments/python/arrow.hpp"
#include "experiments/python/column.hpp"
#include "experiments/python/module.hpp"

namespace penstock::python {
namespace {

namespace nb = nanobind;

/// How a column's values look in the buffer protocol.
struct BufferFormat {
  const char* code;
  Py_ssize_t bytes;
};

BufferFormat buffer_format(ColumnType type) {
  switch (type) {
    case ColumnType::uint32:
      return {"I", 4};
    case ColumnType::int64:
      return {"q", 8};
    case ColumnType::float64:
      return {"d", 8};
    case ColumnType::code:
      return {"b", 1};
    case ColumnType::text:
      break;
  }
  return {nullptr, 0};
}

/// A read-only buffer of one dimension, which the column keeps alive.
int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  const auto& column = *nb::inst_ptr<Column>(self);
  const BufferFormat format = buffer_format(column.type);
  if (format.code == nullptr) {
    PyErr_Format(PyExc_BufferError, "column %s holds texts: use tolist() or Arrow",
                 column.name.c_str());
    return -1;
  }
  if ((flags & PyBUF_WRITABLE) == PyBUF_WRITABLE) {
    PyErr_SetString(PyExc_BufferError, "columns are read-only");
    return -1;
  }
  // The shape is the column's length itself.
  static_assert(sizeof(Py_ssize_t) == sizeof(column.length));
  *view = {};
  view->buf = const_cast<void*>(column.values);
  view->obj = Py_NewRef(self);
  view->len = column.length * format.bytes;
  view->itemsize = format.bytes;
  view->readonly = 1;
  view->ndim = 1;
  view->format = (flags & PyBUF_FORMAT) != 0 ? const_cast<char*>(format.code) : nullptr;
  if ((flags & PyBUF_ND) != 0) {
    view->shape = reinterpret_cast<Py_ssize_t*>(const_cast<std::int64_t*>(&column.length));
  }
  if ((flags & PyBUF_STRIDES) == PyBUF_STRIDES) view->strides = &view->itemsize;
  return 0;
}

/// A structure of Arrow that its capsule releases, unless a consumer has moved it out.
template <class Exported, class Fill>
nb::object capsule(const char* name, Fill fill) {
  auto exported = std::make_unique<Exported>();
  fill(*exported);
  PyObject* object = PyCapsule_New(exported.get(), name, [](PyObject* self) {
    auto* held = static_cast<Exported*>(PyCapsule_GetPointer(self, PyCapsule_GetName(self)));
    if (held->release != nullptr) held->release(held);
    delete held;
  });
  if (object == nullptr) throw nb::python_error();
  exported.release();
  return nb::steal(object);
}

nb::tuple arrow_array(const SharedColumn& column, const nb::object& /*requested_schema*/) {
  return nb::make_tuple(
      capsule<ArrowSchema>("arrow_schema",
                           [&](ArrowSchema& schema) { export_schema(*column, schema); }),
      capsule<ArrowArray>("arrow_array", [&](ArrowArray& array) { export_array(column, array); }));
}

nb::object arrow_stream(const std::shared_ptr<const Table>& table,
                        const nb::object& /*requested_schema*/) {
  return capsule<ArrowArrayStream>("arrow_array_stream",
                                   [&](ArrowArrayStream& stream) { export_stream(table, stream); });
}

nb::object value_at(const Column& column, std::int64_t row) {
  if (!column.is_present(row)) return nb::none();
  switch (column.type) {
    case ColumnType::uint32:
      return nb::int_(static_cast<const std::uint32_t*>(column.values)[row]);
    case ColumnType::int64:
      return nb::int_(static_cast<const std::int64_t*>(column.values)[row]);
    case ColumnType::float64:
      return nb::float_(static_cast<const double*>(column.values)[row]);
    case ColumnType::code:
    case ColumnType::text:
      return nb::cast(column.text(row));
  }
  return nb::none();
}

nb::list list_of(const Column& column) {
  nb::list all;
  for (std::int64_t row = 0; row < column.length; ++row) all.append(value_at(column, row));
  return all;
}

nb::object item(const Column& column, std::int64_t row) {
  if (row < 0) row += column.length;
  if (row < 0 || row >= column.length) throw nb::index_error();
  return value_at(column, row);
}

}  // namespace

void bind_tables(nb::module_& module) {
  static PyType_Slot buffer_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
                                       {0, nullptr}};
  nb::class_<Column>(module, "Column", nb::type_slots(buffer_slots),
                     "A column of a table. Its values are read where they lie, without a copy: by "
                     "the buffer protocol, as in memoryview(column) or numpy.asarray(column), and "
                     "by the Arrow C data interface. It keeps alive what holds them.")
      .def_ro("name", &Column::name, "Name of the column.")
      .def_ro("categories", &Column::categories,
              "What the numbers of a column of categories stand for, in order; else empty.")
      .def("__len__", [](const Column& column) { return column.length; })
      .def("__getitem__", item, nb::arg("row"))
      .def("tolist", list_of, "The values as Python objects; None where there is none.")
      .def("__arrow_c_array__", arrow_array, nb::arg("requested_schema") = nb::none(),
           nb::sig("def __arrow_c_array__(self, requested_schema: object | None = None) -> "
                   "tuple[object, object]"),
           "The column by the Arrow C data interface.");
  nb::class_<Table>(module, "Table", "Columns of equal length.")
      .def_prop_ro(
          "columns", [](const Table& table) { return table.columns; }, "The columns, in order.")
      .def("__len__", &Table::rows)
      .def("__arrow_c_stream__", arrow_stream, nb::arg("requested_schema") = nb::none(),
           nb::sig("def __arrow_c_stream__(self, requested_schema: object | None = None) -> "
                   "object"),
           "The table by the Arrow C stream interface, in one batch.");
}

}  // namespace penstock::python
