"""Formulas as MathML, which every current browser draws by itself: no script, no font and no picture from elsewhere."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math import pick_math_environment
from docutils.utils.math.latex2mathml import tex2mathml


def setup(app: Any) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def visit_inline(translator: Any, node: Any) -> None:
    translator.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def visit_display(translator: Any, node: Any) -> None:
    """A formula on a line of its own; `\\\\` and `&` make aligned lines."""
    code = node.astext()
    environment = pick_math_environment(code)
    if environment.startswith("align"):
        code = rf"\begin{{aligned}}{code}\end{{aligned}}"
    translator.body.append(f'<div class="math">{tex2mathml(code, as_block=True)}</div>\n')
    raise nodes.SkipNode
