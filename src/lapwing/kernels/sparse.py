"""Sparse documents times sparse weights into a dense block of scores."""

from __future__ import annotations

from lapwing.kernels._jit import kernel


@kernel
def scores(indptr, indices, data, weight_ptr, weight_index, weight_data, place, dense, out):
    """out_ik = Σ_j x_ij w_jk; X by rows, W by rows, one per feature.

    place   where in `dense` the row of a feature stands in full, which is faster where most of it is not zero; else -1

    Terms are added in the order in which a document has its features, as SciPy adds them: the same bits.
    """
    for i in range(out.shape[0]):
        row = out[i]
        row[:] = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            x = data[p]
            j = indices[p]
            if place[j] >= 0:
                full = dense[place[j]]
                for k in range(row.size):
                    row[k] += x * full[k]
            else:
                for q in range(weight_ptr[j], weight_ptr[j + 1]):
                    row[weight_index[q]] += x * weight_data[q]
