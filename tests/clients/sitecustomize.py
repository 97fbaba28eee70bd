"""Read by Python at its start, by way of PYTHONPATH: lets Numba 0.56 use the NVVM of CUDA 12 and 13.

Numba says that its intermediate code has version 1.6. NVVM 2.0 refuses that number, and takes the same code when it says 2.0.
"""
import importlib.abc
import importlib.util
import sys

NAME = "numba.cuda.cudadrv.nvvm"


class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name != NAME:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)

            def add_ir_version(code):
                number = module.ir.IntType(32)
                version = code.add_metadata([number(2), number(0), number(3), number(1)])
                code.add_named_metadata("nvvmir.version", version)

            module.add_ir_version = add_ir_version

        spec.loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, Finder())
