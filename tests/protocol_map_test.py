"""Every test that docs/protocol-tests.md names exists, and it names every protocol test.
The same for docs/delivery-tests.md and docs/mesh-tests.md and the tests that carry their numbers.

usage: protocol_map_test.py
"""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
TEST = re.compile(r"^\s*TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)", re.MULTILINE)
HOME = "tests/protocol_test.cc"
PROTOCOL_FILES = [HOME, "tests/protocol_engine_test.cc"]


PYTHON_TEST = re.compile(r"^class (\w+)|^    def test_(\w+)\(", re.MULTILINE)


def tests_in(name):
    """The tests of a source file, as Suite.test; those of Python without "test_"."""
    text = (ROOT / name).read_text(encoding="utf-8")
    if str(name).endswith(".py"):
        found, suite = set(), ""
        for named_class, test in PYTHON_TEST.findall(text):
            suite = named_class or suite
            found |= {f"{suite}.{test}"} if test else set()
        return found
    return {f"{suite}.{test}" for suite, test in TEST.findall(text)}


def table_rows(page):
    """The cells of each row of the tables of a page."""
    for line in (ROOT / page).read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and cells[0] not in ("Promise", "Number", "---"):
            yield cells


def rows():
    """(promise, the tests of each cell with their file) of each row of the map."""
    for cells in table_rows("docs/protocol-tests.md"):
        yield cells[0], [named(cell) for cell in cells[1:]]


def named(cell):
    """(test, file) for each test that a cell names."""
    found = re.findall(r"`(\w+\.\w+)`(?: in `([^`]+)`)?", cell)
    return [(test, home or HOME) for test, home in found]


def home_of(test):
    """The files that contain a test, for the message that the map is wrong."""
    files = [*ROOT.glob("src/**/*_test.cc"), *ROOT.glob("tests/*_test.cc")]
    homes = [str(file.relative_to(ROOT)) for file in files if test in tests_in(file)]
    return homes or "nowhere"


class ProtocolMap(unittest.TestCase):
    def test_every_promise_has_its_own_test(self):
        self.assertGreater(len(list(rows())), 40)
        for promise, (main, _) in rows():
            self.assertEqual(len(main), 1, promise)
            self.assertIn(main[0][1], PROTOCOL_FILES, promise)

    def test_no_test_covers_two_promises(self):
        mains = [main[0] for _, (main, _) in rows()]
        self.assertEqual(len(mains), len(set(mains)))

    def test_every_named_test_exists_in_its_file(self):
        for test, home in [pair for _, cells in rows() for cell in cells for pair in cell]:
            there = (ROOT / home).exists() and test in tests_in(home)
            if not there:
                self.fail(f"{test} is not in {home} but in {home_of(test)}")

    def test_every_protocol_test_is_named(self):
        mains = {main[0][0] for _, (main, _) in rows()}
        for name in PROTOCOL_FILES:
            self.assertEqual(tests_in(name) - mains, set(), name)


NUMBER = re.compile(r"(?:^|(?<=_))([A-Z]{1,3})_(\d\d)(?=_)")


def delivery_tests():
    """{number: {(test, file)}} of the tests that carry numbers."""
    files = [*ROOT.glob("src/delivery/**/*_test.cc"), *ROOT.glob("tests/broker_*_test.cc"),
             *ROOT.glob("tests/broker_*_test.py"), *ROOT.glob("tests/outbox_*_test.cc"),
             *ROOT.glob("tests/daemon_*_test.py"), *ROOT.glob("src/apps/broker/*_test.cc"),
             *ROOT.glob("src/apps/daemon/*_test.cc"), ROOT / "src/apps/cli/rotating_log_test.cc",
             *ROOT.glob("src/net/*_test.cc"), *ROOT.glob("tests/webhook_*_test.py"),
             *ROOT.glob("tests/faults/broker_*_test.py"),
             *ROOT.glob("tests/faults/broker_*_test.cc"),
             *ROOT.glob("tests/faults/daemon_*_test.py")]
    found = {}
    for name in [str(file.relative_to(ROOT)) for file in files]:
        for test in tests_in(name):
            for letters, digits in NUMBER.findall(test.partition(".")[2]):
                found.setdefault(f"{letters}-{digits}", set()).add((test, name))
    return found


