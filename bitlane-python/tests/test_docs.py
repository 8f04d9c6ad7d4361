"""Every example of the documentation is run, and the stubs say what there is."""

import ast
import doctest
import inspect
import pathlib

import pytest

import bitlane as bl
import bitlane.dask

HERE = pathlib.Path(__file__).parent
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def checked(text, name):
    """Run the examples of a text, and return how many there are."""
    test = doctest.DocTestParser().get_doctest(text, {"__name__": "__main__"}, name, None, 0)
    runner, report = doctest.DocTestRunner(optionflags=OPTIONS, verbose=False), []
    failures, count = runner.run(test, out=report.append)
    assert not failures, "".join(report)
    return count


def public():
    for module in (bl, bitlane.dask):
        yield module.__name__, module
        for name in getattr(module, "__all__", vars(module)):
            value = getattr(module, name)
            if not name.startswith("_") and callable(value):
                yield f"{module.__name__}.{name}", value
    for name, value in vars(bl.Array).items():
        if not name.startswith("_"):
            yield f"Array.{name}", value


def test_examples_of_the_documentation():
    count = 0
    for name, value in public():
        assert value.__doc__, f"{name} is not documented"
        count += checked(value.__doc__, name)
    assert count > 150, count


@pytest.mark.parametrize("page", ["README.md", "dask.md"])
def test_examples_of_the_pages(page):
    blocks = (HERE.parent / page).read_text().split("```python\n")[1:]
    assert checked("\n".join(block.split("```")[0] for block in blocks), page) > 15


@pytest.mark.parametrize("module, stubs", [(bl, "__init__.pyi"), (bitlane.dask, "dask.pyi")])
def test_the_stubs_have_every_function_with_its_parameters(module, stubs):
    tree = ast.parse((HERE.parent / "python/bitlane" / stubs).read_text())
    functions = {node.name: node.args for node in tree.body if isinstance(node, ast.FunctionDef)}
    classes = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    for name in getattr(module, "__all__", vars(module)):
        value = getattr(module, name)
        if name.startswith("_") or not callable(value):
            continue
        if inspect.isclass(value):
            assert name in classes
            continue
        arguments = functions.pop(name)
        rest = [arguments.vararg] if arguments.vararg else []
        known = [one.arg for one in arguments.posonlyargs + arguments.args + rest + arguments.kwonlyargs]
        assert list(inspect.signature(value).parameters) == known, name
    assert not functions, "these functions are not there"
