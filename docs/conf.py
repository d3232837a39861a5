"""How Sphinx builds these pages: `sphinx-build -W docs docs/_build`."""

import longpole

project = "longpole"
author = "the longpole authors"
copyright = "the longpole authors"
version = release = longpole.__version__

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
nitpicky = True

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
# A generated page has two parts of equal rank: the causes and the words of the evidence.
suppress_warnings = ["myst.header"]

html_theme = "furo"
html_title = "longpole"
html_show_sphinx = False
