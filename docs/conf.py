"""How the site is built: `make docs` writes it to docs/_build/html, offline, with warnings as errors."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

import kinhash  # noqa: E402

project = "kinhash"
author = "The kinhash developers"
copyright = author
release = version = kinhash.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_gallery.gen_gallery",
    "api_pages",  # pages of the API, from docstrings
    "command_pages",  # pages of the command line, from --help
    "no_network",  # refuses pages that would load something from elsewhere
]
exclude_patterns = ["_build", "_ext", "**/GALLERY_HEADER.rst"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]

default_role = "py:obj"  # what stands in backticks in a docstring is a name
highlight_language = "none"  # fences without a language are commands and tables
autodoc_typehints = "none"  # types stand beside the parameters
autodoc_member_order = "bysource"
python_maximum_signature_line_length = 88

sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"/(?!plot_)[^/]*\.py$",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "write_computation_times": False,  # its page would load scripts from elsewhere
    "matplotlib_animations": False,
    "plot_gallery": True,
    "abort_on_example_error": True,
}

toc_object_entries_show_parents = "hide"

html_theme = "pydata_sphinx_theme"
html_title = "kinhash"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_last_updated_fmt = None
html_sidebars = {"index": [], "changelog": [], "gallery/index": []}
html_theme_options = {
    "logo": {"text": "kinhash"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "header_links_before_dropdown": 7,
    "navigation_with_keys": False,
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}


def setup(app):
    """Sessions end with an empty line for doctest; readers need none."""
    from docutils import nodes

    def trim(app, doctree):
        for block in doctree.findall(nodes.literal_block):
            if isinstance(block.children[0], nodes.Text):
                block.rawsource = block.astext().rstrip()
                block.children = [nodes.Text(block.rawsource)]

    app.connect("doctree-read", trim)