class DeliveryMap(unittest.TestCase):
    def test_the_page_names_exactly_the_tests_that_carry_each_number(self):
        page = {}
        for number, assertion, tests in table_rows("docs/delivery-tests.md"):
            self.assertNotIn(number, page)
            self.assertTrue(assertion, number)
            page[number] = set(named(tests))
        found = delivery_tests()
        self.assertGreater(len(page), 90)
        self.assertEqual(sorted(page), sorted(found))
        for number, tests in page.items():
            self.assertEqual(tests, found[number], number)


NUMBERED = re.compile(r"^\s*TEST(?:_F)?\(\s*(\w+),\s*(\w+)\s*\)\s*\{\s*// (\d[\d, to\n]*)$",
                      re.MULTILINE)


def numbers_of(text):
    """The numbers of "37 to 39, 70"."""
    for part in text.split(","):
        first, _, last = part.partition("to")
        yield from range(int(first), int(last or first) + 1)


def numbered_tests():
    """{(test, file): numbers} of the tests of the mesh that carry numbers."""
    found = {}
    for file in [*ROOT.glob("src/mesh/**/*_test.cc"), *ROOT.glob("tests/mesh_*_test.cc")]:
        for suite, test, numbers in NUMBERED.findall(file.read_text(encoding="utf-8")):
            found[(f"{suite}.{test}", str(file.relative_to(ROOT)))] = set(numbers_of(numbers))
    return found


def mesh_rows():
    """(number, tests with their file) of each row of the map of the mesh."""
    text = (ROOT / "docs/mesh-tests.md").read_text(encoding="utf-8")
    for number, tests in re.findall(r"^\| (\d+) \| [^|]+ \| ([^|]+) \|$", text, re.MULTILINE):
        yield int(number), named(tests)


# What the mesh promises so far: all but synchronisation and workers.
MESH_NUMBERS = set(numbers_of("1 to 66, 68 to 91, 93 to 119, 134 to 135, 138 to 147, 157 to 159"))


class MeshMap(unittest.TestCase):
    def test_every_number_has_one_row_and_every_row_a_test(self):
        numbers = [number for number, _ in mesh_rows()]
        self.assertEqual(MESH_NUMBERS - set(numbers), set())
        self.assertEqual(numbers, sorted(set(numbers)))
        for number, tests in mesh_rows():
            self.assertTrue(tests, number)

    def test_the_rows_are_what_the_tests_carry(self):
        carried = numbered_tests()
        listed = {}
        for number, tests in mesh_rows():
            for test in tests:
                self.assertIn(test, carried, f"row {number} of docs/mesh-tests.md")
                listed.setdefault(test, set()).add(number)
        self.assertEqual(listed, carried)


class Invariants(unittest.TestCase):
    def test_every_invariant_is_asserted_and_every_numbered_assert_is_an_invariant(self):
        text = (ROOT / "docs/protocol.md").read_text(encoding="utf-8")
        numbers = re.findall(r"^\| ([DER]\d+) \|", text, re.MULTILINE)
        self.assertGreaterEqual(len(numbers), 30)
        self.assertEqual(len(numbers), len(set(numbers)))
        asserted = set()
        for folder in ("src/runs/dispatch", "src/runs/run", "src/runs/engine"):
            for file in (ROOT / folder).glob("*.cc"):
                source = file.read_text(encoding="utf-8")
                asserted |= set(re.findall(r"\);\s+// ([DER]\d+)$", source, re.MULTILINE))
        self.assertEqual(set(numbers), asserted)


if __name__ == "__main__":
    unittest.main()
