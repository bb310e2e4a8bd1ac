"""The words that tools/tidy.py rejects, in comments, texts, documents and identifiers.

docs/glossary.md has the terms to use instead. Each group is a pattern and the advice that tidy.py
prints. A pattern is matched against the text in which camelCase and snake_case names are split into
words and lines are joined, so `goes_back`, `GoesBack` and "goes" at the end of a comment line
followed by "back" are all found. A space in a pattern matches a space or a line break.
"""

import re

GROUPS = {
    "persons": (r"\b(?:somebody|nobody|anybody|everybody|whoever|whomever|those who|all who)\b",
                "name the subject: the caller, the worker, the operator, another process"),
    "rooms": (r"\b(?:rooms?|houses?)\b", "write module, or source layout"),
    "debts": (r"\b(?:debts?|owes?|owed)\b", "write pending recovery, or outstanding"),
    "wishes": (r"\bwish(?:es|ed)?\b", "write claim request, or request"),
    "deeds": (r"\b(?:deeds?|lookers?|doors?|sight)\b",
              "write action, reader, authentication or view"),
    "places": (r"\b(?:work|store|server) places?\b", "write backend"),
    "telling": (r"\b(?:tell|tells|told|telling|tellers?)\b",
                "write report, notify, log, return or show"),
    "asking": (r"\b(?:asks|asked|asking|ask (?:for|again|later))\b",
               "write request, query, call or command"),
    "saying": (r"\b(?:say|says|said) so\b", "state what is reported"),
    "is no": (r"(?<!\bthere )\b(?:is|are|was|were) no (?!(?:longer|more|less|later|earlier|larger|"
              r"greater|bigger|smaller|older|newer|slower|faster|better|worse)\b)",
              "write \"is not a\""),
    "here": (r"\bthere (?:is|are) no(?: [\w\"'-]+){1,4} here\b",
             "state what is not allowed or not found, and what to use"),
    "going back": (r"\b(?:go|goes|going|went|gone) back\b", "write compensate, return or revert"),
    "going on": (r"\b(?:go|goes|going|went|gone) on\b", "write continue or resume"),
    "beaten": (r"\b(?:beaten|beats)\b", "write superseded, or heartbeat"),
    "rare": (r"\brare (?:state|facts?|parts?)\b|\brare\(",
             "name the part: events, graph, continuation"),
    "let in": (r"\blet in\b|\bturn(?:s|ed)? away\b", "write authenticate, or reject"),
    "away": (r"\b(?:is|was|are|were|went|goes|go|gone) away\b", "write unavailable, or lost"),
    "over": (r"\b(?:is|are|was|were) over\b(?!\s(?:\d|the\b|a\b|an\b))",
             "write has ended or expired"),
    "came of": (r"\b(?:came|comes|became|becomes|become) of\b", "write outcome, or result"),
}

# Where a word means what it says, and names that cannot change: (start of the path, pattern).
ALLOWED = [
    ("docs/simulate.md", r"\brooms?\b"),
    ("examples/simulate/", r"\brooms?\b|\btell customer\b"),
    ("examples/agent-loop/", r"\basks the user\b|\bname: asked\b"),
    ("", r"\btold to stop\b"),  # an event of the conformance protocol
    ("src/lab/sim/", r'"nobody"|"somebody"'),  # inputs of random choices: seeds depend on them
    ("src/net/http_transfer.cc", r"\bNOBODY\b"),  # an option of libcurl
    ("tests/simulate_test.py", r"\btell customer\b"),  # a step of an example
    ("tests/support/engine_story_steps.h", r"\broom\b"),  # stored in the files of tests/compat
    ("tools/dialect.py", r"(?s).*"),
    ("tools/tidy_test.py", r"(?s).*"),
]


def compiled(pattern):
    return re.compile(re.sub(r" (?![\w>]*\])", r"[ \\n]", pattern), re.IGNORECASE)


PATTERNS = {name: (compiled(pattern), advice) for name, (pattern, advice) in GROUPS.items()}
EXCEPTIONS = [(start, compiled(pattern)) for start, pattern in ALLOWED]


def words_of(text):
    """The text as words, with the same line breaks."""
    text = re.sub(r"^[ \t]*(?://+|#+|\*+)(?=\s)", "", text, flags=re.MULTILINE)
    text = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", text).replace("_", " ")
    return re.sub(r" *\n *", "\n", re.sub(r"[ \t]+", " ", text))


def findings(name, text):
    """(line, message) of each rejected word of a file."""
    words = words_of(text)
    allowed = [found.span() for start, pattern in EXCEPTIONS if name.startswith(start)
               for found in pattern.finditer(words)]
    for pattern, advice in PATTERNS.values():
        for found in pattern.finditer(words):
            if not any(begin <= found.start() and found.end() <= end for begin, end in allowed):
                phrase = " ".join(found[0].split())
                yield words.count("\n", 0, found.start()) + 1, f"\"{phrase}\": {advice}"
