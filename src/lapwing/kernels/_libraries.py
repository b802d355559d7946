"""What is compiled goes into the kernel that asks for it, and is optimised there, once.

Numba optimises every function and turns it into machine code for itself, together with all that it calls, and again
within each of its callers: a part five calls deep six times, half of the time that compiling took. Here a part stays as
it was written down, in LLVM's language, until a kernel takes it in.

A kernel's copies of its parts belong to it alone. In Numba's way the linker keeps one copy of a function for all: that
of whichever kernel was compiled or loaded first, which may round otherwise than the others'. The last bits of a
model would hang on what else the process had done.
"""

from __future__ import annotations

from typing import Any

from llvmlite.binding import Linkage
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.environment import lookup_environment

ENVIRONMENT = "_ZN08NumbaEnv"  # how Numba names the place where a function finds its constants that are objects


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
    """Code that waits for a kernel to take it in: it is never run by itself, and has no place in memory."""

    def finalize(self) -> None:
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Any:
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """The kernel does, for all that it took in."""


class _KernelLibrary(_Library):
    """A kernel with all that it calls, directly or not."""

    _linking_libraries: list[JITCodeLibrary]

    def finalize(self) -> None:
        libraries = dict.fromkeys(self._linking_libraries)
        todo = list(libraries)
        while todo:
            one = todo.pop()
            if isinstance(one, _PartLibrary):
                more = [other for other in dict.fromkeys(one._linking_libraries) if other not in libraries]
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
        for function in self._final_module.functions:  # before, those called once would all be written into the caller
            if not function.is_declaration and function.linkage == Linkage.linkonce_odr:
                function.linkage = Linkage.internal


class PartCompiler(Compiler):
    """Numba's, into a library of ours."""

    library: type[JITCodeLibrary] = _PartLibrary

    def __init__(self, typing_context: Any, target_context: Any, _: Any, *rest: Any) -> None:
        library = self.library(target_context.codegen(), type(self).__name__)
        library.enable_object_caching()
        super().__init__(typing_context, target_context, library, *rest)


class KernelCompiler(PartCompiler):
    library = _KernelLibrary
