"""Kernels that are compiled once, however many kernels call them.

Numba optimises each function and translates it to machine code, and then does both again inside every function that
calls it: five levels of small kernels cost five times their code. Here every kernel is only typed and lowered, into a
*part*. An *entry*, which Python calls, is a wrapper around a part with the parts below it, and that module alone is
optimised and translated.

    plain numba                                   here
    a -> optimise, translate                      a --|
    b(a) -> optimise, translate b and a           b --|
    c(b) -> optimise, translate c, b and a        c --+-> optimise, translate

The numbers are the same to the bit: optimisation keeps the order of floating-point operations either way. This rests on
numba's internals, so `gamcore.kernels` uses it only with versions of numba that the tests ran with.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import compiler, typed_passes, typing, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager
from numba.core.dispatcher import _FunctionCompiler  # type: ignore[attr-defined]
from numba.core.registry import CPUDispatcher
from numba.core.runtime import rtsys
from numba.core.types.misc import unliteral

from gamcore.kernels.cache import turn
from gamcore.kernels.contexts import refreshed_if_needed, remembered_types

PASSES = (
    untyped_passes.TranslateByteCode,
    untyped_passes.FixupArgs,
    untyped_passes.IRProcessing,
    untyped_passes.GenericRewrites,
    untyped_passes.ReconstructSSA,
    typed_passes.NopythonTypeInference,
    typed_passes.PreLowerStripPhis,
    typed_passes.IRLegalization,
    typed_passes.NativeLowering,
    typed_passes.NoPythonBackend,
)
"""What numba does to a kernel. Left out: what serves closures, exceptions, `with`, expressions over whole arrays,
literal arguments and reports, none of which a kernel has."""

LONG = 800
"""Instructions, before optimisation, beyond which a copy of a function costs more time to compile than it can save."""


class _Flags(compiler.Flags):  # type: ignore[misc]
    """Options of a compilation, compared faster: numba does so at each operator and call."""

    _HASH = hash(compiler.Flags())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, _Flags):
            return bool(self._values == other._values)
        return bool(super().__eq__(other))

    def __hash__(self) -> int:
        return self._HASH  # that of numba, too, is the same for all options


class _Pipeline(compiler.CompilerBase):  # type: ignore[misc]
    """The passes of numba that kernels need."""

    def define_pipelines(self) -> list[PassManager]:
        passes = PassManager("kernel")
        for compiler_pass in PASSES:
            passes.add_pass(compiler_pass, compiler_pass.__name__)
        passes.finalize()
        return [passes]


class _Part(JITCodeLibrary):  # type: ignore[misc]
    """The code of a kernel for one signature, to be linked into its callers: never optimised or loaded by itself."""

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self.below: dict[Any, None] = {}  # the parts that this one calls, in order

    def add_ir_module(self, ir_module: Any) -> None:
        """Add code as it was lowered. Long functions are called, and not copied to where they are called."""
        for function in ir_module.functions:
            if sum(len(block.instructions) for block in function.blocks) > LONG:
                function.attributes.add("noinline")
        super().add_ir_module(ir_module)

    def add_linking_library(self, library: Any) -> None:
        """Remember a part that this one calls; the entry links them all, and numba's runtime, once."""
        if library is not rtsys.library:
            self.below[library] = None

    def finalize(self) -> None:
        """Do nothing: the entry does."""
        self._finalized = True


@contextmanager
def _no_collection() -> Iterator[None]:
    """Put off the search for cyclic garbage: a compiler makes many objects that live on, and each search visits all.

    Afterwards they count as old, so that only a full search visits them.
    """
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            if not gc.get_freeze_count():  # else what somebody froze would thaw
                gc.freeze()
                gc.unfreeze()
            gc.enable()


class _Entries(_FunctionCompiler):  # type: ignore[misc]
    """Makes a kernel's entries."""

    parts: Kernel

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        """Return the part as numba returns what it compiled, in a library of its own that Python can call."""
        context = self.targetdescr.target_context
        with _no_collection(), refreshed_if_needed(context):
            part, result = self.parts.part(tuple(args))
            library = context.codegen().create_library(self.py_func.__qualname__)
            library.enable_object_caching()
            for lower in (part, *part.below, rtsys.library):
                library.add_linking_library(lower)
            described = result.fndesc, result.environment
            with context.push_code_library(library):
                context.create_cpython_wrapper(library, *described, result.call_helper, release_gil=True)
            return result._replace(library=library, entry_point=context.get_executable(library, *described))


class Kernel(CPUDispatcher):  # type: ignore[misc]
    """A compiled function: Python calls its entry, and kernels its part. It must not call itself."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._parts: dict[tuple[Any, ...], tuple[_Part, Any]] = {}
        old: Any = self._compiler  # type: ignore[has-type]
        self._compiler = _Entries(old.py_func, old.targetdescr, old.targetoptions, old.locals, old.pipeline_class)
        self._compiler.parts = self

    def compile(self, sig: Any) -> Any:
        """Return the entry for these types of arguments, compiled by one process alone. Threads take turns first: one
        that waited for Numba's lock with a turn of its own would be waited for by the one that has it."""
        with global_compiler_lock, turn(self):
            return super().compile(sig)

    def get_call_template(self, args: Any, kws: Any) -> tuple[Any, Any, Any, Any]:
        """Return what numba asks for to type a call from another kernel: the signature of the part."""
        parameters, given = self._compiler.fold_argument_types(args, kws)
        given = tuple(unliteral(kind) for kind in given)  # a constant needs no code of its own
        _, result = self.part(given)
        name = self.py_func.__name__
        return typing.make_concrete_template(name, key=name, signatures=[result.signature]), parameters, given, {}

    def get_overload(self, sig: Any) -> _Part:
        """Return the key of what a call from another kernel runs."""
        return self._parts[tuple(sig)][0]

    def part(self, args: tuple[Any, ...]) -> tuple[_Part, Any]:
        """Return the part for these types of arguments, and what numba says of it."""
        if args not in self._parts:
            context = self.targetdescr.target_context
            part = _Part(context.codegen(), self.py_func.__qualname__)
            typed = remembered_types(self.targetdescr.typing_context)
            result = compiler.compile_extra(
                typed, context, self.py_func, args, None, self._flags(), {}, library=part, pipeline_class=_Pipeline
            )
            context.insert_user_function(part, result.fndesc, [part, *part.below])
            self._parts[args] = part, result
        return self._parts[args]

    def _flags(self) -> Any:
        flags = _Flags()
        self.targetdescr.options.parse_as_flags(flags, self.targetoptions)
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        return flags


class Trait(Kernel):
    """A kernel that Python calls as the function it is, without compiling it."""

    def __call__(self, *args: Any) -> Any:
        """Run the Python function."""
        return self.py_func(*args)
