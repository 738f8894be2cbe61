"""Kernels that are compiled once, however many kernels call them.

Numba optimises each function and translates it to machine code, and then does both again inside every function that
calls it: five levels of small kernels cost five times their code. Here a kernel that another one calls is only typed
and lowered, into a *part*; the *entry*, which Python calls, takes in the parts below it, and that module alone is
optimised and translated.

    plain numba                                   here
    a -> optimise, translate                      a --|
    b(a) -> optimise, translate b and a           b --|
    c(b) -> optimise, translate c, b and a        c --+-> optimise, translate

The numbers are the same to the bit: optimisation keeps the order of floating-point operations either way. This rests on
numba's internals, so `gamcore.kernels` uses it only with versions of numba that the tests ran with.
"""

from __future__ import annotations

from typing import Any

from numba.core import compiler, typing
from numba.core.codegen import JITCodeLibrary
from numba.core.registry import CPUDispatcher
from numba.core.runtime import rtsys
from numba.core.types.misc import unliteral


class _Part(JITCodeLibrary):  # type: ignore[misc]
    """The code of a kernel for one signature, to be linked into its callers: never optimised or loaded by itself."""

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self.below: dict[Any, None] = {}  # the parts that this one calls, in order

    def add_linking_library(self, library: Any) -> None:
        """Remember a part that this one calls; the entry links them all, and numba's runtime, once."""
        if library is not rtsys.library:
            self.below[library] = None

    def finalize(self) -> None:
        """Do nothing: the entry does."""
        self._finalized = True


class Kernel(CPUDispatcher):  # type: ignore[misc]
    """A compiled function: Python calls its entry, and kernels its part. It must not call itself."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._parts: dict[tuple[Any, ...], tuple[_Part, Any]] = {}

    def get_call_template(self, args: Any, kws: Any) -> tuple[Any, Any, Any, Any]:
        """Return what numba asks for to type a call from another kernel: the signature of the part."""
        parameters, given = self._compiler.fold_argument_types(args, kws)
        given = tuple(unliteral(one) for one in given)  # a constant needs no code of its own
        _, signature = self._part(given)
        name = self.py_func.__name__
        return typing.make_concrete_template(name, key=name, signatures=[signature]), parameters, given, {}

    def get_overload(self, sig: Any) -> _Part:
        """Return the key of what a call from another kernel runs."""
        return self._parts[tuple(sig)][0]

    def _part(self, args: tuple[Any, ...]) -> tuple[_Part, Any]:
        if args not in self._parts:
            context = self.targetdescr.target_context
            part = _Part(context.codegen(), self.py_func.__qualname__)
            result = compiler.compile_extra(
                self.targetdescr.typing_context, context, self.py_func, args, None, self._flags(), {}, library=part
            )
            context.insert_user_function(part, result.fndesc, [part, *part.below])
            self._parts[args] = part, result.signature
        return self._parts[args]

    def _flags(self) -> Any:
        flags = compiler.Flags()
        self.targetdescr.options.parse_as_flags(flags, self.targetoptions)
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        return flags
