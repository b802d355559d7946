"""Sparse documents times sparse weights into a dense block of scores."""

from __future__ import annotations

from lapwing.kernels._jit import kernel


@kernel
def scores(indptr, indices, data, weight_ptr, weight_index, weight_data, out):
    """out_ik = Σ_j x_ij w_jk; X by rows, W by rows, one per feature.

    Terms are added in the order in which a document has its features, as SciPy adds them: the same bits.
    """
    for i in range(out.shape[0]):
        row = out[i]
        row[:] = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            x = data[p]
            j = indices[p]
            for q in range(weight_ptr[j], weight_ptr[j + 1]):
                row[weight_index[q]] += x * weight_data[q]
