"""Decides what the agent does next, in place of a model.

stdin: the context of the run: city, memory, and the observation that the last decision led to.
stdout: {"memory": [...], "next": {"action": "use_tool" | "ask" | "say", ...}}; the observation is
cleared, so that a tool that fails leaves none.
The decision is part of the run once it is durable: after a crash it is not made again.
"""
import json
import sys


def decide(city, memory):
    """The next action, given what is known."""
    known = {entry["wanted"]: entry["got"] for entry in memory}
    if "weather" not in known:
        return {"action": "use_tool", "wanted": "weather", "tool": "weather", "argument": city}
    if known["weather"] != "rain":
        return {"action": "say", "say": f"{city}: {known['weather']}. Go as you are."}
    if "umbrella" not in known:
        return {"action": "use_tool", "wanted": "umbrella", "tool": "cupboard",
                "argument": "umbrella"}
    if known["umbrella"] != "none":
        return {"action": "say", "say": f"{city}: rain. Take the {known['umbrella']} umbrella."}
    if "buy" not in known:
        return {"action": "ask", "wanted": "buy",
                "question": "It rains, and there is no umbrella. Shall I buy one?"}
    if known["buy"] != "yes":
        return {"action": "say", "say": f"{city}: rain. You will get wet."}
    if "bought" not in known:
        return {"action": "use_tool", "wanted": "bought", "tool": "shop", "argument": "umbrella"}
    return {"action": "say", "say": f"{city}: rain. Take the {known['bought']} umbrella."}


context = json.load(sys.stdin)
memory = context["memory"]
if "next" in context:
    got = (context["observation"] or {}).get("text", "nothing")
    memory = [*memory, {"wanted": context["next"]["wanted"], "got": got}]
print(json.dumps({"memory": memory, "next": decide(context["city"], memory),
                  "observation": None}))
