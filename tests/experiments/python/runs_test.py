"""Runs: the numbers of `penstock run --json`, their units, errors and findings."""

import array
import decimal
import json
import os
import pathlib
import pickle
import subprocess
import sys
import unittest
import unittest.mock

import penstock as ps
from support import APART, FIRST, LLAMA, program, program_json, scratch, stages


class Numbers(unittest.TestCase):
    def test_a_run_is_the_document_of_the_program(self):
        for path in (FIRST, LLAMA):
            with self.subTest(path):
                self.assertEqual(ps.run(path).to_dict(), program_json("run", path))

    def test_set_is_that_of_the_command_line(self):
        settings = {"/schedule/name": "zb-h1", "/schedule/microbatches": 12, "/hardware/latency_us": 7.5}
        flags = [f"--set={pointer}={value}" for pointer, value in settings.items()]
        self.assertEqual(ps.run(FIRST, set=settings).to_dict(), program_json("run", FIRST, *flags))

    def test_the_report_is_that_of_the_program(self):
        self.assertEqual(str(ps.run(LLAMA)), program("run", LLAMA))
        self.assertEqual(ps.run(LLAMA).report(all=True), program("run", LLAMA, "--all"))

    def test_files_that_come_with_penstock_are_found_by_name(self):
        here = os.getcwd()
        data = os.path.abspath("experiments")
        os.chdir(scratch(self))
        self.addCleanup(os.chdir, here)
        with unittest.mock.patch.dict(os.environ, PENSTOCK_DATA=data):
            run = ps.run("first_run.json")
            self.assertEqual(run.step_time, ps.run(os.path.join(data, "scenarios", "first_run.json")).step_time)
            swept = ps.sweep("first_run.json", {"/schedule/microbatches": [8]})
            self.assertEqual(swept["makespan_us"].tolist(), [run.step_time.us])
            self.assertTrue(ps.layout("llama-3.1-8b.json", hardware="dgx-h100", devices=4, budget_s=1))

    def test_an_installed_package_finds_them_too(self):
        root = scratch(self)
        packages = os.path.join(root, "lib", "python3", "dist-packages")
        os.makedirs(packages)
        os.makedirs(os.path.join(root, "share"))
        os.symlink(os.path.dirname(os.path.abspath(ps.__file__)), os.path.join(packages, "penstock"))
        os.symlink(os.path.abspath("experiments"), os.path.join(root, "share", "penstock"))
        elsewhere = {name: value for name, value in os.environ.items() if name != "PENSTOCK_DATA"}
        printed = subprocess.run(
            [sys.executable, "-c", "import penstock as ps; print(ps.run('first_run.json').step_time)"],
            cwd=root, env=elsewhere | {"PYTHONPATH": packages}, capture_output=True, text=True)  # fmt: skip
        self.assertEqual(printed.stdout, f"{ps.run(FIRST).step_time}\n", printed.stderr)

    def test_work_that_needs_more_memory_than_the_limit_is_refused(self):
        self.addCleanup(ps.set_max_memory)
        self.assertEqual(ps.set_max_memory(1e9), 10**9)
        with self.assertRaisesRegex(MemoryError, "more than 1 GB.*or give more penstock.set_max_memory"):
            ps.run(FIRST, set={"/schedule/microbatches": 4_000_000})
        for wrong in (0, -1, 1e19):
            self.assertRaises(ps.UsageError, ps.set_max_memory, wrong)
        self.assertGreater(ps.set_max_memory(), 10**7)
        ps.run(FIRST)

    def test_a_mapping_is_a_scenario(self):
        run = ps.run(stages(4, 8))
        # (p - 1 + m) (f + b), with p = 4, m = 8, f + b = 3 us
        self.assertEqual(run.step_time.ps, 33_000_000)
        self.assertAlmostEqual(run.bubble.of_step, 3 / 11)
        self.assertEqual(run.title, "1f1b, 4 ranks, 8 microbatches")

    def test_attributes_are_the_numbers_of_the_document(self):
        run = ps.run(LLAMA, schedule="zb-h1")
        document = run.to_dict()
        self.assertEqual(run.step_time.us, document["makespan_us"])
        self.assertEqual(run.bubble.of_step, document["bubble"]["of_makespan"])
        self.assertEqual(run.bubble.over_ideal, document["bubble"]["over_ideal"])
        self.assertEqual(run.bubble.of_longest_span, document["bubble"]["of_longest_span"])
        peaks = [rank["peak_memory_bytes"] for rank in document["ranks"]]
        self.assertEqual(run.memory.ranks, peaks)
        self.assertEqual((run.memory.peak, run.memory.rank), (max(peaks), peaks.index(max(peaks))))
        self.assertNotEqual(run.memory.rank, 0)
        self.assertEqual(run.memory.peak, sum(run.memory.by_kind.values()))
        self.assertEqual(run.memory.capacity, document["memory"]["capacity_bytes"])
        self.assertEqual(run.memory.fits, document["memory"]["word"])
        self.assertEqual(vars(run.throughput), document["throughput"])
        self.assertEqual((run.ranks, run.notes), (document["ranks"], document["notes"]))

    def test_draws_and_a_whole_training_are_asked_as_on_the_command_line(self):
        jitter = {"/chance": {"seed": 3, "jitter": 0.1}}
        of_program = program_json("run", FIRST, '--set=/chance={"seed": 3, "jitter": 0.1}', "--repeat", "20")
        self.assertEqual(ps.run(FIRST, set=jitter, repeat=20).to_dict(), of_program)
        trained = ps.run(LLAMA, tokens=1e12, price_per_device_hour=2).to_dict()
        self.assertEqual(trained, program_json("run", LLAMA, "--tokens", "1e12", "--price", "2"))

    def test_a_schedule_by_name_leaves_the_options_of_the_other_behind(self):
        base = stages(4, 8, schedule={"name": "gpipe", "microbatches": 8, "backward_order": "descending"})
        self.assertEqual(ps.run(base, schedule="1f1b").to_dict(), ps.run(stages(4, 8)).to_dict())

    def test_another_order_runs_as_the_scenario_states(self):
        apart = ps.run(APART)
        name, sizes = apart.to_dict()["schedule"], apart.to_dict()["layout"]
        order = ps.schedule(name, ranks=sizes["pipeline"], microbatches=sizes["microbatches"])
        self.assertEqual(ps.run(APART, schedule=name).step_time, apart.step_time)
        self.assertEqual(ps.run(APART, schedule=order).step_time, apart.step_time)
        placed = {"/partition/ranks": [[3], [2], [1], [0]]}
        self.assertEqual(ps.run(FIRST, set=placed, schedule=ps.schedule("1f1b", ranks=4, microbatches=8)).step_time,
                         ps.run(FIRST).step_time)  # fmt: skip

    def test_a_schedule_needs_none_before_it(self):
        expected = ps.run(stages(2, 4)).step_time
        base = stages(2, 4)
        del base["schedule"]
        order = ps.schedule("1f1b", ranks=2, microbatches=4)
        count = {"/schedule/microbatches": 4}
        self.assertEqual(ps.run(base, schedule=order).step_time, expected)
        self.assertEqual(ps.run(base, set=count, schedule="1f1b").step_time, expected)
        gpipe = ps.rule(lambda ranks, microbatches: (
            [(kind, rank, m) for kind in "FB" for m in range(microbatches)] for rank in range(ranks)))  # fmt: skip
        self.assertEqual(ps.run(base, set=count, schedule=gpipe).step_time, expected)
        for wrong in ([], {**base, "schedule": 5}, {**base, "partition": 5}):
            path = os.path.join(scratch(self), "wrong.json")
            with open(path, "w") as file:
                json.dump(wrong, file)
            with self.subTest(wrong), self.assertRaises(ps.ScenarioError):
                ps.run(path, schedule=order)

    def test_paths_and_arrays_are_values(self):
        order = pathlib.Path(scratch(self)) / "order.csv"
        order.write_text(program("schedule", "1f1b", "--ranks", "4", "--microbatches", "8"))
        of_file = {"file": order}
        expected = ps.run(FIRST).step_time
        self.assertEqual(ps.run(FIRST, set={"/schedule": of_file}).step_time, expected)
        self.assertEqual(ps.run(stages(4, 8, schedule=of_file)).step_time, ps.run(stages(4, 8)).step_time)
        factors = array.array("d", [2.0])  # numpy's have `tolist` too
        self.assertEqual(ps.run(FIRST, set={"/chance/samples": factors}).step_time,
                         ps.run(FIRST, set={"/chance/samples": [2]}).step_time)  # fmt: skip
        for wrong in (object(), {1j: 1}, float("nan"), {1, 2}):
            with self.subTest(wrong), self.assertRaises(ps.UsageError):
                ps.run(FIRST, set={"/chance/samples": wrong})

    def test_both_engines_agree(self):
        runs = [ps.run(FIRST, engine=engine).to_dict() for engine in ("auto", "relax", "events")]
        self.assertEqual(runs[0], runs[1])
        self.assertEqual(runs[0], runs[2])


