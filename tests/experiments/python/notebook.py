#!/usr/bin/env python3
"""notebook.py NOTEBOOK [--write]: runs the cells of a notebook in its folder and compares what they print.

Needs no Jupyter: the value of a cell's last line is its result, as there. Pictures are only drawn, not compared.
--write puts the outputs into the notebook.
"""

import ast
import contextlib
import io
import json
import os
import sys

LEAST_SVG = "<svg"


def result_of(code, names):
    """Runs a cell; the value of its last expression, or None."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<cell>", "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)


def lines(text):
    return text.splitlines(keepends=True)


def outputs_of(cell, names, number):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        result = result_of("".join(cell["source"]), names)
    outputs = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": lines(printed.getvalue())})
    if result is not None:
        data = {"text/plain": lines(repr(result))}
        svg = getattr(result, "_repr_svg_", lambda: None)()
        if svg is not None:
            data["image/svg+xml"] = lines(svg)
        outputs.append(
            {"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"}
        )
    return outputs


def without_pictures(outputs):
    """What is compared: texts, and that there is a picture."""
    texts = []
    for output in outputs:
        data = dict(output.get("data", {}))
        if "image/svg+xml" in data:
            data["image/svg+xml"] = LEAST_SVG in "".join(data["image/svg+xml"])
        texts.append({"text": output.get("text"), "data": data})
    return texts


def run(path, write=False):
    """Differences, one text each."""
    with open(path, encoding="utf-8") as file:
        notebook = json.load(file)
    names, differences = {}, []
    folder = os.getcwd()
    os.chdir(os.path.dirname(os.path.abspath(path)))
    try:
        cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        for number, cell in enumerate(cells, 1):
            outputs = outputs_of(cell, names, number)
            if without_pictures(outputs) != without_pictures(cell["outputs"]):
                shown = json.dumps(without_pictures(outputs), ensure_ascii=False)
                differences.append(f"cell {number} now gives {shown}")
            cell["outputs"], cell["execution_count"] = outputs, number
    finally:
        os.chdir(folder)
    if write:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(notebook, file, indent=1, ensure_ascii=False)
            file.write("\n")
    return differences


if __name__ == "__main__":
    found = run(sys.argv[1], write=sys.argv[2:] == ["--write"])
    print("\n".join(found))
    sys.exit(1 if found and sys.argv[2:] != ["--write"] else 0)
