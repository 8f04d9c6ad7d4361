"""Functions and classes out of source packages that cannot be imported."""

import ast
import tarfile


def archived(sdists, package, path):
    """The text of a file of a source package."""
    if sdists is None:
        raise SystemExit("--sdists says where the source packages are")
    [archive] = sdists.glob(f"{package}-*.tar.gz")
    with tarfile.open(archive) as files:
        [member] = [name for name in files.getnames() if name.split("/", 1)[-1] == path]
        return files.extractfile(member).read().decode()


def taken(text, names, namespace):
    """Runs the definitions of these names, of a module or of its classes, and of what they use; returns all of them."""
    defined = {}
    tree = ast.parse(text)
    constants = {id(node) for node in tree.body if isinstance(node, ast.Assign)}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.decorator_list, node.returns = [], None
            for argument in node.args.args + node.args.kwonlyargs:
                argument.annotation = None
            defined[node.name] = node
        elif id(node) in constants and isinstance(node.targets[0], ast.Name):
            defined[node.targets[0].id] = node
    body, wanted = [], list(names)
    while wanted:
        name = wanted.pop()
        node = defined.pop(name, None)
        if node is None or name in namespace:
            continue
        body.insert(0, node)
        wanted += [used.id for used in ast.walk(node) if isinstance(used, ast.Name)]
    # Values may need other values; functions need theirs only when they are called.
    body.sort(key=lambda node: (isinstance(node, ast.FunctionDef), node.lineno))
    module = ast.fix_missing_locations(ast.Module(body=body, type_ignores=[]))
    exec(compile(module, "source", "exec"), namespace)
    missing = [name for name in names if name not in namespace]
    if missing:
        raise SystemExit(f"not found: {missing}")
    return namespace
