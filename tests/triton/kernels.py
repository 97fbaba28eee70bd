"""Kernels in Triton, for PTX as its compiler writes it: products of matrices, rows' softmax, attention."""
import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, M, N, K, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr, INTEGER: tl.constexpr, ODD: tl.constexpr):
    """c = a b, all by rows; ODD: the sizes are no multiples of the tiles'."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    depth = tl.arange(0, DEPTH)
    left = a + rows[:, None] * K + depth[None, :]
    right = b + depth[:, None] * N + columns[None, :]
    if INTEGER:
        sums = tl.zeros((ROWS, COLUMNS), dtype=tl.int32)
    else:
        sums = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, DEPTH)):
        if ODD:
            inside = depth < K - k * DEPTH
            x = tl.load(left, mask=(rows[:, None] < M) & inside[None, :], other=0.0)
            y = tl.load(right, mask=inside[:, None] & (columns[None, :] < N), other=0.0)
        else:
            x = tl.load(left)
            y = tl.load(right)
        if INTEGER:
            sums = tl.dot(x, y, sums, out_dtype=tl.int32)
        else:
            sums = tl.dot(x, y, sums)
        left += DEPTH
        right += DEPTH * N
    to = c + rows[:, None] * N + columns[None, :]
    if ODD:
        tl.store(to, sums.to(c.dtype.element_ty), mask=(rows[:, None] < M) & (columns[None, :] < N))
    else:
        tl.store(to, sums.to(c.dtype.element_ty))


@triton.jit
def matmul_transposed(a, b, c, M, N, K, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr, INTEGER: tl.constexpr):
    """c = a b, where b lies by columns."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    depth = tl.arange(0, DEPTH)
    left = a + rows[:, None] * K + depth[None, :]
    right = b + depth[:, None] + columns[None, :] * K
    if INTEGER:
        sums = tl.zeros((ROWS, COLUMNS), dtype=tl.int32)
    else:
        sums = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, DEPTH)):
        x = tl.load(left)
        y = tl.load(right)
        if INTEGER:
            sums = tl.dot(x, y, sums, out_dtype=tl.int32)
        else:
            sums = tl.dot(x, y, sums)
        left += DEPTH
        right += DEPTH
    tl.store(c + rows[:, None] * N + columns[None, :], sums.to(c.dtype.element_ty))


@triton.jit
def matmul_described(a, b, c, M, N, K, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr):
    """c = a b through descriptors of tensors that the kernel makes itself."""
    left = tl.make_tensor_descriptor(a, shape=[M, K], strides=[K, 1], block_shape=[ROWS, DEPTH])
    right = tl.make_tensor_descriptor(b, shape=[K, N], strides=[N, 1], block_shape=[DEPTH, COLUMNS])
    to = tl.make_tensor_descriptor(c, shape=[M, N], strides=[N, 1], block_shape=[ROWS, COLUMNS])
    row = tl.program_id(0) * ROWS
    column = tl.program_id(1) * COLUMNS
    sums = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, DEPTH)):
        sums = tl.dot(left.load([row, k * DEPTH]), right.load([k * DEPTH, column]), sums)
    to.store([row, column], sums.to(tl.float16))


@triton.jit
def matmul_given(a, b, c, K, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr):
    """c = a b through descriptors that the host makes."""
    row = tl.program_id(0) * ROWS
    column = tl.program_id(1) * COLUMNS
    sums = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, DEPTH)):
        sums = tl.dot(a.load([row, k * DEPTH]), b.load([k * DEPTH, column]), sums)
    c.store([row, column], sums.to(tl.float16))


@triton.jit
def matmul_divided(a, b, c, K, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr):
    """As matmul_given; some warps load, others multiply."""
    row = tl.program_id(0) * ROWS
    column = tl.program_id(1) * COLUMNS
    sums = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for k in tl.range(0, tl.cdiv(K, DEPTH), warp_specialize=True):
        sums = tl.dot(a.load([row, k * DEPTH]), b.load([k * DEPTH, column]), sums)
    c.store([row, column], sums.to(tl.float16))


@triton.jit
def softmax(x, y, n, WIDTH: tl.constexpr):
    """One row a program."""
    at = tl.arange(0, WIDTH)
    inside = at < n
    row = tl.load(x + tl.program_id(0) * n + at, mask=inside, other=-float("inf")).to(tl.float32)
    powers = tl.exp(row - tl.max(row, axis=0))
    tl.store(y + tl.program_id(0) * n + at, powers / tl.sum(powers, axis=0), mask=inside)


@triton.jit
def attention(q, k, v, o, most, n, scale, ROWS: tl.constexpr, COLUMNS: tl.constexpr, WIDTH: tl.constexpr, CAUSAL: tl.constexpr):
    """o = softmax(scale q k') v of one head for a block of rows; most: log2 of each row's sum. scale holds log2(e)."""
    head = tl.program_id(1) * n * WIDTH
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, COLUMNS)
    width = tl.arange(0, WIDTH)
    queries = tl.load(q + head + rows[:, None] * WIDTH + width[None, :])
    largest = tl.full((ROWS,), -1.0e30, dtype=tl.float32)
    total = tl.zeros((ROWS,), dtype=tl.float32)
    sums = tl.zeros((ROWS, WIDTH), dtype=tl.float32)
    end = n
    if CAUSAL:
        end = (tl.program_id(0) + 1) * ROWS
    for first in range(0, end, COLUMNS):
        keys = tl.load(k + head + (first + columns)[None, :] * WIDTH + width[:, None])
        scores = tl.dot(queries, keys) * scale
        if CAUSAL:
            scores = tl.where(rows[:, None] >= (first + columns)[None, :], scores, -1.0e30)
        larger = tl.maximum(largest, tl.max(scores, axis=1))
        powers = tl.exp2(scores - larger[:, None])
        shrink = tl.exp2(largest - larger)
        total = total * shrink + tl.sum(powers, axis=1)
        values = tl.load(v + head + (first + columns)[:, None] * WIDTH + width[None, :])
        sums = tl.dot(powers.to(values.dtype), values, sums * shrink[:, None])
        largest = larger
    tl.store(most + tl.program_id(1) * n + rows, largest + tl.log2(total))
    tl.store(o + head + rows[:, None] * WIDTH + width[None, :], (sums / total[:, None]).to(o.dtype.element_ty))
