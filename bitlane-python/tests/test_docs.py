"""Every example of the documentation is run."""

import doctest
import inspect
import pathlib

import pytest

import bitlane as bl
import bitlane.dask

HERE = pathlib.Path(__file__).parent
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def checked(text, name, names=None):
    test = doctest.DocTestParser().get_doctest(text, {"__name__": "__main__", **(names or {})}, name, None, 0)
    runner = doctest.DocTestRunner(optionflags=OPTIONS, verbose=False)
    report = []
    runner.run(test, out=report.append)
    assert not runner.failures, "".join(report)
    return len(test.examples)


def public():
    for module in (bl, bitlane.dask):
        yield module.__name__, module
        for name, value in vars(module).items():
            if not name.startswith("_") and (callable(value) or isinstance(value, type)):
                yield f"{module.__name__}.{name}", value
    for name, value in vars(bl.Array).items():
        if not name.startswith("_") and value.__doc__:
            yield f"Array.{name}", value


def test_examples_of_the_documentation():
    count = 0
    for name, value in public():
        if getattr(value, "__module__", "bitlane").startswith("bitlane"):
            assert value.__doc__, f"{name} is not documented"
            count += checked(value.__doc__, name)
    assert count > 150


@pytest.mark.parametrize("page", ["README.md"])
def test_examples_of_the_pages(page):
    text = (HERE.parent / page).read_text()
    blocks = text.split("```python\n")[1:]
    source = "\n".join(block.split("```")[0] for block in blocks)
    assert checked(source, page) > 20


def test_stubs_name_what_there_is():
    stubs = (HERE.parent / "python/bitlane/__init__.pyi").read_text()
    for name, value in vars(bl).items():
        if not name.startswith("_") and not inspect.ismodule(value):
            assert f"def {name}(" in stubs or f"class {name}" in stubs or f"\n{name}: " in stubs, name
