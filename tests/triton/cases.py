"""The cases: a kernel, its types and tiles, its grid and its arguments."""
P = {"f16": "*fp16", "bf16": "*bf16", "f32": "*fp32", "i8": "*i8", "i32": "*i32", "e4m3": "*fp8e4nv", "e5m2": "*fp8e5"}


def product(name, arch, kind, out, m, n, k, rows, columns, depth, warps, stages, kernel="matmul", **more):
    """kind: the factors' type. Arguments are (type, elements, seed) of memory that is read, (type, elements, None) of what is written."""
    odd = m % rows or n % columns or k % depth
    constants = {"ROWS": rows, "COLUMNS": columns, "DEPTH": depth}
    if kernel in ("matmul", "matmul_transposed"):
        constants["INTEGER"] = out == "i32"
    if kernel == "matmul":
        constants["ODD"] = bool(odd)
    arguments = {"a": (kind, m * k, 1), "b": (kind, k * n, 2), "c": (out, m * n, None)}
    if kernel in ("matmul_given", "matmul_divided"):
        arguments["a"] += ((m, k), (rows, depth))
        arguments["b"] += ((k, n), (depth, columns))
        arguments["c"] += ((m, n), (rows, columns))
        arguments["K"] = k
    else:
        arguments.update({"M": m, "N": n, "K": k})
    return dict(name=f"{name}_{arch}", arch=arch, kernel=kernel, constants=constants, arguments=arguments, warps=warps, stages=stages,
                grid=(-(-m // rows), -(-n // columns), 1), **more)


def row_softmax(name, arch, kind, rows, n, width, warps):
    return dict(name=f"{name}_{arch}", arch=arch, kernel="softmax", constants={"WIDTH": width},
                arguments={"x": (kind, rows * n, 3), "y": (kind, rows * n, None), "n": n}, warps=warps, stages=1, grid=(rows, 1, 1))


def flash(name, arch, kind, heads, n, rows, columns, width, causal, warps, stages, **more):
    return dict(name=f"{name}_{arch}", arch=arch, kernel="attention",
                constants={"ROWS": rows, "COLUMNS": columns, "WIDTH": width, "CAUSAL": causal},
                arguments={"q": (kind, heads * n * width, 4), "k": (kind, heads * n * width, 5), "v": (kind, heads * n * width, 6),
                           "o": (kind, heads * n * width, None), "most": ("f32", heads * n, None), "n": n, "scale": 0.125 * 1.44269504},
                warps=warps, stages=stages, grid=(n // rows, heads, 1), **more)


def cases():
    for arch in (80, 90):
        big = arch == 90
        yield product("matmul_f16", arch, "f16", "f32", 128, 128, 256, 64, 64, 32, 4, 4)
        yield product("matmul_f16_wide", arch, "f16", "f16", 256, 128, 256, 128, 128, 64, 8 if big else 4, 3)
        yield product("matmul_bf16", arch, "bf16", "bf16", 128, 128, 256, 64, 128, 64, 4, 3)
        yield product("matmul_tf32", arch, "f32", "f32", 128, 128, 128, 64, 64, 32, 4, 3)
        yield product("matmul_i8", arch, "i8", "i32", 128, 128, 256, 64, 64, 64, 4, 3, kernel="matmul_transposed")
        yield product("matmul_f16_odd", arch, "f16", "f32", 100, 72, 88, 64, 64, 32, 4, 3)
        yield product("matmul_f16_plain", arch, "f16", "f32", 128, 128, 128, 64, 64, 32, 4, 1)
        yield row_softmax("softmax_f32", arch, "f32", 64, 781, 1024, 4)
        yield row_softmax("softmax_f16", arch, "f16", 64, 256, 256, 1)
        for causal in (False, True):
            c = "_causal" if causal else ""
            yield flash("attention_f16" + c, arch, "f16", 2, 256, 64, 64, 64, causal, 4, 3)
            yield flash("attention_bf16" + c, arch, "bf16", 2, 256, 128 if big else 64, 64, 64, causal, 8 if big else 4, 2)
            yield flash("attention_rounded" + c, arch, "f16", 2, 256, 64, 64, 64, causal, 4, 3, options={"enable_fp_fusion": False})
        yield product("matmul_described", arch, "f16", "f16", 128, 128, 256, 64, 64, 64, 4, 3, kernel="matmul_described")
    yield product("matmul_e4m3", 90, "e4m3", "f32", 128, 128, 256, 64, 64, 64, 4, 3, kernel="matmul_transposed")
    yield product("matmul_e5m2", 90, "e5m2", "f32", 128, 128, 256, 64, 64, 64, 4, 3, kernel="matmul_transposed")
    yield product("matmul_given", 90, "f16", "f16", 128, 128, 256, 64, 64, 64, 4, 3, kernel="matmul_given")
    yield product("matmul_given_wide", 90, "f16", "f16", 256, 256, 256, 128, 128, 64, 8, 3, kernel="matmul_given")
    yield product("matmul_divided", 90, "f16", "f16", 256, 256, 512, 128, 128, 64, 4, 3, kernel="matmul_divided")
    yield product("matmul_clusters", 90, "f16", "f16", 256, 256, 256, 128, 128, 64, 4, 3, kernel="matmul_given", options={"num_ctas": 2})