class Units(unittest.TestCase):
    def test_a_time_prints_with_its_unit_and_counts_in_seconds(self):
        time = ps.Seconds(31_050_000_000)
        self.assertEqual((str(time), repr(time)), ("31.05 ms", "Seconds(0.03105)"))
        self.assertEqual((time * 2, time.us, time.ms), (0.0621, 31050.0, 31.05))
        self.assertEqual(str(ps.Seconds(0)), "0 ps")
        self.assertRaises(TypeError, ps.Seconds, 1.5)
        copied = pickle.loads(pickle.dumps(time))
        self.assertEqual((copied, copied.ps), (time, time.ps))

    def test_bytes_print_with_their_unit_and_count_in_bytes(self):
        size = ps.Bytes(3 * 2**29)
        self.assertEqual((str(size), size + 1, size.gib), ("1.5 GiB", 3 * 2**29 + 1, 1.5))
        self.assertEqual(str(ps.Bytes(12)), "12 B")


class Findings(unittest.TestCase):
    def test_out_of_memory_is_a_finding_of_a_finished_run(self):
        path = "tests/scenarios/findings/a_byte_too_few.json"
        run = ps.run(path)
        self.assertEqual(run.to_dict(), program_json("run", path, code=1))
        self.assertTrue(run.finished)
        self.assertIn("out_of_memory", [finding.kind for finding in run.findings])

    def test_a_deadlock_is_a_finding_of_a_run_without_numbers(self):
        path = "tests/scenarios/findings/an_order_that_deadlocks_has_no_makespan.json"
        run = ps.run(path)
        self.assertEqual(run.to_dict(), program_json("run", path, code=1))
        self.assertFalse(run.finished)
        self.assertEqual([finding.kind for finding in run.findings][:1], ["deadlock"])
        self.assertIsNone(run._repr_svg_())
        for name in ("step_time", "bubble", "memory", "timeline", "throughput", "ranks"):
            with self.subTest(name), self.assertRaisesRegex(ps.UnfinishedError, "did not finish"):
                getattr(run, name)

    def test_an_expectation_that_is_not_met_is_a_finding(self):
        run = ps.run(stages(2, 2, expect={"makespan_us": 1}))
        self.assertEqual([finding.kind for finding in run.findings], ["expectation"])


