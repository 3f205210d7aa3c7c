"""Layouts: those of `penstock layout`, and what starts them."""

import os
import unittest
import warnings

import penstock as ps
from support import program, program_json, scratch

MODEL = "experiments/models/llama-3.1-8b.json"
MACHINE = {"hardware": "dgx-h100", "devices": 8}
FLAGS = [MODEL, "--hardware", "dgx-h100", "--devices", "8"]
ONLY = {"/parallel/pipeline": [2, 4], "/parallel/tensor": 2, "/schedule/name": ["1f1b", "zb-h1"]}
ONLY_FLAGS = [
    "--only", "/parallel/pipeline=2,4", "--only", "/parallel/tensor=2", "--only", "/schedule/name=1f1b,zb-h1",
]  # fmt: skip


class Layouts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.found = ps.layout(MODEL, **MACHINE, only=ONLY)

    def test_they_are_those_of_the_program(self):
        self.assertEqual(self.found.to_dict(), program_json("layout", *FLAGS, *ONLY_FLAGS))
        self.assertEqual(str(self.found), program("layout", *FLAGS, *ONLY_FLAGS))

    def test_a_layout_is_a_row_and_runs(self):
        rows = self.found.to_dict()["layouts"]
        self.assertEqual(len(self.found), len(rows))
        for layout, row in zip(self.found, rows):
            self.assertEqual(layout.run().step_time, layout.step_time)
            self.assertEqual(layout.step_time.us, row["makespan_us"])
        self.assertIn("tensor 2, pipeline", self.found[-1].title)
        self.assertEqual([one.title for one in self.found[:2]], [one.title for one in list(self.found)[:2]])
        with self.assertRaises(IndexError):
            self.found[len(self.found)]

    def test_options_are_those_of_the_command_line(self):
        found = ps.layout(
            MODEL,
            **MACHINE,
            framework="megatron",
            sequence=2048,
            microbatch=2,
            global_batch=32,
            set={"/overheads/launch_us": 3},
            only={"/parallel/tensor": 2},
            partitions=["even"],
            best=3,
            headroom=0.2,
            jobs=1,
        )
        self.assertEqual(found.to_dict() | {"framework": None},
                         program_json("layout", *FLAGS, "--for", "megatron", "--sequence", "2048",
                                      "--microbatch", "2", "--global-batch", "32", "--set",
                                      "/overheads/launch_us=3", "--only", "/parallel/tensor=2",
                                      "--partitions", "even", "--best", "3", "--headroom", "0.2")
                         | {"framework": None})  # fmt: skip

    def test_what_starts_it_is_what_the_program_writes(self):
        folder = os.path.join(scratch(self), "layouts")
        flags = [*FLAGS, "--for", "megatron", "--only", "/schedule/name=1f1b", "--best", "2", "-o", folder]
        program("layout", *flags)
        found = ps.layout(MODEL, **MACHINE, framework="megatron", only={"/schedule/name": "1f1b"}, best=2)
        with open(os.path.join(folder, "layout_1.sh"), encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(found[0].to_megatron(), text.replace("layout_1", "layout"))
        self.assertEqual(list(found[0].launch("megatron", name="one")), ["one.sh", "one.yaml"])

    def test_each_framework(self):
        for name, key in (("torchtitan", None), ("deepspeed", "train_micro_batch_size_per_gpu")):
            best = ps.layout(MODEL, **MACHINE, framework=name, best=1)[0]
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                made = best.to_deepspeed() if key else best.to_torchtitan()
            self.assertIn(key or "torchrun", made)

    def test_a_layout_that_a_framework_does_not_run_is_warned_of(self):
        best = ps.layout(MODEL, **MACHINE, only={"/schedule/name": "zb-h1", "/parallel/pipeline": 4}, best=1)[0]
        with self.assertWarnsRegex(UserWarning, "megatron does not run this layout: "):
            best.to_megatron()
        with self.assertRaisesRegex(ps.UsageError, "expected megatron, torchtitan or deepspeed"):
            best.launch("jax")

    def test_what_a_file_cannot_state_is_warned_of(self):
        settings = {"/memory/precision": "fp32"}
        best = ps.layout(MODEL, **MACHINE, framework="deepspeed", set=settings, best=1)[0]
        with self.assertWarnsRegex(UserWarning, "not in layout.deepspeed.json: /memory/precision"):
            best.to_deepspeed()

    def test_no_layout_fits(self):
        found = ps.layout("experiments/models/deepseek-v3.json", hardware="dgx-h100", devices=8)
        self.assertEqual((len(found), list(found)), (0, []))

    def test_wrong_arguments(self):
        for arguments in (
            {"hardware": "dgx-h1000"},
            {"devices": 0},
            {"devices": 10**6},
            {"sequence": 0},
            {"microbatch": 0},
            {"global_batch": 0},
            {"best": 0},
            {"best": 10_001},
            {"jobs": 0},
            {"jobs": 1025},
            {"framework": "jax"},
            {"only": {"/schedule/nam": 1}},
            {"partitions": ["evn"]},
            {"partitions": "even"},
            {"devices": -1},
            {"only": ["/schedule/name"]},
            {"headroom": 2},
            {"budget_s": 0},
        ):
            with self.subTest(arguments), self.assertRaises(ps.UsageError):
                ps.layout(MODEL, **(MACHINE | arguments))
        with self.assertRaisesRegex(ps.ScenarioError, "is relative to the working folder"):
            ps.layout("none.json", **MACHINE)


if __name__ == "__main__":
    unittest.main()
