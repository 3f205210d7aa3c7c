"""Sweeps: the rows of `penstock sweep`, as columns."""

import csv
import io
import json
import math
import os
import unittest

import penstock as ps
from support import FIRST, module_or_none, program, scratch, stages

pandas = module_or_none("pandas")
pyarrow = module_or_none("pyarrow")
AXES = {"/schedule/name": ["gpipe", "zb-h1"], "/schedule/microbatches": range(4, 17, 4)}
FLAGS = ["--vary", "/schedule/name=gpipe,zb-h1", "--vary", "/schedule/microbatches=4..16:4"]


class Rows(unittest.TestCase):
    def swept(self, *arguments, code=0):
        """The file of a sweep by the program."""
        path = os.path.join(scratch(self), "out.jsonl")
        program("sweep", *arguments, "-o", path, code=code)
        with open(path, encoding="utf-8") as file:
            return path, file.read()

    def test_rows_are_those_of_the_program(self):
        sweep = ps.sweep(FIRST, AXES)
        path, text = self.swept(FIRST, *FLAGS)
        self.assertEqual(sweep.to_jsonl(), text)
        self.assertEqual(sweep.rows, [json.loads(line) for line in text.splitlines()])
        self.assertEqual((len(sweep), sweep.with_result), (8, 8))

    def test_columns_are_those_of_the_export(self):
        sweep = ps.sweep(FIRST, AXES)
        path, _ = self.swept(FIRST, *FLAGS)
        table = list(csv.DictReader(io.StringIO(program("sweep", "export", path, "-o", "-"))))
        self.assertEqual(sweep.table.columns, list(table[0]))
        for name in sweep.table.columns:
            column = sweep[name].tolist()
            self.assertEqual([type(column[0])(row[name]) for row in table], column, name)

    def test_every_argument_has_its_option(self):
        sweep = ps.sweep(
            FIRST,
            {"/schedule/microbatches": range(4, 65, 1), "/hardware/latency_us": [0, 5, 10]},
            set={"/schedule/name": "zb-h1"},
            where=["/schedule/microbatches>=8"],
            results=["/ranks/0/idle_us"],
            jobs=1,
        )
        _, text = self.swept(
            FIRST, "--vary", "/schedule/microbatches=4..64:1", "--vary", "/hardware/latency_us=0,5,10",
            "--set", "/schedule/name=zb-h1", "--where", "/schedule/microbatches>=8",
            "--result", "/ranks/0/idle_us")  # fmt: skip
        self.assertEqual(sweep.to_jsonl(), text)
        drawn = ps.sweep(FIRST, AXES, sample=5, method="random", seed=7)
        _, text = self.swept(FIRST, *FLAGS, "--sample", "5", "--method", "random", "--seed", "7")
        self.assertEqual(drawn.to_jsonl(), text)

    def test_pointers_that_vary_together(self):
        sweep = ps.sweep(FIRST, {("/schedule/name", "/schedule/microbatches"): [("gpipe", 4), ("1f1b", 8)]})
        self.assertEqual([row["configuration"] for row in sweep.rows],
                         [{"/schedule/name": "gpipe", "/schedule/microbatches": 4},
                          {"/schedule/name": "1f1b", "/schedule/microbatches": 8}])
        with self.assertRaisesRegex(ps.UsageError, "has 1 values"):
            ps.sweep(FIRST, {("/schedule/name", "/schedule/microbatches"): [("gpipe",)]})

    def test_values_that_no_row_has_are_warned_of(self):
        with self.assertWarnsRegex(UserWarning, "^no row has a value at /nope; penstock run --json") as caught:
            sweep = ps.sweep(FIRST, AXES, results=["/nope", "/ranks/0/idle_us"])
        self.assertEqual(caught.filename, __file__)
        self.assertEqual(sweep["/nope"].tolist(), [None] * 8)

    def test_numbers_that_the_program_refuses(self):
        for name, most, wrong in (
            ("sample", 50_000_000, (0, -2, 50_000_001)),
            ("jobs", 1024, (0, -1, 1025, 2**70)),
        ):
            for number in wrong:
                error = f"^{name} is {number}: it must be from 1 to {most}$"
                with self.subTest(error), self.assertRaisesRegex(ps.UsageError, error):
                    ps.sweep(FIRST, AXES, **{name: number})

    def test_a_text_is_no_list(self):
        vary = {"/schedule/microbatches": [4, 8]}
        for arguments in (
            {"vary": {"/schedule/name": "gpipe"}},
            {"vary": {"/schedule/microbatches": 8}},
            {"vary": {("/schedule/name",): "gpipe"}},
            {"vary": vary, "where": "/schedule/microbatches>=8"},
            {"vary": vary, "results": "/ranks/0/idle_us"},
        ):
            with self.subTest(arguments), self.assertRaisesRegex(ps.UsageError, "a list is expected"):
                ps.sweep(FIRST, **arguments)
        with self.assertRaisesRegex(ps.UsageError, "^jobs is -1: "):
            ps.sweep(FIRST, vary, jobs=-1)

    def test_a_sweep_without_any_result_has_no_step_times(self):
        sweep = ps.sweep(stages(4, 8), {"/schedule/name": ["zb-v", "v-half"]})
        self.assertEqual((sweep.with_result, sweep["makespan_us"].tolist()), (0, [None, None]))

    def test_a_mapping_and_a_sweep_file_are_bases(self):
        sweep = ps.sweep(stages(4, 8), {"/schedule/microbatches": [4, 8]})
        self.assertEqual(sweep["makespan_us"].tolist(), [21, 33])
        path = os.path.join(scratch(self), "sweep.json")
        document = {"scenario": stages(4, 8), "vary": [{"/schedule/microbatches": [4, 8]}]}
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file)
        for base in (path, document):
            self.assertEqual(ps.sweep(base)["makespan_us"].tolist(), [21, 33])

    def test_a_configuration_that_cannot_run_has_no_values(self):
        sweep = ps.sweep(stages(4, 8), {"/schedule/name": ["1f1b", "zb-v"]})
        self.assertEqual((len(sweep), sweep.with_result), (2, 1))
        times = sweep["makespan_us"]
        self.assertEqual(times.tolist(), [33.0, None])
        self.assertTrue(math.isnan(memoryview(times)[1]))
        self.assertIn("1 without a result, the first because", repr(sweep))
        if pyarrow:
            arrow = sweep.to_arrow()
            arrow.validate(full=True)
            self.assertEqual(arrow["makespan_us"].to_pylist(), [33.0, None])
            self.assertEqual(arrow["makespan_us"].null_count, 1)
            self.assertEqual(arrow["finding_text"][0].as_py(), None)
        if pandas:
            self.assertEqual(sweep.to_pandas()["makespan_us"].isna().tolist(), [False, True])

    def test_wrong_pointers_and_nothing_to_vary(self):
        with self.assertRaises(ps.ScenarioError) as caught:
            ps.sweep(FIRST, {"/schedule/nam": ["1f1b"], "/model/stagez": [1]})
        self.assertEqual(caught.exception.file, FIRST)
        with self.assertRaisesRegex(ps.UsageError, "nothing varies"):
            ps.sweep(FIRST)


if __name__ == "__main__":
    unittest.main()
