#!/usr/bin/env python3
"""Checks what no compiler checks: layers, purity, ownership of libraries, sizes, plain English.

usage: tidy.py [ROOT]

Prints one line per problem, `file:line: message`, and exits with 1 if there is any.
tools/tidy_test.py proves that each check fires.

The rule for includes: a module includes its own files, the modules it names in USES
(src/MODULE/CMakeLists.txt), and what those modules use in turn. USES may name only modules that
come earlier in the top CMakeLists.txt, so dependencies point one way and there are no cycles.
"""

import pathlib
import re
import sys

import dialect

MAX_WIDTH = 100
MAX_HEADER_LINES = 400
MAX_SOURCE_LINES = 600
MAX_FUNCTION_LINES = 70

FOLDERS = ["src", "include", "tests", "tools", "scripts", "cmake", "docs", "bench", "examples",
           "fuzz", "sdk", "schema", "packaging", ".ci"]
TEXT_SUFFIXES = {".h", ".cc", ".py", ".sh", ".cmake", ".txt", ".md", ".json", ".sql", ".yaml",
                 ".service", ""}
WIDE_SUFFIXES = {".md", ".json", ".sql", ".txt", ".yaml", ".service"}  # tables and data

# Third-party headers: the modules that may include them, in .cc files only.
EVERY_MODULE = None
OWNERS = [
    ("boost/json", {"base"}),
    ("boost/", set()),
    ("openssl/", {"base", "net"}),
    ("zstd", {"base"}),
    ("sqlite3", {"storage/sqlite"}),
    ("libpq", {"storage/postgres"}),
    ("postgres_ext.h", {"storage/postgres"}),
    ("CLI/", {"apps/cli"}),
    ("curl/", {"net"}),
    ("absl/", {"runs/language/cron"}),
    ("yaml-cpp/", {"runs/language/yaml"}),
    ("sodium", {"mesh/ops", "apps/broker", "apps/daemon"}),
    ("hiredis", {"storage/redis"}),
    ("fmt/", EVERY_MODULE),
]
TEST_LIBRARIES = ("gtest/", "gmock/", "rapidcheck")

# The public headers: those without code of their own, and the modules that implement the others.
PUBLIC = "holdfast"
SHARED_HEADERS = {f"holdfast/{name}.h"
                  for name in ("assert", "error", "error_codes", "lease_backend", "log",
                               "result")}
PUBLIC_TYPES_MODULE = "runs/api"
PUBLIC_MODULES = {"holdfast/engine.h": "apps/embed", "holdfast/client.h": "apps/client",
                  "holdfast/testing.h": "apps/testkit"}

# Modules that must not reach others, not even through the modules they use.
UNREACHABLE = {
    "apps/client": {"storage/log", "storage/journal", "storage/sqlite", "storage/postgres",
                    "runs/engine", "runs/inspect", "runs/service", "apps/embed"},
}

PURE_MODULES = {"storage/entry", "access", "runs/language/data", "runs/language/definition",
                "runs/facts", "runs/dispatch", "runs/run", "runs/view", "delivery/contract",
                "mesh/clock", "mesh/ops", "mesh/capabilities", "mesh/audit", "mesh/roster"}
IMPURE_HEADERS = re.compile(
    r"chrono|ctime|time\.h|random|thread|mutex|shared_mutex|condition_variable|future|atomic|"
    r"stop_token|semaphore|latch|barrier|fstream|iostream|filesystem|cstdio|stdio\.h|unistd\.h|"
    r"fcntl\.h|poll\.h|netdb\.h|sys/.*|netinet/.*|arpa/.*|base/random\.h"
)
IMPURE_NAMES = [
    (re.compile(r"\b(?:\w*Clock|\w+_clock|clock_gettime|gettimeofday|localtime\w*|gmtime\w*)\b"
                r"|(?<![\w.>])time\s*\("), "a clock"),
    (re.compile(r"\b(?:\w*Random|random_device|mt19937\w*|rand|srand|getrandom)\b"), "randomness"),
    (re.compile(r"\bstd::(?:j?thread|async|\w*mutex|atomic\w*)\b|\bpthread_\w+"), "a thread"),
    (re.compile(r"\b(?:fopen|ofstream|ifstream|fstream|std::filesystem)\b"), "a file"),
    (re.compile(r"(?<![\w.>])(?:socket|connect|getaddrinfo)\s*\("), "a socket"),
    (re.compile(r"\b(?:getenv|secure_getenv|setenv|environ)\b"), "the environment"),
]

