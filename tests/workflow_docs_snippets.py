"""Generates C++ from the ```cpp blocks of a document: one function each, and a table of them.

usage: workflow_docs_snippets.py DOCUMENT OUTPUT
A block becomes the body of a function that receives an engine and a run, and may use HOLDFAST_TRY
and HOLDFAST_CHECK. Compiler errors name the line of the document.
"""
import pathlib
import sys


def blocks(text):
    """(line of the first line, text) of each ```cpp block."""
    found, begin, lines = [], None, []
    for number, line in enumerate(text.splitlines(), 1):
        if begin is None and line == "```cpp":
            begin, lines = number + 1, []
        elif begin is not None and line == "```":
            found.append((begin, "\n".join(lines)))
            begin = None
        elif begin is not None:
            lines.append(line)
    return found


def main():
    document, output = map(pathlib.Path, sys.argv[1:])
    found = blocks(document.read_text(encoding="utf-8"))
    code = []
    for line, text in found:
        code.append(
            f"Result<void> snippet_{line}([[maybe_unused]] Engine& engine,\n"
            "    [[maybe_unused]] const std::string& run_id) {\n"
            f'#line {line} "{document}"\n{text}\n  return {{}};\n}}\n')
    code.append("const std::vector<Snippet> kSnippets = {\n")
    code.extend(f"    {{{line}, snippet_{line}}},\n" for line, _ in found)
    code.append("};\n")
    output.write_text("\n".join(code), encoding="utf-8")


if __name__ == "__main__":
    main()
