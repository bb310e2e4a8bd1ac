"""Writes out/manifest.txt: one line for each clip, in the order of the input.

stdin: {"clips": [what transcode.sh said...], "posters": [what poster.sh said, or an error...]}
stdout: {"file": "out/manifest.txt", "clips": 50, "posters": 49}
"""
import json
import os
import sys

given = json.load(sys.stdin)
lines = []
for clip, poster in zip(given["clips"], given["posters"], strict=True):
    picture = poster.get("file") or "no poster: " + poster["error"]["code"]
    lines.append(f"{clip['clip']} {clip['checksum']} {clip['bytes']} {picture}\n")

name = "out/manifest.txt"
with open(f"{name}.{os.getpid()}", "w", encoding="utf-8") as file:
    file.writelines(lines)
os.replace(file.name, name)
print(json.dumps({"file": name, "clips": len(lines),
                  "posters": sum("file" in poster for poster in given["posters"])}))