UNFINISHED = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X)\b")
MACHINE_PATH = re.compile(r"(?<![\w.$}/-])/(?:home|work|Users|root)/\w")
BAD_IN_TESTS = re.compile(r"\b(?:GTEST_SKIP|DISABLED_\w*|sleep_for|sleep_until|u?sleep)\b")

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+([<"])([^>"]+)[>"]', re.MULTILINE)
COMMENT = r"//[^\n]*|/\*.*?\*/"
LITERAL = (r'R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|'
           r"(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*'")
TOKEN = re.compile(f"(?P<comment>{COMMENT})|(?:{LITERAL})", re.DOTALL)


def keep_lines(text):
    """White space of the same shape."""
    return re.sub(r"[^\n]", " ", text)


def without_comments(text):
    return TOKEN.sub(
        lambda token: keep_lines(token[0]) if token["comment"] else token[0], text)


def bare_code(text):
    """The text without comments and includes, and with the insides of literals blanked out."""
    code = TOKEN.sub(
        lambda token: keep_lines(token[0]) if token["comment"] else
        token[0][0] + keep_lines(token[0][1:-1]) + token[0][-1], text)
    return INCLUDE.sub(lambda found: keep_lines(found[0]), code)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


class File:
    """One text file of the tree, prepared for the checks."""

    def __init__(self, root, path):
        self.path = path
        self.name = str(path.relative_to(root))
        self.text = path.read_bytes().decode("utf-8")
        self.lines = self.text.split("\n")
        parts = self.name.split("/")
        self.is_header = path.suffix == ".h"
        self.is_code = path.suffix in (".h", ".cc")
        self.module = "/".join(parts[1:-1]) if parts[0] == "src" and len(parts) > 2 else None
        self.is_test = parts[0] == "tests" or path.name.endswith("_test.cc")
        self.bare = bare_code(self.text) if self.is_code else ""

    def includes(self):
        """(line, quote, name) of each include."""
        text = without_comments(self.text)
        for found in INCLUDE.finditer(text):
            yield line_of(text, found.start(1)), found[1], found[2]

    def find(self, pattern):
        """(line, match) of each occurrence in the bare code."""
        for found in pattern.finditer(self.bare):
            yield line_of(self.bare, found.start()), found


class Tree:
    """The repository: its files and the declarations of its modules."""

    def __init__(self, root):
        self.root = root
        self.files = [File(root, path) for path in self.text_files()]
        self.code = [file for file in self.files if file.is_code]
        source = root / "src"
        self.modules = sorted({str(path.parent.relative_to(source)) for path in source.rglob("*")
                               if path.is_file() and path.parent != source})
        self.uses = {module: self.declared_uses(module) for module in self.modules}

    def text_files(self):
        for path in sorted(self.root.iterdir()):
            if path.is_file() and not path.name.startswith(".git"):
                if path.suffix in TEXT_SUFFIXES:
                    yield path
        for folder in FOLDERS:
            for path in sorted((self.root / folder).rglob("*")):
                if path.is_file() and path.suffix in TEXT_SUFFIXES:
                    yield path

    def declared_uses(self, module):
        """The modules named in USES; None when the module declares nothing."""
        declaration = self.root / "src" / module / "CMakeLists.txt"
        if not declaration.is_file():
            return None
        text = re.sub(r"#[^\n]*", "", declaration.read_text(encoding="utf-8"))
        found = re.search(r"holdfast_module\(\s*" + module + r"\b([^)]*)\)", text)
        if found is None:
            return None
        uses, keyword = [], None
        for word in found[1].split():
            if re.fullmatch(r"(TEST_)?[A-Z]+|UNITY_FILES", word):
                keyword = word
            elif keyword == "USES":
                uses.append(word)
        return uses

    def reach(self, module):
        """The module and everything it may include."""
        reached, waiting = set(), [module]
        while waiting:
            current = waiting.pop()
            if current not in reached:
                reached.add(current)
                waiting.extend(self.uses.get(current) or [])
        return reached


def check_modules(tree):
    top = tree.root / "CMakeLists.txt"
    order = re.findall(r"add_subdirectory\(src/([\w/]+)\)",
                       top.read_text(encoding="utf-8") if top.is_file() else "")
    index = tree.root / "src" / "README.md"
    map_text = index.read_text(encoding="utf-8") if index.is_file() else ""
    for module in tree.modules:
        declaration = f"src/{module}/CMakeLists.txt"
        if not (tree.root / "src" / module / "README.md").is_file():
            yield f"src/{module}/README.md", 1, "every module has a README.md"
        if f"`{module}/`" not in map_text:
            yield "src/README.md", 1, f"the map does not name `{module}/`"
        if tree.uses[module] is None:
            yield declaration, 1, f"the module is not declared: holdfast_module({module} ...)"
            continue
        if module not in order:
            yield "CMakeLists.txt", 1, f"module {module} is not part of the build"
            continue
        for used in tree.uses[module]:
            if used not in order[:order.index(module)]:
                yield declaration, 1, \
                    f"{module} may not use {used}: it does not come before {module}"


def check_unreachable(tree):
    """A client program must not link an engine or a database."""
    for module, forbidden in UNREACHABLE.items():
        if tree.uses.get(module) is None:
            continue
        for used in sorted(tree.reach(module) & forbidden):
            yield (f"src/{module}/CMakeLists.txt", 1,
                   f"{module} must not reach {used}, directly or through other modules")


def check_names(tree):
    """An include or a test names one file."""
    seen = {}
    for file in tree.code:
        if file.name.startswith("include/"):
            continue
        other = seen.setdefault(file.path.name, file.name)
        if other != file.name:
            yield file.name, 1, f"file names are unique in the tree, and {other} has this one"


def check_includes(tree):
    for file in tree.code:
        if file.module is None:
            continue
        reach = tree.reach(file.module)
        for line, quote, name in file.includes():
            target = name.rpartition("/")[0]
            if quote == '"' and not (name.startswith("tests/") and file.is_test):
                if "/" not in name:
                    yield file.name, line, f'include "{file.module}/{name}", from src/'
                elif target == PUBLIC:
                    owner = PUBLIC_MODULES.get(name, PUBLIC_TYPES_MODULE)
                    if name not in SHARED_HEADERS and owner not in reach:
                        yield file.name, line, f'"{name}" is for {owner} and above'
                elif target not in reach:
                    yield (file.name, line,
                           f"module {file.module} does not declare its use of {target}")


def check_public_headers(tree):
    for file in tree.code:
        if not file.name.startswith("include/"):
            continue
        for line, quote, name in file.includes():
            if quote == '"' and not name.startswith(PUBLIC + "/"):
                yield file.name, line, f'"{name}" is not public'
            if quote == "<" and not re.fullmatch(r"[a-z_]+", name):
                yield file.name, line, f"<{name}>: public headers include the standard library only"


def check_libraries(tree):
    for file in tree.code:
        if file.module is None:
            continue
        for line, quote, name in file.includes():
            if quote != "<":
                continue
            if name.startswith(TEST_LIBRARIES) and not file.is_test:
                yield file.name, line, f"<{name}> is for tests only"
            owners = next(((modules,) for start, modules in OWNERS if name.startswith(start)), None)
            if owners is None:
                continue
            if file.is_header:
                yield file.name, line, f"<{name}> in a header: third-party headers stay in .cc"
            elif owners[0] is not EVERY_MODULE and file.module not in owners[0]:
                yield file.name, line, f"<{name}> is not for module {file.module}"


def check_purity(tree):
    for file in tree.code:
        if file.module not in PURE_MODULES or file.is_test:
            continue
        for line, _, name in file.includes():
            if IMPURE_HEADERS.fullmatch(name):
                yield file.name, line, f"a pure module does not include {name}"
        for pattern, what in IMPURE_NAMES:
            for line, found in file.find(pattern):
                yield file.name, line, f"a pure module does not use {what}: {found[0].strip()}"


def unordered_names(code):
    """The names that are declared as unordered containers."""
    for found in re.finditer(r"\bunordered_(?:multi)?(?:map|set)\s*<", code):
        depth, at = 1, found.end()
        while depth > 0 and at < len(code):
            depth += {"<": 1, ">": -1}.get(code[at], 0)
            at += 1
        name = re.match(r"[\s&*]*(\w+)", code[at:])
        if name is not None:
            yield name[1]


def check_unordered(tree):
    for module in sorted(PURE_MODULES):
        files = [file for file in tree.code if file.module == module]
        for name in sorted({name for file in files for name in unordered_names(file.bare)}):
            walk = re.compile(r"\bfor\s*\([^;()]*:\s*(?:\w+(?:\.|->))*" + name + r"\s*\)"
                              r"|\b" + name + r"\s*(?:\.|->)\s*c?begin\s*\(")
            for file in files:
                for line, _ in file.find(walk):
                    yield file.name, line, f"{name} is unordered: a fold must not walk over it"


def check_text(tree):
    for file in tree.files:
        if not file.text:
            continue
        if not file.text.endswith("\n") or file.text.endswith("\n\n"):
            yield file.name, len(file.lines), "a file ends with exactly one line break"
        for number, line in enumerate(file.lines, 1):
            if "\t" in line:
                yield file.name, number, "tab"
            if line.endswith((" ", "\r", "\t")):
                yield file.name, number, "white space at the end of the line"
            if len(line) > MAX_WIDTH and file.path.suffix not in WIDE_SUFFIXES:
                yield file.name, number, f"line is {len(line)} wide, limit {MAX_WIDTH}"
            if UNFINISHED.search(line):
                yield file.name, number, "unfinished work: complete it or remove it"
            if MACHINE_PATH.search(line):
                yield file.name, number, "a path of one machine"


def check_headers(tree):
    for file in tree.code:
        if not file.is_header:
            continue
        if "#pragma once" not in file.lines:
            yield file.name, 1, "a header has #pragma once"
        if not file.text.startswith("//"):
            yield file.name, 1, "a header opens with a comment: what it is and what it guarantees"


def check_sizes(tree):
    for file in tree.code:
        limit = MAX_HEADER_LINES if file.is_header else MAX_SOURCE_LINES
        if len(file.lines) - 1 > limit:
            yield file.name, limit + 1, f"file has {len(file.lines) - 1} lines, limit {limit}"
        for first, last in functions(file.bare):
            if last - first + 1 > MAX_FUNCTION_LINES:
                yield (file.name, first,
                       f"function has {last - first + 1} lines, limit {MAX_FUNCTION_LINES}")


PREPROCESSOR = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
FUNCTION_HEAD = re.compile(
    r"\)\s*(?:(?:const|noexcept(?:\(.*\))?|override|final|volatile|&&?|->.*|requires.*)\s*)*$",
    re.DOTALL)
CONTAINER_HEAD = re.compile(r"\b(?:namespace|class|struct|union|enum|extern)\b")


BLOCK_TOKEN = re.compile(r"[{};]|[^{};]+")


def functions(bare):
    """(first line, last line) of each function in bare code, wherever it is declared."""
    code = PREPROCESSOR.sub(lambda found: keep_lines(found[0]), bare)
    open_blocks = []  # "container", "function" or "other", outermost first
    bodies = 0  # open blocks that are not containers
    head, head_at = "", None  # the text before the next block, and where it begins
    for found in BLOCK_TOKEN.finditer(code):
        token, at = found[0], found.start()
        if token == "{":
            kind = "other"
            if not bodies and FUNCTION_HEAD.search(head):
                kind = "function"
            elif not bodies and CONTAINER_HEAD.search(head) and "=" not in head:
                kind = "container"
            open_blocks.append((kind, at if head_at is None else head_at))
            if kind == "container":
                head, head_at = "", None
            else:
                bodies += 1
        elif token == "}" and open_blocks:
            kind, begin = open_blocks.pop()
            bodies -= kind != "container"
            if kind == "function":
                yield line_of(code, begin), line_of(code, at)
            if kind != "other":
                head, head_at = "", None
            elif not bodies:
                head += "()"  # an initialiser: a_{1} reads as a_() in what follows
        elif not bodies:
            if token == ";":
                head, head_at = "", None
            else:
                head += token
                if head_at is None and not token.isspace():
                    head_at = at + len(token) - len(token.lstrip())


def check_tests(tree):
    for file in tree.code:
        if file.is_test:
            for line, found in file.find(BAD_IN_TESTS):
                yield file.name, line, f"{found[0]} in a test: tests neither skip nor sleep"


NAMESPACE = re.compile(r"^namespace(?: ([\w:]+))? \{", re.MULTILINE)


def check_test_namespaces(tree):
    """Tests and fuzz targets are compiled together, so their names must not collide."""
    for file in tree.code:
        if not file.name.startswith("examples/") and file.path.name.endswith(
                ("_test.cc", "_fuzz.cc")):
            stem, inside = file.path.stem, ""
            for line, found in file.find(NAMESPACE):
                if found[1] is None and inside.rpartition("::")[2] != stem:
                    yield (file.name, line,
                           "these files are compiled together: put "
                           f'"namespace holdfast::{stem} {{" around the unnamed namespace')
                inside = found[1] or inside


ERROR_CODE = re.compile(r"\bX\((\w+),\s*(\d+),\s*(\d+),\s*(\d+),\s*(\w+),")


def check_error_pages(tree):
    codes_name = "include/holdfast/error_codes.h"
    codes_path = tree.root / codes_name
    if not codes_path.is_file():
        return
    text = without_comments(codes_path.read_text(encoding="utf-8"))
    folder = tree.root / "docs/errors"
    pages = {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
    index = pages.pop("README", "")
    for found in ERROR_CODE.finditer(text):
        code, number, http, exit_code, what_next = found.groups()
        page = pages.pop(code, None)
        if page is None:
            yield codes_name, line_of(text, found.start()), f"docs/errors/{code}.md is missing"
            continue
        opening = (f"# {code}\n\nNumber {number}, exit code {exit_code}, HTTP status {http}, "
                   f"what next: {what_next}.\n")
        if not page.startswith(opening):
            yield f"docs/errors/{code}.md", 1, f"the page does not open with: {opening!r}"
        row = f"| [`{code}`]({code}.md) | {number} | {exit_code} | `{what_next}` |"
        if row not in index:
            yield "docs/errors/README.md", 1, f"the table lacks: {row}"
    for page in sorted(pages):
        yield f"docs/errors/{page}.md", 1, f"unknown error code {page}; remove the page"


def check_words(tree):
    for file in tree.files:
        for line, message in dialect.findings(file.name, file.text):
            yield file.name, line, message


CHECKS = [check_modules, check_unreachable, check_names, check_includes, check_public_headers,
          check_libraries, check_purity, check_unordered, check_text, check_headers, check_sizes,
          check_tests, check_test_namespaces, check_error_pages, check_words]


def problems(root):
    tree = Tree(root)
    for check in CHECKS:
        for name, line, message in check(tree):
            yield f"{name}:{line}: {message}"


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent
    found = sorted(set(problems(root.resolve())))
    for problem in found:
        print(problem)
    print(f"tidy: {len(found)} problems" if found else "tidy: all well")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
