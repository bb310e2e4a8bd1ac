#!/usr/bin/env python3
"""Proves that each check of tools/tidy.py fires, and that good code passes.

Every test takes a small good tree, changes one thing and expects exactly one problem, at the
right line.
"""

import pathlib
import tempfile
import unittest

import dialect
import tidy

GOOD_HEADER = """// Adds numbers.
#pragma once

namespace holdfast {

int add(int left, int right);

}  // namespace holdfast
"""

GOOD_TREE = {
    "CMakeLists.txt": """add_subdirectory(src/base)
add_subdirectory(src/storage/sqlite)
add_subdirectory(src/runs/run)
add_subdirectory(src/apps/cli)
""",
    "src/README.md": "`base/` `storage/sqlite/` `runs/run/` `apps/cli/`\n",
    "src/base/CMakeLists.txt": "holdfast_module(base SOURCES add.cc LIBRARIES fmt::fmt)\n",
    "src/base/README.md": "base\n",
    "src/base/add.h": GOOD_HEADER,
    "src/base/add.cc": '#include "base/add.h"\n\n#include <fmt/format.h>\n#include <zstd.h>\n',
    "include/holdfast/error_codes.h": """// Codes.
#pragma once
#define CODES(X) \\
  X(not_found, 3, 404, 2, permanent, "no") \\
  X(conflict, 20, 409, 4, refresh, "late")
""",
    "src/storage/sqlite/CMakeLists.txt":
    "# the log\nholdfast_module(storage/sqlite\n  SOURCES log.cc\n  USES base\n)\n",
    "src/storage/sqlite/README.md": "log\n",
    "src/storage/sqlite/log.cc": '#include <sqlite3.h>\n\n#include "base/add.h"\n',
    "src/runs/run/CMakeLists.txt":
    "holdfast_module(runs/run SOURCES decide.cc USES storage/sqlite)\n",
    "src/runs/run/README.md": "workflow\n",
    "src/runs/run/decide.cc": '#include "base/add.h"\n// getenv, std::thread: only a comment\n',
    "src/apps/cli/CMakeLists.txt": "holdfast_module(apps/cli SOURCES main.cc USES runs/run)\n",
    "src/apps/cli/README.md": "cli\n",
    "src/apps/cli/main.cc": "#include <CLI/CLI.hpp>\n",
    "tests/add_test.cc": "#include <gtest/gtest.h>\n#include <sqlite3.h>\n",
    "docs/errors/README.md": "# Errors\n"
    "| [`not_found`](not_found.md) | 3 | 2 | `permanent` |\n"
    "| [`conflict`](conflict.md) | 20 | 4 | `refresh` |\n",
    "docs/errors/not_found.md": "# not_found\n\n"
    "Number 3, exit code 2, HTTP status 404, what next: permanent.\n",
    "docs/errors/conflict.md": "# conflict\n\n"
    "Number 20, exit code 4, HTTP status 409, what next: refresh.\n",
}

# Group of tools/dialect.py -> phrases that it rejects.
REJECTED = {
    "persons": ["somebody decides", "nobody waits", "whoever writes", "those who wait"],
    "rooms": ["this room", "the rooms below", "the house"],
    "debts": ["the debts are paid", "what it owes"],
    "wishes": ["the wish for more", "PollWish", "kWishes"],
    "deeds": ["struct Deed", "StoreLooker", "at the door", "in sight"],
    "places": ["WorkPlace", "the store place"],
    "telling": ["is told the result", "it tells why", "void tell(", "LogTeller"],
    "asking": ["the worker asks for more", "ask_later(", "when it was asked"],
    "saying": ["it says so", "if you say so"],
    "is no": ["'a' is no run id", "which is no error", "these are no tokens"],
    "here": ["there is no GET here; there is POST"],
    "going back": ["a run that goes back", "going_back_", "enum GoBack"],
    "going on": ["the run goes on", "void go_on()"],
    "beaten": ["the claim is beaten", "a worker that beats"],
    "rare": ["struct RareState", "#include \"rare_facts.h\"", "run.rare()"],
    "let in": ["who is let in", "turned away", "turn_away"],
    "away": ["the store is away", "a server that went away"],
    "over": ["the lease is over", "when all paths are over, it ends"],
    "came of": ["what came of it", "what became of the batch"],
}


def long_function(lines):
    return "int f(int x) {\n" + "  ++x;\n" * (lines - 2) + "}\n"


