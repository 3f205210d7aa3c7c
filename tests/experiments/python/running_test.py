"""While it simulates: other threads run, Ctrl-C ends it, the process ends whole."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import unittest

import penstock as ps
from support import stages

LARGE = stages(16, 8192)  # 0.4 million actions
# Minutes of draws, if nothing ended them.
LONG = stages(16, 1024, chance={"seed": 1, "jitter": 0.1})


class Threads(unittest.TestCase):
    def test_the_lock_is_free_meanwhile(self):
        ticks, done = [], threading.Event()

        def tick():
            while not done.is_set():
                ticks.append(time.monotonic())
                time.sleep(0.001)

        thread = threading.Thread(target=tick)
        thread.start()
        begin = time.monotonic()
        ps.run(LARGE)
        end = time.monotonic()
        done.set()
        thread.join()
        gaps = [later - one for one, later in zip(ticks, ticks[1:]) if begin <= one and later <= end]
        self.assertGreater(len(gaps), 3)
        # With the lock held, one gap would be as long as the run.
        self.assertLess(max(gaps), 0.5 * (end - begin))

    def test_runs_in_threads_are_those_of_one(self):
        expected = ps.run(LARGE).to_dict()
        found = []
        threads = [threading.Thread(target=lambda: found.append(ps.run(LARGE).to_dict())) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [expected] * 4)


class Interrupts(unittest.TestCase):
    def interrupt_after(self, seconds):
        timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        self.addCleanup(timer.join)

    def test_ctrl_c_raises_at_once(self):
        sweep = {"/schedule/microbatches": range(1, 8192)}
        only = {"/parallel/pipeline": 8}
        model = {"hardware": "dgx-h100", "devices": 256, "only": only}
        for name, work in (
            ("run", lambda: ps.run(LONG, repeat=1_000_000)),
            ("sweep", lambda: ps.sweep(LARGE, sweep)),
            ("layout", lambda: ps.layout("experiments/models/llama-3.1-70b.json", **model)),
        ):
            with self.subTest(name):
                self.interrupt_after(0.1)
                begin = time.monotonic()
                with self.assertRaises(KeyboardInterrupt):
                    work()
                self.assertLess(time.monotonic() - begin, 1)

    def test_a_handler_that_does_not_raise_ends_nothing(self):
        seen = []
        before = signal.signal(signal.SIGUSR1, lambda *_: seen.append(time.monotonic()))
        self.addCleanup(signal.signal, signal.SIGUSR1, before)
        timer = threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGUSR1))
        timer.start()
        run = ps.run(LONG, repeat=200)
        end = time.monotonic()
        timer.join()
        self.assertTrue(run.finished)
        self.assertTrue(seen and seen[0] < end)

    def test_the_process_ends_whole_and_soon(self):
        script = f"""
            import penstock as ps
            print("ready", flush=True)
            ps.run({LONG!r}, repeat=1_000_000)
        """
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        process.stdout.readline()
        time.sleep(0.1)
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        self.assertLess(time.monotonic() - begin, 3)
        self.assertIn(process.returncode, (-signal.SIGINT, 130))
        self.assertTrue(errors.rstrip().endswith("KeyboardInterrupt"), errors)

    def test_signals_of_the_process_stay_as_they_were(self):
        names = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE)
        before = [signal.getsignal(one) for one in names]
        with open("/proc/self/status", encoding="ascii") as file:
            caught = [line for line in file if line.startswith("SigCgt")]
        ps.sweep(stages(2, 2), {"/schedule/microbatches": [1, 2]})
        with open("/proc/self/status", encoding="ascii") as file:
            self.assertEqual([line for line in file if line.startswith("SigCgt")], caught)
        self.assertEqual([signal.getsignal(one) for one in names], before)


if __name__ == "__main__":
    unittest.main()
