"""Orders: those of `penstock schedule`, orders and rules of one's own, PyTorch."""

import os
import sys
import types
import unittest
import warnings
from unittest import mock

import penstock as ps
from support import FIRST, module_or_none, program, stages


with open("experiments/scenarios/late_receives.csv", encoding="utf-8") as file:
    LATE = file.read()


@ps.rule
def gpipe(ranks, microbatches):
    """All forwards, then all backwards."""
    for r in range(ranks):
        yield [("F", r, m) for m in range(microbatches)] + [("B", r, m) for m in range(microbatches)]


@ps.rule(chunks=2)
def loops(ranks, chunks, microbatches):
    for r in range(ranks):
        mine = [r + ranks * c for c in range(chunks)]
        forwards = [f"{s}F{m}" for s in mine for m in range(microbatches)]
        yield forwards + [f"{s}B{m}" for s in reversed(mine) for m in range(microbatches)]


@ps.rule
def deadlock(ranks, microbatches):
    """Rank 1 wants microbatch 1 first, rank 0 has its B before it."""
    return [["0F0", "0B0", "0F1", "0B1"], ["1F1", "1B1", "1F0", "1B0"]]


class ByName(unittest.TestCase):
    def test_the_order_is_that_of_the_program(self):
        sizes = ["--ranks", "4", "--microbatches", "8"]
        for name in ("1f1b", "zb-v", "dualpipe", "interleaved-1f1b"):
            order = ps.schedule(name, ranks=4, microbatches=8)
            self.assertEqual(order.to_csv(), program("schedule", name, *sizes))
            self.assertEqual((order.ranks, order.microbatches, order.name), (4, 8, name))
        order = ps.schedule("zb-v", ranks=4, microbatches=8)
        self.assertEqual((order.stages, order.stages_of(1), order.chains), (8, [1, 6], [list(range(8))]))
        self.assertEqual(order.rows[0][:3], ["0F0", "0F1", "0F2"])

    def test_what_pytorch_cannot_train_is_warned_of_or_refused(self):
        for name in ("dualpipe", "chimera", "forward-only"):
            order = ps.schedule(name, ranks=2, microbatches=4)
            lowered = program("schedule", name, "--ranks", "2", "--microbatches", "4", "--comms")
            text = f"{name}: PyTorch 2.15 cannot train this order: "
            with self.assertWarnsRegex(UserWarning, text) as caught:
                self.assertEqual(order.to_csv(comms=True), lowered)
            self.assertEqual(caught.filename, __file__)
            with self.assertWarnsRegex(UserWarning, text) as caught:  # as the program does, of a plain one too
                order.to_csv()
            self.assertEqual(caught.filename, __file__)
            with self.assertRaisesRegex(ps.UsageError, text):
                order.to_csv(comms=True, torch="2.15")
        with self.assertRaisesRegex(ps.UsageError, "seq-1f1b: PyTorch 2.9 cannot train this order: the 2 slices"):
            ps.schedule("seq-1f1b", ranks=2, microbatches=4).to_csv(torch="2.9")

    def test_options_and_lowered_orders(self):
        order = ps.schedule("interleaved-1f1b", ranks=4, microbatches=8, chunks=3, group=8)
        flags = ["--ranks", "4", "--microbatches", "8", "--chunks", "3", "--set", "group=8"]
        for comms, fsdp in ((False, False), (True, False), (False, True)):
            asked = flags + ["--torch", "2.14"] + ["--comms"] * comms + ["--fsdp"] * fsdp
            self.assertEqual(order.to_csv(comms=comms, fsdp=fsdp, torch="2.14"),
                             program("schedule", "interleaved-1f1b", *asked))

    def test_wrong_names_and_sizes(self):
        for name, arguments in (
            ("zb", {"ranks": 4, "microbatches": 8}),
            ("1f1b", {"ranks": 4, "microbatches": 10**8}),
            ("1f1b", {"ranks": 4, "microbatches": 8, "chunks": 2}),
            ("1f1b", {"ranks": 4, "microbatches": 8, "group": 2}),
            ("dualpipe", {"ranks": 3, "microbatches": 8}),
            ("1f1b", {"ranks": 4.0, "microbatches": 8}),
        ):
            with self.subTest(name, **arguments), self.assertRaises(ps.UsageError):
                ps.schedule(name, **arguments)
        with self.assertRaisesRegex(ps.UsageError, "known: 2.9"):
            ps.schedule("1f1b", ranks=2, microbatches=2).to_csv(comms=True, torch="1.0")
        with self.assertRaisesRegex(ps.UsageError, "known: 2.9"):
            ps.schedule("1f1b", ranks=2, microbatches=2).to_csv(torch="9.9")
        for wrong in (2, -1):
            with self.assertRaises(ps.UsageError):
                ps.schedule("1f1b", ranks=2, microbatches=2).stages_of(wrong)
        with self.assertRaisesRegex(ps.UsageError, "row 0 is '0F0': a list is expected"):
            ps.Order.from_rows(["0F0"])
        for row, place in ((["0F0", None], "row 0, column 1: None"), ([("B", 1)], "row 0, column 0: 1"),
                           (["0F0,0B0\n1F0,1B0"], "row 0, column 0: '0F0,0B0")):  # fmt: skip
            with self.subTest(row), self.assertRaisesRegex(ps.UsageError, f"{place}.* is no action; expected"):
                ps.Order.from_rows([row])


