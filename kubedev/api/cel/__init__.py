"""CEL, as far as selectors of devices need it: a text is parsed, checked for types, and asked of one device.

`compile_selector` makes a Selector of a text, and `Selector.matches` asks it of a device as `view_of` shows it.
Modules: `lexer`, `syntax` (the tree and its parser), `types`, `functions` (what can be called), `checker`,
`evaluation`, `semver`, `selector`.

Left out: the estimate of what an expression costs before it is asked, optional values (`.?`), comprehensions with two
variables, and the functions on dates, URLs, IP addresses, regular expressions, formats and sets.

Go: `k8s.io/dynamic-resource-allocation/cel/compile.go`, `github.com/google/cel-go`.
"""

from kubedev.api.cel.functions import EvaluationError
from kubedev.api.cel.lexer import CompileError
from kubedev.api.cel.selector import Selector, compile_selector, view_of

__all__ = ["CompileError", "EvaluationError", "Selector", "compile_selector", "view_of"]
