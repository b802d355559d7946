"""Numba's inside: the only module that uses names which Numba does not promise to keep.

**Libraries.** Numba optimises every function and turns it into machine code, together with all that it calls, and
again within each of its callers: a part five calls deep six times, half of the compile time. Here a part stays LLVM
code until a kernel links it. A kernel's copies of its parts belong to it alone. Numba's linker keeps one copy of a
function for all: that of whichever kernel was compiled or loaded first, which may round otherwise than the others'. The
last bits of a model would depend on what else the process had done.

**The cache.** Numba trusts its files on disk. Here their content is verified when it is read; a file that cannot be
read or written is ignored, and the kernel is compiled in memory. The stamp of a kernel is that of all files in this
folder, since parts from other modules are compiled into it.

**Types** that an operator takes are found out once (`_Typing`), which saves a quarter of the compile time.

Each has a test of itself: of the cache when this module is imported, of the others when the first kernel of a
process is compiled. Where one fails, kernels are compiled as Numba does by itself (`_jit.py`).
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numba
import numba.core.event
from llvmlite.binding import Linkage
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.environment import lookup_environment
from numba.core.registry import CPUDispatcher
from numba.core.types import Function

log = logging.getLogger("lapwing")

ENVIRONMENT = "_ZN08NumbaEnv"  # how Numba names the variable in which a function finds its constants that are objects
HERE = Path(__file__).parent

RELIED_ON = {
    JITCodeLibrary: "finalize get_pointer_to_function _ensure_finalized _optimize_functions _optimize_final_module",
    FunctionCache: "load_overload save_overload",
    IndexDataCacheFile: "_dump _data_path _load_data",
    CPUDispatcher: "enable_caching get_call_template get_overload",
}
for _class, _names in RELIED_ON.items():
    for _name in _names.split():
        if not hasattr(_class, _name):
            raise ImportError(f"Numba {numba.__version__} has no {_class.__name__}.{_name}")

_warnings: set[str] = set()


def warn_once(message: str, *values: object) -> None:
    """The first kernel speaks for all of them."""
    if message not in _warnings:
        _warnings.add(message)
        log.warning(message, *values)


class _Library(JITCodeLibrary):
    def _optimize_functions(self, module: Any) -> None:
        """Numba's, without what is only declared: a function has ten such, and each would have passes of its own."""
        try:
            passes, builder = self._codegen._function_pass_manager()
        except TypeError:  # older versions have one for the module
            super()._optimize_functions(module)
            return
        module.data_layout = self._codegen._data_layout
        for function in module.functions:
            if not function.is_declaration:
                passes.run(function, builder)


class _PartLibrary(_Library):
    """Code that waits for a kernel to link it: it is never run by itself, and has no place in memory."""

    def finalize(self) -> None:
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Any:
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """The kernel does, for all that it links."""


class _KernelLibrary(_Library):
    """A kernel with all that it calls, directly or not."""

    _linking_libraries: list[JITCodeLibrary]

    def finalize(self) -> None:
        libraries = dict.fromkeys(self._linking_libraries)
        todo = list(libraries)
        while todo:
            library = todo.pop()
            if isinstance(library, _PartLibrary):
                more = [other for other in dict.fromkeys(library._linking_libraries) if other not in libraries]
                libraries.update(dict.fromkeys(more))
                todo += more
        self._linking_libraries = list(libraries)
        super().finalize()
        for variable in self._final_module.global_variables:
            if variable.name.startswith(ENVIRONMENT):
                environment = lookup_environment(variable.name)
                if environment is not None:
                    self._codegen.set_env(variable.name, environment)

    def _optimize_final_module(self) -> None:
        super()._optimize_final_module()
        for function in self._final_module.functions:  # before, those called once would all be inlined
            if not function.is_declaration and function.linkage == Linkage.linkonce_odr:
                function.linkage = Linkage.internal


class _Typing:
    """Numba's typing context, which remembers what types Numba's operators and functions were found to take.

    For every `a + b` and every `x[i]` Numba tries all implementations that were ever declared, one after the other. A
    kernel has thousands of them, of a few dozen kinds.
    """

    answers: ClassVar[dict[Any, Any]] = {}

    def __init__(self, context: Any, fastmath: str) -> None:
        self._context = context
        self._fastmath = fastmath  # which Numba compiles its own implementations with, too

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def resolve_function_type(self, function: Any, args: Any, kws: Any) -> Any:
        if kws or type(function) is not Function:
            return self._context.resolve_function_type(function, args, kws)
        question = function, args, self._fastmath
        answer = self.answers.get(question)
        if answer is None:  # unknown, or no implementation so far
            answer = self.answers[question] = self._context.resolve_function_type(function, args, kws)
        return answer