class OfOnesOwn(unittest.TestCase):
    def test_a_number_outside_its_bounds_is_refused_with_them(self):
        sizes = {"ranks": 4, "microbatches": 8}
        for name, wrong, least, most in (
            ("ranks", -1, 1, 16_384),
            ("ranks", 0, 1, 16_384),
            ("microbatches", 0, 1, 16_777_216),
            ("chunks", 0, 1, 65_536 // 4),
        ):
            error = f"^{name} is {wrong}: it must be from {least} to {most}$"
            with self.subTest(error), self.assertRaisesRegex(ps.UsageError, error):
                ps.schedule("zb-h1", **{**sizes, name: wrong})
        with self.assertRaisesRegex(ps.UsageError, "^rank is 4: it must be from 0 to 3$"):
            ps.schedule("zb-h1", **sizes).stages_of(4)

    def test_a_rule_is_timed_like_the_one_of_the_program(self):
        own = ps.run(FIRST, schedule=gpipe)
        theirs = ps.run(FIRST, set={"/schedule/name": "gpipe"})
        self.assertEqual(own.title, theirs.title)
        differing = {"profile_rows", "layout"}  # a file order states no batch
        for key, value in theirs.to_dict().items():
            if key not in differing:
                self.assertEqual(own.to_dict()[key], value, key)

    def test_a_rule_has_the_sizes_of_the_scenario_or_those_given(self):
        scenario = stages(8, 6)
        scenario["hardware"]["devices"] = 4
        layout = ps.run(scenario, schedule=loops).to_dict()["layout"]
        self.assertEqual((layout["pipeline"], layout["chunks"], layout["microbatches"]), (4, 2, 6))
        order = loops(ranks=4, microbatches=6)
        self.assertEqual((order.ranks, order.stages, order.microbatches), (4, 8, 6))
        self.assertEqual((loops.name, gpipe.__doc__), ("loops", "All forwards, then all backwards."))

    def test_a_rule_that_deadlocks_is_a_finding(self):
        run = ps.run(stages(2, 2), schedule=deadlock)
        self.assertFalse(run.finished)
        self.assertEqual([finding.kind for finding in run.findings], ["deadlock"])

    def test_a_faulty_rule_says_where(self):
        @ps.rule
        def twice(ranks, microbatches):
            return [["0F0", "0F0", "0B0"]]

        with self.assertRaises(ps.ScenarioError) as caught:
            ps.run(stages(1, 1), schedule=twice)
        error = caught.exception
        self.assertEqual((error.file, error.pointer), ("twice", "row 0, column 1"))
        self.assertIn("0F0 occurs twice", error.message)

    def test_errors_of_the_function_are_its_own(self):
        @ps.rule
        def broken(ranks, microbatches):
            raise ZeroDivisionError

        with self.assertRaises(ZeroDivisionError):
            ps.run(stages(1, 1), schedule=broken)
        with self.assertRaises(ps.UsageError):
            ps.rule(lambda steps: [])

    def test_an_order_runs_and_overlap_cells_are_pairs(self):
        order = ps.Order.from_rows([[("F", 0, 0), (("F", 0, 1), ("B", 0, 0)), ("B", 0, 1)]])
        self.assertEqual(order.to_csv(), "0F0,(0F1;0B0)OVERLAP_F_B,0B1\n")
        self.assertEqual(ps.run(stages(1, 2), schedule=order).step_time.us, 6)
        self.assertEqual(ps.Order.from_csv(order.to_csv()), order)

    def test_rows_are_the_cells_of_the_order(self):
        for order in (ps.schedule("dualpipev", ranks=4, microbatches=8), ps.Order.from_csv(LATE)):
            self.assertEqual(ps.Order.from_rows(order.rows), order)
        parts = ps.Order.from_csv("0F0,0F1,0B0,0B1\n")
        joined = ps.Order.from_csv("0F0,(0F1;0B0)OVERLAP_F_B,0B1\n")
        self.assertEqual(joined.rows, [["0F0", "(0F1;0B0)OVERLAP_F_B", "0B1"]])
        self.assertNotEqual(joined, parts)

    def test_communication_of_an_order_runs_as_written(self):
        order = ps.Order.from_csv(LATE)
        self.assertEqual(order.to_csv(), LATE)
        late = "experiments/scenarios/late_receives.json"
        self.assertEqual(ps.run(late, schedule=order).step_time, ps.run(late).step_time)

    def test_an_order_with_a_gather_of_no_use_runs(self):
        order = ps.Order.from_csv("0UNSHARD,0F0,0B0,0RESHARD,0UNSHARD,0RESHARD\n")
        self.assertEqual(ps.run(stages(1, 1), schedule=order).step_time.us, 3)  # F 1, B 2

    def test_an_order_runs_in_its_own_chain(self):
        straight = "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n"
        turned = "0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n"
        for csv, chain, finished in ((straight, [0, 1], True), (straight, [1, 0], False), (turned, [1, 0], True)):
            order = ps.Order.from_csv(csv, chains=[chain])
            self.assertEqual(ps.run(stages(2, 2), schedule=order).finished, finished, (csv, chain))

    def test_what_an_order_loses_without_its_rule_is_warned_of(self):
        for name, what in (("seq-1f1b", "2 slices"), ("pipedream", "weights"), ("pipedream-2bw", "weights"),
                           ("bpipe", "left out")):  # fmt: skip
            order = ps.schedule(name, ranks=4, microbatches=8)
            for lose in (order.to_csv, lambda order=order: ps.run(stages(4, 8), schedule=order)):
                with self.assertWarnsRegex(UserWarning, f"{name}: .*{what}") as caught:
                    lose()
                self.assertEqual(caught.filename, __file__)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ps.run(stages(4, 8), schedule=ps.schedule("1f1b", ranks=4, microbatches=8))

    def test_both_copies_of_a_model_run(self):
        order = ps.schedule("dualpipe", ranks=4, microbatches=8)
        of_order = ps.run(stages(4, 8), schedule=order)
        self.assertEqual(of_order.step_time, ps.run(stages(4, 8), schedule="dualpipe").step_time)

    def test_an_order_of_other_sizes_is_refused(self):
        with self.assertRaises(ps.ScenarioError):
            ps.run(FIRST, schedule=ps.schedule("1f1b", ranks=2, microbatches=2))


class Stage:
    """What of PyTorch's PipelineStage an order looks at."""

    def __init__(self, index, rank, ranks, stages):
        self.stage_index, self.num_stages = index, stages
        self.group_rank, self.group_size = rank, ranks


class Torch(unittest.TestCase):
    def loaded(self, order, stages_of_rank, rank=0, release="2.15.0+cpu", ranks=None, count=None, **options):
        """The calls that PyTorch gets."""
        group = rank, ranks or order.ranks, count or order.stages
        calls = []

        class Runtime:
            def __init__(self, given, microbatches, **more):
                calls.append(([stage.stage_index for stage in given], microbatches, more))

            def _load_csv(self, path, **format):
                with open(path, encoding="utf-8", newline="") as file:
                    calls.extend([file.read(), *format.values()])

        module = types.ModuleType("schedules")
        module._PipelineScheduleRuntime, module.__version__ = Runtime, release
        name = "torch.distributed.pipelining.schedules"
        names = [name.rsplit(".", i)[0] for i in range(4)]
        with mock.patch.dict(sys.modules, {one: module for one in names}):
            given = [Stage(i, *group) for i in stages_of_rank]
            self.assertIsInstance(order.to_torch(given, **options), Runtime)
        return calls

    def test_the_runtime_gets_stages_microbatches_and_order(self):
        order = ps.schedule("zb-v", ranks=4, microbatches=8)
        for given in ([1, 6], [6, 1]):  # PyTorch wants them ascending
            calls = self.loaded(order, given, rank=1, loss_fn=len, scale_grads=False)
            self.assertEqual(calls, [([1, 6], 8, {"loss_fn": len, "scale_grads": False}), order.to_csv()])

    def test_what_pytorch_cannot_train(self):
        order = ps.schedule("zb-v", ranks=4, microbatches=8)
        for wrong, why in (
            ({"stages_of_rank": [1, 5], "rank": 1}, r"rank 1 holds the stages \[1, 6\], and \[1, 5\] are given"),
            ({"stages_of_rank": [1, 6], "rank": 0}, r"rank 0 holds the stages \[0, 7\], and \[1, 6\] are given"),
            ({"stages_of_rank": []}, "stages is empty"),
            ({"stages_of_rank": [0, 7], "ranks": 2}, "it has 4 ranks, the group of the stages 2"),
            ({"stages_of_rank": [0, 7], "count": 9}, "it has 8 stages, and PipelineStage has num_stages=9"),
            ({"stages_of_rank": [0, 7], "loss_fn": 3}, "loss_fn is 3: expected a function or None"),
        ):
            with self.subTest(wrong), self.assertRaisesRegex(ps.UsageError, why):
                self.loaded(order, **wrong)
        for wrong in (3, None):
            with self.subTest(wrong), self.assertRaisesRegex(ps.UsageError, f"stages has {wrong}: expected stages of"):
                order.to_torch([wrong])
        with self.assertRaisesRegex(ps.UsageError, "PyTorch 2.15.0.cpu cannot train .* one chain of stages"):
            self.loaded(ps.schedule("dualpipe", ranks=4, microbatches=8), [0, 7])

    def test_slices_of_a_sequence_are_microbatches_there(self):
        order = ps.schedule("seq-1f1b", ranks=2, microbatches=4)
        with self.assertWarnsRegex(UserWarning, "seq-1f1b") as caught:
            calls = self.loaded(order, [0])
        self.assertEqual((calls[0][1], order.microbatches), (8, 4))
        self.assertEqual(caught.filename, __file__)

    def test_a_lowered_order_loads_in_its_release(self):
        csv = ps.schedule("1f1b", ranks=2, microbatches=2).to_csv(comms=True, torch="2.14")
        order = ps.Order.from_csv(csv)
        self.assertEqual(self.loaded(order, [0], release="2.14.1")[1:], [csv, "compute_comms"])
        for release, why in (("2.15.0+cpu", "there each SEND and"), ("2.9.1", "REDUCE_GRAD has cells from 2.14")):
            text = f"PyTorch {release.replace('+', '.')} cannot train this order: {why}.*; to_csv"
            with self.subTest(release), self.assertRaisesRegex(ps.UsageError, text):
                self.loaded(order, [0], release=release)

    def test_an_order_that_may_not_train_as_meant_loads_with_a_warning(self):
        undivided = "0UNSHARD,0F0,0B0,0RESHARD\n"
        unused = "0UNSHARD,0F0,0B0,0REDUCE_GRAD,0WAIT_REDUCE_GRAD,0RESHARD,0UNSHARD\n"
        for csv, release, why in (
            (undivided, "2.15.0", "without REDUCE_GRAD, 2.14 and later do not divide"),
            (undivided, "2.10.0", "2.10.0: no lowering is known for this release"),
            (unused, "2.16.0", "2.16.0: no lowering is known for this release"),
            (unused, "2.15.0", "PyTorch stops with FSDP stages: 0UNSHARD in row 0, column 6"),
        ):
            with self.subTest(why), self.assertWarnsRegex(UserWarning, f"order: {why}") as caught:
                calls = self.loaded(ps.Order.from_csv(csv), [0], release=release)
            self.assertEqual((calls[1], caught.filename), (csv, __file__))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.loaded(ps.Order.from_csv(undivided), [0], release="2.9.1")

    def test_pytorch_gets_communication_as_written(self):
        self.assertEqual(self.loaded(ps.Order.from_csv(LATE), [0])[1:], [LATE, "compute_comms"])

    @unittest.skipUnless(module_or_none("torch"), "PyTorch is not installed")
    def test_pytorch_trains_it(self):
        import torch
        from torch.distributed.pipelining import PipelineStage

        os.environ.update(MASTER_ADDR="localhost", MASTER_PORT="0")
        torch.distributed.init_process_group("gloo", rank=0, world_size=1, store=torch.distributed.HashStore())
        self.addCleanup(torch.distributed.destroy_process_group)
        order = ps.schedule("interleaved-1f1b", ranks=1, microbatches=4, chunks=2)
        parts = [torch.nn.Linear(8, 8) for _ in range(2)]
        made = [PipelineStage(part, i, 2, torch.device("cpu")) for i, part in enumerate(parts)]
        runtime = order.to_torch(made, loss_fn=torch.nn.functional.mse_loss)
        x, y = torch.randn(2, 8, 8)
        runtime.step(x, target=y)
        expected = [torch.nn.Linear(8, 8) for _ in range(2)]
        for one, other in zip(expected, parts):
            one.load_state_dict(other.state_dict())
        torch.nn.functional.mse_loss(expected[1](expected[0](x)), y).backward()
        for one, other in zip(expected, parts):
            torch.testing.assert_close(one.weight.grad, other.weight.grad)


if __name__ == "__main__":
    unittest.main()
