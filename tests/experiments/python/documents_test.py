"""What is written about the package is true: examples, the page of its API, the notebook, its types."""

import ast
import doctest
import importlib
import inspect
import os
import pkgutil
import subprocess
import sys
import unittest

import notebook
import penstock as ps
from support import module_or_none

MODULES = [importlib.import_module(f"penstock.{one.name}") for one in pkgutil.iter_modules(ps.__path__)]


class Documents(unittest.TestCase):
    def test_examples_of_docstrings(self):
        tried = 0
        for module in [ps, *MODULES]:
            result = doctest.testmod(module, extraglobs={"ps": ps}, optionflags=doctest.ELLIPSIS)
            self.assertEqual(result.failed, 0, module.__name__)
            tried += result.attempted
        self.assertGreater(tried, 15)

    def test_the_page_is_that_of_the_docstrings(self):
        made = subprocess.run([sys.executable, "experiments/python/api_page"], capture_output=True, text=True, check=True)
        with open("experiments/guides/python.md", encoding="utf-8") as file:
            self.assertEqual(made.stdout, file.read(), "experiments/python/api_page --write makes it anew")

    def test_the_page_names_everything(self):
        with open("experiments/guides/python.md", encoding="utf-8") as file:
            page = file.read()
        for name in ps.__all__:
            if name not in ("__version__", "Rule"):
                self.assertIn(f"\n## ps.{name}", page)

    @unittest.skipUnless(module_or_none("pandas"), "pandas is not installed")
    def test_the_notebook_prints_what_it_shows(self):
        self.assertEqual(notebook.run("experiments/guides/python.ipynb"), [], "tests/experiments/python/notebook.py "
                         "experiments/guides/python.ipynb --write puts it there")  # fmt: skip


class Types(unittest.TestCase):
    def test_the_stub_names_what_the_module_has(self):
        folder = os.path.dirname(ps.__file__)
        self.assertTrue(os.path.exists(os.path.join(folder, "py.typed")))
        with open(os.path.join(folder, "_core.pyi"), encoding="utf-8") as file:
            stub = ast.parse(file.read())
        core = importlib.import_module("penstock._core")
        named = {}
        for node in stub.body:
            if isinstance(node, ast.ClassDef):
                named[node.name] = {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
            elif isinstance(node, ast.FunctionDef):
                named[node.name] = None
                self.assertIsNotNone(node.returns, node.name)
        for name, value in vars(core).items():
            if name.startswith("__") or not callable(value):
                continue
            self.assertIn(name, named)
            if inspect.isclass(value):
                members = {one for one in vars(value) if not one.startswith("_")}
                self.assertLessEqual(members, named[name], name)

    def test_everything_public_states_its_types(self):
        for name in ps.__all__:
            thing = getattr(ps, name)
            functions = [thing] if inspect.isfunction(thing) else []
            if inspect.isclass(thing) and thing.__module__ != "penstock._core":
                functions = [
                    one for own, one in vars(thing).items() if inspect.isfunction(one) and own[0] != "_"
                ]
            for function in functions:
                stated = set(function.__annotations__)
                wanted = set(inspect.signature(function).parameters) - {"self", "cls"} | {"return"}
                self.assertLessEqual(wanted, stated, f"{name}: {function.__name__}")

    @unittest.skipUnless(module_or_none("mypy"), "mypy is not installed")
    def test_mypy_has_nothing_to_say(self):
        checked = subprocess.run(
            [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", "--disable-error-code=import-untyped",
             "--cache-dir=/dev/null", os.path.dirname(ps.__file__)],
            capture_output=True, text=True)  # fmt: skip
        self.assertEqual(checked.returncode, 0, checked.stdout)


if __name__ == "__main__":
    unittest.main()
