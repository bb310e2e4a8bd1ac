#!/usr/bin/env bash
# Formats every C++ file, or with --check only says which are not formatted (exit code 1).
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

arguments=(-i)
if [[ "${1:-}" == --check ]]; then
  arguments=(--dry-run --Werror)
fi

shopt -s nullglob globstar
files=({src,include,tests,bench,fuzz,examples}/**/*.{h,cc})
printf '%s\0' "${files[@]}" | xargs -0 clang-format "${arguments[@]}"