class TidyTest(unittest.TestCase):
    def problems_with(self, changes):
        """The problems of the good tree with some files changed, or removed where None."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in {**GOOD_TREE, **changes}.items():
                if text is not None:
                    (root / name).parent.mkdir(parents=True, exist_ok=True)
                    (root / name).write_bytes(text.encode("utf-8"))
            return sorted(set(tidy.problems(root)))

    def expect(self, changes, location, message):
        found = self.problems_with(changes)
        self.assertEqual(len(found), 1, found)
        self.assertTrue(found[0].startswith(location + ": "), found)
        self.assertIn(message, found[0])

    def expect_code(self, name, text, line, message):
        self.expect({name: text}, f"{name}:{line}", message)

    def test_the_good_tree_is_good(self):
        self.assertEqual(self.problems_with({}), [])

    # Modules

    def test_a_module_without_readme(self):
        self.expect({"src/storage/sqlite/README.md": None}, "src/storage/sqlite/README.md:1",
                    "README")

    def test_a_module_that_is_not_on_the_map(self):
        self.expect({"src/README.md": "`base/` `runs/run/` `apps/cli/`\n"},
                    "src/README.md:1", "sqlite")

    def test_a_module_that_is_not_declared(self):
        self.expect({"src/apps/cli/CMakeLists.txt": "# holdfast_module(apps/cli)\n"},
                    "src/apps/cli/CMakeLists.txt:1", "not declared")

    def test_a_module_that_is_not_built(self):
        top = GOOD_TREE["CMakeLists.txt"].replace("add_subdirectory(src/apps/cli)\n", "")
        self.expect({"CMakeLists.txt": top}, "CMakeLists.txt:1", "not part of the build")

    def test_an_arrow_that_points_up(self):
        self.expect({"src/base/CMakeLists.txt":
                     "holdfast_module(base SOURCES add.cc USES apps/cli)\n"},
                    "src/base/CMakeLists.txt:1", "may not use apps/cli")

    def test_a_client_that_reaches_a_store(self):
        self.expect({
            "CMakeLists.txt": GOOD_TREE["CMakeLists.txt"] + "add_subdirectory(src/apps/client)\n",
            "src/README.md": GOOD_TREE["src/README.md"] + "`apps/client/`\n",
            "src/apps/client/README.md": "client\n",
            "src/apps/client/CMakeLists.txt":
            "holdfast_module(apps/client SOURCES client.cc USES runs/run)\n",
        }, "src/apps/client/CMakeLists.txt:1", "must not reach storage/sqlite")

    def test_an_undeclared_include(self):
        self.expect_code("src/base/add.cc", '\n#include "storage/sqlite/log.h"\n', 2,
                         "does not declare")

    def test_an_include_through_a_declared_module_is_fine(self):
        self.assertEqual(
            self.problems_with({"src/apps/cli/main.cc": '#include "base/add.h"\n'}), [])

    def test_an_include_in_a_comment_is_fine(self):
        self.assertEqual(
            self.problems_with({"src/base/add.cc": '/*\n#include "storage/sqlite/log.h"\n*/\n'}),
            [])

    def test_an_include_without_its_module(self):
        self.expect_code("src/base/add.cc", '#include "add.h"\n', 1, "base/add.h")

    # Libraries

    def test_a_third_party_header_in_a_header(self):
        text = GOOD_HEADER.replace("once\n", "once\n#include <fmt/format.h>\n")
        self.expect_code("src/base/add.h", text, 3, "third-party")

    def test_a_third_party_header_in_a_public_header(self):
        text = GOOD_HEADER.replace("once\n", "once\n#include <sqlite3.h>\n")
        self.expect_code("include/holdfast/add.h", text, 3, "standard library only")

    def test_a_private_header_in_a_public_header(self):
        text = GOOD_HEADER.replace("once\n", 'once\n#include "base/add.h"\n')
        self.expect_code("include/holdfast/add.h", text, 3, "not public")

    def test_a_public_header_below_the_module_that_implements_it(self):
        self.expect_code("src/base/add.cc", '#include "holdfast/engine.h"\n', 1, "embed and above")

    def test_a_public_header_that_all_share_is_fine(self):
        self.assertEqual(
            self.problems_with({"src/base/add.cc": '#include "holdfast/error.h"\n'}), [])

    def test_two_files_of_one_name(self):
        self.expect({"src/runs/run/add.h": GOOD_HEADER}, "src/runs/run/add.h:1", "unique")

    def test_a_library_in_a_module_that_does_not_own_it(self):
        for header in ["boost/json.hpp", "boost/asio.hpp", "openssl/evp.h", "zstd.h",
                       "libpq-fe.h", "sqlite3.h"]:
            self.expect_code("src/apps/cli/main.cc", f"#include <{header}>\n", 1,
                             "not for module apps/cli")
        self.expect_code("src/storage/sqlite/log.cc", "#include <CLI/CLI.hpp>\n", 1,
                         "not for module storage/sqlite")

    def test_a_test_library_outside_of_tests(self):
        self.expect_code("src/storage/sqlite/log.cc", "#include <gtest/gtest.h>\n", 1, "tests only")

    # Purity

    def test_impure_names_in_a_pure_module(self):
        for code in ["SystemClock c;", "auto t = std::chrono::system_clock::now();",
                     "auto t = time(nullptr);", "SeededRandom r(1);", "std::mt19937 g;",
                     "std::thread t;", "std::mutex m;", "auto* f = fopen(p, m);",
                     "int s = socket(1, 2, 3);", "const char* e = getenv(n);"]:
            self.expect_code("src/runs/run/decide.cc", "\n" + code + "\n", 2, "pure module")

    def test_impure_headers_in_a_pure_module(self):
        for header in ["<chrono>", "<random>", "<thread>", "<mutex>", "<fstream>", "<unistd.h>",
                       "<sys/socket.h>", '"base/random.h"']:
            self.expect_code("src/runs/run/decide.cc", f"#include {header}\n", 1, "pure module")

    def test_the_same_names_are_fine_elsewhere(self):
        self.assertEqual(
            self.problems_with(
                {"src/storage/sqlite/log.cc": "#include <thread>\nstd::thread t;\n"}), [])

    def test_names_that_only_look_impure_are_fine(self):
        code = 'int format_time(int);\nauto a = x.time();\nauto b = "getenv(";\n'
        self.assertEqual(self.problems_with({"src/runs/run/decide.cc": code}), [])

    def test_walking_over_an_unordered_container(self):
        declared = "std::unordered_map<int, std::set<int>> seen;\n"
        for walk in ["for (auto& [a, b] : seen) {\n}", "for (auto& x : state.seen) {\n}",
                     "auto it = seen.begin();"]:
            self.expect_code("src/runs/run/decide.cc", declared + walk + "\n", 2, "unordered")

    def test_looking_up_in_an_unordered_container_is_fine(self):
        code = "std::unordered_set<int> seen;\nbool b = seen.contains(1);\n"
        self.assertEqual(self.problems_with({"src/runs/run/decide.cc": code}), [])

    # Text

    def test_a_wide_line(self):
        self.expect_code("src/base/add.cc", "//" + "x" * 99 + "\n", 1, "wide")
        self.assertEqual(self.problems_with({"src/base/add.cc": "//" + "é" * 98 + "\n"}), [])

    def test_tabs_and_white_space_at_the_end(self):
        self.expect_code("src/base/add.cc", "int\ta;\n", 1, "tab")
        self.expect_code("src/base/add.cc", "\nint a; \n", 2, "white space")
        self.expect_code("src/base/add.cc", "int a;\r\nint b;\n", 1, "white space")

    def test_the_end_of_the_file(self):
        self.expect_code("src/base/add.cc", "int a;", 1, "line break")
        self.expect_code("src/base/add.cc", "int a;\n\n", 3, "line break")

    def test_unfinished_work(self):
        for word in ["TO" + "DO", "FIX" + "ME", "XX" + "X"]:
            self.expect_code("src/base/add.cc", f"\n// {word}: later\n", 2, "unfinished")

    def test_paths_of_one_machine(self):
        for path in ["/ho" + "me/anna/x", "/wo" + "rk/x", "/ro" + "ot/x", "/Us" + "ers/a"]:
            self.expect_code("docs/a.md", f"see {path}\n", 1, "machine")

    # Words

    def words_in(self, text):
        return list(dialect.findings("docs/guide/a.md", text))

    def test_every_group_of_words_is_rejected(self):
        self.assertEqual(set(REJECTED), set(dialect.GROUPS))
        for group, phrases in REJECTED.items():
            for phrase in phrases:
                found = self.words_in(f"Title\n// {phrase}\n")
                self.assertEqual([line for line, _ in found], [2], phrase)
                self.assertIn(dialect.GROUPS[group][1], found[0][1])

    def test_words_in_documents_and_code(self):
        self.expect_code("docs/guide/a.md", "Title\nsomebody decides\n", 2, "name the subject")
        self.expect_code("examples/a.cc", "// A run that goes\n//   back.\n", 1, "compensate")
        self.expect_code("src/base/nobody_waits.cc", "int nobody_waits();\n", 1, "name the subject")

    def test_plain_words_are_fine(self):
        for phrase in ["there is no space left", "there\nis no run", "it is no longer valid",
                       "a function is over 70 lines", "the warehouse", "a foreground job",
                       "{\"event\":\"told_to_stop\"}"]:
            self.assertEqual(self.words_in(phrase + "\n"), [], phrase)

    def test_words_are_allowed_where_they_mean_what_they_say(self):
        text = "a hotel room\n"
        self.assertEqual(self.problems_with({"examples/simulate/booking.yaml": text}), [])
        self.expect({"examples/other/booking.yaml": text}, "examples/other/booking.yaml:1", "room")

    # Headers and sizes

    def test_a_header_without_pragma_once(self):
        self.expect_code("src/base/add.h", "// Adds.\n", 1, "pragma")

    def test_a_header_without_an_opening_comment(self):
        self.expect_code("src/base/add.h", "#pragma once\n", 1, "comment")

    def test_long_files(self):
        self.expect_code("src/base/add.h", "// a\n#pragma once\n" + "int a;\n" * 399, 401, "limit")
        self.expect_code("src/base/add.cc", "int a;\n" * 601, 601, "limit")

    def test_long_functions_in_all_their_forms(self):
        for before, first in [
                ("", 1),
                ("namespace a {\n\nnamespace {\n", 4),
                ("struct A {\n int x = 1;\n", 3),
                ("struct A {\n int x{1};\n", 3),
                ("template <typename T>\nclass [[nodiscard]] A final : public B<T> {\n", 3),
                ("#define A(x) {\nconst int k[] = {1, 2};\n", 3)]:
            for head in ["int f(int x) {", "TEST(A, b) {", "auto f() const& noexcept -> int {",
                         "A::A(int x) : a_(x), b_{x} {", "bool operator==(const A& o) const {",
                         "int f() override {", "A() {"]:
                body = long_function(71).replace("int f(int x) {", head)
                self.expect_code("src/storage/sqlite/log.cc", before + body, first,
                                 "function has 71 lines")

    def test_a_function_of_70_lines_is_fine(self):
        self.assertEqual(self.problems_with({"src/storage/sqlite/log.cc": long_function(70)}), [])

    def test_long_tables_and_classes_are_fine(self):
        table = "const int k[] = {\n" + "  1,\n" * 80 + "};\n"
        many = "class A {\n" + "  int f() { return 1; }\n" * 80 + "};\n"
        self.assertEqual(self.problems_with({"src/storage/sqlite/log.cc": table + many}), [])

    # Tests and error pages

    def test_tests_that_skip_or_sleep(self):
        for code in ["GTEST_SKIP();", "TEST(A, DISABLED_b);", "std::this_thread::sleep_for(x);",
                     "usleep(1);"]:
            self.expect_code("tests/add_test.cc", "\n" + code + "\n", 2, "skip nor sleep")
            self.expect_code("src/storage/sqlite/log_test.cc", "\n" + code + "\n", 2,
                             "skip nor sleep")

    def test_names_of_a_test_file_outside_its_namespace(self):
        for before in ["", "namespace holdfast {\n", "namespace holdfast::sub_test {\n"]:
            self.expect_code("tests/add_test.cc", before + "namespace {\n}\n",
                             before.count("\n") + 1, "namespace holdfast::add_test {")
        good = "namespace holdfast::net::add_test {\nnamespace {\n}\n}\n"
        self.assertEqual(self.problems_with({"src/base/add_test.cc": good,
                                             "tests/add_test.cc": None}), [])
        self.assertEqual(self.problems_with({"examples/one_test.cc": "namespace {\n}\n"}), [])

    def test_an_error_code_without_page(self):
        self.expect({"docs/errors/conflict.md": None}, "include/holdfast/error_codes.h:5",
                    "conflict.md")

    def test_a_page_without_error_code(self):
        self.expect({"docs/errors/gone.md": "# gone\n"}, "docs/errors/gone.md:1",
                    "unknown error code")

    def test_a_page_that_says_other_numbers(self):
        page = GOOD_TREE["docs/errors/conflict.md"].replace("exit code 4", "exit code 5")
        self.expect({"docs/errors/conflict.md": page}, "docs/errors/conflict.md:1",
                    "does not open")

    def test_an_index_that_lacks_a_code(self):
        index = GOOD_TREE["docs/errors/README.md"].replace("| 20 |", "| 21 |")
        self.expect({"docs/errors/README.md": index}, "docs/errors/README.md:1", "conflict")


if __name__ == "__main__":
    unittest.main()