class PartCompiler(Compiler):
    """Numba's compiler, with our typing context and into a library of ours if these work."""

    library: type[JITCodeLibrary] = _PartLibrary
    tried = False  # in the test of the libraries

    def __init__(self, typing_context: Any, target_context: Any, library: Any, *rest: Any) -> None:
        if self.tried or libraries_work():
            library = self.library(target_context.codegen(), type(self).__name__)
            library.enable_object_caching()
            flags = rest[2]
            typing_context = _Typing(typing_context, str(sorted(flags.fastmath.flags)))
        super().__init__(typing_context, target_context, library, *rest)


class KernelCompiler(PartCompiler):
    library = _KernelLibrary


class _TriedPartCompiler(PartCompiler):
    tried = True


class _TriedKernelCompiler(KernelCompiler):
    tried = True


def _probed(x: float) -> float:
    return x + 1.0


@cache
def libraries_work() -> bool:
    """Whether a kernel that calls a part computes what it should; tried once, by the first kernel to be compiled."""
    try:
        part = Part(_probed, options={"nopython": True}, compiler=_TriedPartCompiler)
        return float(numba.njit(lambda x: 2.0 * part(x), pipeline_class=_TriedKernelCompiler)(1.0)) == 4.0
    except Exception as error:  # whatever another version of Numba does
        reason = str(error).partition("\n")[0]
        warn_once("Numba %s: compiling kernels takes longer than it could (%s)", numba.__version__, reason)
        return False


class Part(CPUDispatcher):
    """A function compiled without a way in from Python: to call it from there would crash the interpreter."""

    def __init__(self, function: Any, locals: Any = None, options: Any = None, compiler: Any = PartCompiler) -> None:
        super().__init__(function, locals or {}, {**options, "no_cpython_wrapper": True}, compiler)

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(f"{self.__name__} is a part of kernels, and called by them only")


class Kernel(CPUDispatcher):
    """Called from Python, and kept on disk. Called by another kernel it is a part of that one, compiled into it."""

    def __init__(self, function: Any, locals: Any = None, options: Any = None, compiler: Any = KernelCompiler) -> None:
        super().__init__(function, locals or {}, options, compiler)
        self._part = Part(function, locals, options)
        self.enable_caching()

    def enable_caching(self) -> None:
        try:
            self._cache = KernelCache(self.py_func)
        except RuntimeError:  # Numba found no place to cache in
            log.info("no writable folder for compiled kernels; compiling in memory")
        except Exception as error:  # whatever another version of Numba does
            warn_once("Numba %s: compiled kernels are not kept on disk (%r)", numba.__version__, error)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return self._part.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        return self._part.get_overload(sig)


class KernelCache(FunctionCache):
    """The cache of one kernel: a place to look in, never a reason to stop."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        stamp = stamp_of(Path(function.__code__.co_filename))
        self._cache_file = _CheckedFiles(self._cache_path, self._impl.filename_base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:  # anything can come out of a damaged file
            self._ignore(error)
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except Exception as error:
            self._ignore(error)

    def _ignore(self, error: Exception) -> None:
        with suppress(OSError, AttributeError):
            os.unlink(self._cache_file._index_path)  # it is written again with the next kernel that is compiled
        where, kind = self._cache_path, type(error).__name__
        warn_once("compiled kernels in %s cannot be used (%s: %s): compiling what is needed again", where, kind, error)


class _CheckedFiles(IndexDataCacheFile):
    """Files that end in the SHA-256 of the stamp and of the content before it."""

    def _dump(self, obj: Any) -> bytes:
        content: bytes = super()._dump(obj)
        return content + self._digest(content)

    def _load_data(self, name: str) -> Any:
        content = Path(self._data_path(name)).read_bytes()
        size = len(content) - hashlib.sha256().digest_size
        if size < 0 or self._digest(content[:size]) != content[size:]:
            raise ValueError(f"{name} is truncated or was altered")
        return super()._load_data(name)

    def _digest(self, content: bytes) -> bytes:
        return hashlib.sha256(self._source_stamp.encode() + content).digest()


@cache
def stamp_of(path: Path) -> str:
    """SHA-256 over the module's file and all files of this folder."""
    digest = hashlib.sha256()
    for file in dict.fromkeys([*sorted(HERE.glob("*.py")), path]):
        with suppress(OSError):  # a function typed at a prompt has no file
            digest.update(f"{file.name}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


class _FirstCompile(numba.core.event.Listener):
    call: Callable[[], object] | None = None

    def on_start(self, _: Any) -> None:
        call, self.call = self.call, None
        if call is not None:
            call()

    def on_end(self, _: Any) -> None:
        pass


first_compile = _FirstCompile()
numba.core.event.register("numba:compile", first_compile)
