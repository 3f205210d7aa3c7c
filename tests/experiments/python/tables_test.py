"""Columns are read where they lie: same addresses, kept alive, read-only."""

import ctypes
import gc
import unittest

import penstock as ps
from support import FIRST, module_or_none, stages

numpy = module_or_none("numpy")
pyarrow = module_or_none("pyarrow")
pandas = module_or_none("pandas")
COLUMNS = ["rank", "kind", "stage", "microbatch", "start_ps", "end_ps"]


def address(column):
    """Of the first value, as the buffer protocol gives it."""
    class Buffer(ctypes.Structure):
        _fields_ = [("buf", ctypes.c_void_p), ("obj", ctypes.py_object), ("len", ctypes.c_ssize_t),
                    ("rest", ctypes.c_char * 128)]  # fmt: skip

    view = Buffer()
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(column), ctypes.byref(view), 0)
    found = view.buf
    ctypes.pythonapi.PyBuffer_Release(ctypes.byref(view))
    return found


class Timeline(unittest.TestCase):
    def setUp(self):
        self.run_ = ps.run(stages(2, 2))
        self.table = self.run_.timeline

    def test_columns_and_what_they_say(self):
        self.assertEqual(self.table.columns, COLUMNS)
        self.assertEqual([memoryview(self.table[name]).format for name in COLUMNS], list("IbIIqq"))
        rows = list(zip(*self.table.to_dict().values()))
        actions = [row for row in rows if row[1] in ("F", "B")]
        # 1F1B: rank 0 runs F0 F1 B0 B1, rank 1 F0 B0 F1 B1; F takes 1 us, B 2 us.
        us = 1_000_000
        self.assertCountEqual(actions, [
            (0, "F", 0, 0, 0, 1 * us), (0, "F", 0, 1, 1 * us, 2 * us),
            (1, "F", 1, 0, 1 * us, 2 * us), (1, "B", 1, 0, 2 * us, 4 * us),
            (1, "F", 1, 1, 4 * us, 5 * us), (1, "B", 1, 1, 5 * us, 7 * us),
            (0, "B", 0, 0, 4 * us, 6 * us), (0, "B", 0, 1, 7 * us, 9 * us),
        ])  # fmt: skip
        self.assertEqual({row[1] for row in rows}, {"F", "B", "SEND_F", "SEND_B"})
        self.assertEqual(max(self.table["end_ps"].tolist()), self.run_.step_time.ps)

    def test_values_one_by_one(self):
        column = self.table["kind"]
        self.assertEqual(len(column), len(self.table))
        self.assertEqual((column[0], column[-1]), ("F", column.tolist()[-1]))
        with self.assertRaises(IndexError):
            column[len(column)]
        with self.assertRaises(KeyError):
            self.table["none"]

    def test_buffers_are_read_only_and_keep_the_run_alive(self):
        view = memoryview(self.table["end_ps"])
        self.assertTrue(view.readonly)
        with self.assertRaises(TypeError):
            view[0] = 1
        before = view.tolist()
        del self.table, self.run_
        gc.collect()
        self.assertEqual(view.tolist(), before)

    def test_each_time_the_same_memory(self):
        self.assertEqual(address(self.table["end_ps"]), address(self.run_.timeline["end_ps"]))

    @unittest.skipUnless(numpy, "numpy is not installed")
    def test_numpy_reads_in_place(self):
        for name in COLUMNS:
            array = numpy.asarray(self.table[name])
            self.assertEqual(array.__array_interface__["data"], (address(self.table[name]), True), name)
        ends = numpy.asarray(self.table["end_ps"])
        del self.table, self.run_
        gc.collect()
        self.assertEqual(ends.max(), 9_000_000)

    @unittest.skipUnless(pyarrow, "pyarrow is not installed")
    def test_arrow_reads_in_place(self):
        table = self.table.to_arrow()
        self.assertEqual([str(field.type) for field in table.schema],
                         ["uint32", "dictionary<values=string, indices=int8, ordered=0>", "uint32", "uint32",
                          "int64", "int64"])  # fmt: skip
        for name in COLUMNS:
            chunk = table[name].chunk(0)
            values = chunk.indices if name == "kind" else chunk
            self.assertEqual(values.buffers()[1].address, address(self.table[name]), name)
            self.assertEqual(pyarrow.array(self.table[name]), chunk, name)
        expected = self.table.to_dict()
        del self.table, self.run_
        gc.collect()
        self.assertEqual(table.to_pydict(), expected)
        table.validate(full=True)

    @unittest.skipUnless(pyarrow, "pyarrow is not installed")
    def test_capsules_that_nobody_reads_are_freed(self):
        for _ in range(100):
            self.table.__arrow_c_stream__()
            self.table["kind"].__arrow_c_array__()
        reader = pyarrow.RecordBatchReader.from_stream(self.table)
        self.assertEqual(reader.schema.names, COLUMNS)
        self.assertEqual([batch.num_rows for batch in reader], [len(self.table)])

    @unittest.skipUnless(pandas, "pandas is not installed")
    def test_pandas(self):
        frame = self.table.to_pandas()
        self.assertEqual(frame.to_dict("list"), self.table.to_dict())
        self.assertEqual(frame.groupby("rank", observed=True).end_ps.max().tolist(), [9_000_000, 7_000_000])


class Texts(unittest.TestCase):
    def test_texts_have_no_buffer(self):
        sweep = ps.sweep(FIRST, {"/schedule/name": ["1f1b", "gpipe"]})
        self.assertEqual(sweep["/schedule/name"].tolist(), ["1f1b", "gpipe"])
        with self.assertRaisesRegex(BufferError, "texts"):
            memoryview(sweep["/schedule/name"])


if __name__ == "__main__":
    unittest.main()