class Errors(unittest.TestCase):
    def test_a_wrong_scenario_says_where(self):
        with self.assertRaises(ps.ScenarioError) as caught:
            ps.run(FIRST, set={"/schedule/name": "zb"})
        error = caught.exception
        self.assertEqual((error.file, error.pointer), (FIRST, "/schedule/name"))
        self.assertTrue(error.message.startswith('unknown name "zb"; known: '))
        self.assertEqual(str(error), f"{FIRST}: /schedule/name: {error.message}")
        copied = pickle.loads(pickle.dumps(error))
        self.assertEqual((str(copied), vars(copied)), (str(error), vars(error)))

    def test_a_wrong_mapping_is_called_scenario(self):
        with self.assertRaises(ps.ScenarioError) as caught:
            ps.run({"penstock": 1, "model": {"stages": [{"forward_us": -1}]}})
        self.assertEqual((caught.exception.file, caught.exception.pointer),
                         ("scenario", "/model/stages/0/forward_us"))

    def test_a_missing_file_is_named(self):
        with self.assertRaises(ps.ScenarioError) as caught:
            ps.run("none.json")
        self.assertEqual((caught.exception.file, caught.exception.pointer), ("none.json", ""))

    def test_wrong_arguments_are_errors_of_use(self):
        for arguments in (
            {"set": {"schedule/name": "1f1b"}},
            {"engine": "fast"},
            {"repeat": 10_000_000},
            {"tokens": -1},
            {"price_per_device_hour": 2},
            {"set": ["/schedule/name=1f1b"]},
        ):
            with self.subTest(arguments), self.assertRaises(ps.UsageError):
                ps.run(FIRST, **arguments)
        for name, wrong in (
            ("repeat", -1),
            ("repeat", 1.5),
            ("tokens", "15T"),
            ("schedule", lambda ranks, microbatches: []),
        ):
            with self.subTest(name), self.assertRaisesRegex(ps.UsageError, f"^{name} is "):
                ps.run(FIRST, **{name: wrong})
        for wrong in (5, None, [1]):
            with self.subTest(wrong), self.assertRaisesRegex(ps.UsageError, "expected a path"):
                ps.run(wrong)
        self.assertEqual(ps.run(os.fsencode(FIRST)).step_time, ps.run(FIRST).step_time)

    def test_an_argument_of_another_type_is_named_with_what_is_expected(self):
        run, order = ps.run(FIRST), ps.schedule("1f1b", ranks=2, microbatches=2)
        vary = {"/schedule/microbatches": [4]}
        model = {"model": "m.json", "hardware": "dgx-h100", "devices": 8}
        for call, arguments, text in (
            (ps.run, {"scenario": FIRST, "engine": 3}, "engine is 3: expected auto, relax or events"),
            (ps.run, {"scenario": FIRST, "allow_stale": 1}, "allow_stale is 1: expected True or False"),
            (ps.run, {"scenario": FIRST, "tokens": float("inf")}, "tokens is inf: expected a finite number"),
            (ps.schedule, {"name": 3, "ranks": 2, "microbatches": 2}, "name is 3: expected a text"),
            (ps.rule, {"make": 3}, "make is 3: expected a function or None"),
            (ps.Order.from_csv, {"text": b"0F0"}, "text is b'0F0': expected a text"),
            (order.to_csv, {"torch": 2.15}, "torch is 2.15: expected a text or None"),
            (run.svg, {"width": "3"}, "width is '3': expected a finite number"),
            (run.svg, {"title": 3}, "title is 3: expected a text"),
            (run.report, {"all": 1}, "all is 1: expected True or False"),
            (ps.sweep, {"base": FIRST, "vary": vary, "where": [3]}, "where has 3: a list of texts"),
            (ps.sweep, {"base": FIRST, "vary": vary, "results": [1]}, "results has 1: a list of texts"),
            (ps.sweep, {"base": FIRST, "vary": vary, "method": "x"}, "method is 'x': expected sobol or random"),
            (ps.layout, {**model, "framework": None}, "framework is None: expected any, megatron"),
            (ps.layout, {**model, "lossy": 1}, "lossy is 1: expected True or False"),
            (ps.set_max_memory, {"bytes": "1e9"}, "bytes is '1e9': expected a finite number"),
            (ps.set_max_memory, {"bytes": True}, "bytes is True: expected a finite number"),
            (ps.run, {"scenario": FIRST, "repeat": True}, "repeat is True: expected a whole number"),
            (ps.rule, {"chunks": 1.5}, "chunks is 1.5: expected a whole number"),
        ):
            with self.subTest(text), self.assertRaisesRegex(ps.UsageError, f"^{text}"):
                call(**arguments)
        with self.assertRaisesRegex(TypeError, "missing 1 required"):
            ps.schedule("1f1b", ranks=2)

    def test_a_text_that_has_no_utf_8_is_named(self):
        half = "\ud800"
        order, vary = ps.schedule("1f1b", ranks=2, microbatches=2), {"/schedule/microbatches": [4]}
        for call, arguments, name in (
            (ps.schedule, {"name": half, "ranks": 2, "microbatches": 2}, "name"),
            (ps.schedule, {"name": "1f1b", "ranks": 2, "microbatches": 2, half: 1}, "a key of options"),
            (ps.Order.from_csv, {"text": half}, "text"),
            (order.to_csv, {"torch": half}, "torch"),
            (ps.run, {"scenario": half}, "scenario"),
            (ps.run, {"scenario": FIRST, "set": {half: 1}}, "a key of set"),
            (ps.run(FIRST).svg, {"title": half}, "title"),
            (ps.sweep, {"base": FIRST, "vary": vary, "where": [half]}, "a text of where"),
        ):
            with self.subTest(name), self.assertRaises(ps.UsageError) as caught:
                call(**arguments)
            self.assertEqual(str(caught.exception), rf"{name} is '\ud800': UTF-8 has no '\ud800'")

    def test_a_text_with_nul_is_whole_in_an_error(self):
        with self.assertRaises(ps.ScenarioError) as caught:
            ps.run(FIRST, set={"/schedule/name": "a\0b"})
        self.assertIn('unknown name "a\\u0000b"; known: ', str(caught.exception))

    def test_a_scenario_that_contains_itself_is_refused(self):
        base = stages(2, 4)
        base["model"]["within"] = base
        with self.assertRaisesRegex(ps.UsageError, "^scenario: it contains itself"):
            ps.run(base)

    def test_a_value_that_json_lacks_is_named_by_its_pointer(self):
        for wrong, why in ((float("nan"), "nan is not finite"), (decimal.Decimal(1), "got Decimal")):
            base = stages(2, 4)
            base["model"]["stages"][1] = {**base["model"]["stages"][1], "forward_us": wrong}
            expected = f"^scenario: /model/stages/1/forward_us: .*{why}"
            with self.subTest(wrong), self.assertRaisesRegex(ps.UsageError, expected):
                ps.run(base)
        with self.assertRaisesRegex(ps.UsageError, "^set: /chance/samples: /1: nan is not finite"):
            ps.run(FIRST, set={"/chance/samples": [1, float("nan")]})

    def test_all_errors_have_one_base(self):
        for kind in (ps.ScenarioError, ps.UsageError, ps.UnfinishedError):
            self.assertTrue(issubclass(kind, ps.Error))


class Pictures(unittest.TestCase):
    def test_a_notebook_draws_what_the_program_draws(self):
        run = ps.run(FIRST)
        self.assertEqual(run._repr_svg_(), program("run", FIRST, "--svg", "-"))
        self.assertNotEqual(run.svg(theme="dark", width=400), run.svg())
        with self.assertRaises(ps.UsageError):
            run.svg(width=1)
        with self.assertRaisesRegex(ps.UsageError, "expected light or dark"):
            run.svg(theme="x")


if __name__ == "__main__":
    unittest.main()
