"""Prints the README's first command, so that what CI runs is what the README says."""

from __future__ import annotations

import re
from pathlib import Path

readme = (Path(__file__).parent.parent / "README.md").read_text()
blocks = re.findall(r"^```(?:sh|bash|console)\n(.*?)^```", readme, flags=re.MULTILINE | re.DOTALL)
print(blocks[0])
