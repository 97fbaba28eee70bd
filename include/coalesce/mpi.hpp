// Exact reductions over the ranks of an MPI communicator: the same bits for any number of ranks, any split of the data and
// any order in which MPI combines them. Plain C++17 and MPI 3; no CUDA. T is float, double, coalesce::half_bits or
// coalesce::bfloat16_bits; a summary's elements may also be integers.
//
//   coalesce::mpi::exact_allreduce(mine, out, count, MPI_COMM_WORLD);   // out[i] = the sum over ranks of mine[i]
//
//   coalesce::host::exact_accumulator<float> sum;    // or any number of them, or coalesce::host::summary<T>
//   sum.add(my_part, my_count);
//   coalesce::mpi::allreduce(&sum, 1, MPI_COMM_WORLD);                  // then sum.sum() is the same on all ranks
//
//   reproducible       (words: coalesce/reduce.cuh)
//   exact_allreduce    the ranks' elements
//   exact_reduce       the ranks' elements
//   allreduce          elements, however they are spread over the ranks
//   reduce             elements, however they are spread over the ranks
//
// What travels is the stored form of an accumulator (docs/exact.md): 56 bytes for sums of float, half and bfloat16, 280
// for sums of double, little-endian with a version. Elements of up to 4 KB take one round of messages, in which the ranks
// also compare their requests; more take that round and a collective of MPI. Each function is collective, and so is what a
// communicator's first call adds: a communicator for these messages, which goes with the other.
//
// Each function returns MPI_SUCCESS or an MPI error code, the same on all ranks: MPI_ERR_COUNT, MPI_ERR_TYPE, MPI_ERR_OP or
// MPI_ERR_ROOT if ranks disagree about count, type, function or root; MPI_ERR_OTHER if bytes that arrive are no stored
// form; MPI_ERR_COMM for a communicator of two groups; what is written is then void. Errors of MPI itself go to the
// communicator's error handler first; the default ends the program.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <coalesce/detail/mpi/opening.hpp>
#include <coalesce/detail/mpi/stored_form.hpp>
#include <vector>

namespace coalesce::mpi {

namespace detail {

// Elements of a call are combined in batches that stay in the L2 cache: larger ones cost more in page faults than they
// save in latency.
inline constexpr int batch = 1 << 10;

// MPI calls it for pairs of stored forms; it cannot return an error.
template <class A>
void combine(void* in, void* inout, int* count, MPI_Datatype*) {
  merge_forms<A>(static_cast<unsigned char*>(inout), static_cast<const unsigned char*>(in), *count);
}

// The type and operation for A, made at the first use and kept until the program ends: they are few.
template <class A>
struct handles {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op operation = MPI_OP_NULL;
  int error;
  handles() {
    error = MPI_Type_contiguous(static_cast<int>(stored_form<A>::bytes()), MPI_BYTE, &type);
    if (error == MPI_SUCCESS) error = MPI_Type_commit(&type);
    if (error == MPI_SUCCESS) error = MPI_Op_create(&combine<A>, 1, &operation);
  }
  static const handles& get() {
    static const handles made;
    return made;
  }
};

// get(i) -> A; put(i, A) where the result belongs to this rank. `root` is a rank or to_all. `direct`: null, or the
// accumulators, where their memory is what travels.
template <class A, class Get, class Put>
int combine_over_ranks(int count, int root, MPI_Comm comm, int function, A* direct, Get get, Put put) {
  using form = stored_form<A>;
  opening mine(request{function, form::kind, count, root}, form::bytes());
  for (int i = 0; i < mine.elements(); ++i) form::store(get(i), mine.element(i));
  meeting ranks;
  int done = meet(comm, ranks);
  if (done == MPI_SUCCESS) done = mine.agree(ranks, comm, &merge_forms<A>);
  if (done != MPI_SUCCESS) return done;
  const bool receives = root == to_all || root == ranks.rank;

  // Elements first .. first + part - 1, combined.
  const auto take = [&](const unsigned char* bytes, int first, int part) {
    A one;
    for (int i = 0; i < part; ++i) {
      if (!form::load(one, bytes + i * form::bytes())) return false;
      if (receives) put(first + i, one);
    }
    return true;
  };
  if (mine.elements() == count)  // all ranks have the same bytes
    return take(mine.element(0), 0, count) ? MPI_SUCCESS : MPI_ERR_OTHER;

  const handles<A>& handle = handles<A>::get();
  if (handle.error != MPI_SUCCESS) return handle.error;
  // `part` elements at `bytes`, in place where this rank receives them.
  const auto exchange = [&](void* bytes, int part) {
    if (root == to_all) return MPI_Allreduce(MPI_IN_PLACE, bytes, part, handle.type, handle.operation, comm);
    return receives ? MPI_Reduce(MPI_IN_PLACE, bytes, part, handle.type, handle.operation, root, comm)
                    : MPI_Reduce(bytes, nullptr, part, handle.type, handle.operation, root, comm);
  };
  int damaged = 0;
  if (direct != nullptr) {
    done = exchange(direct, count);
    if (done != MPI_SUCCESS) return done;
    for (int i = 0; i < count && receives && !damaged; ++i)
      damaged = !form::is_stored(reinterpret_cast<const unsigned char*>(direct + i));
  } else {
    std::vector<unsigned char> bytes;
    for (int first = 0; first < count; first += batch) {
      const int part = std::min(batch, count - first);
      bytes.resize(part * form::bytes());
      for (int i = 0; i < part; ++i) form::store(get(first + i), bytes.data() + i * form::bytes());
      done = exchange(bytes.data(), part);
      if (done != MPI_SUCCESS) return done;
      if (receives && !damaged) damaged = !take(bytes.data(), first, part);
    }
  }
  if (root != to_all) done = MPI_Bcast(&damaged, 1, MPI_INT, root, comm);  // the root alone has seen the bytes
  if (done != MPI_SUCCESS) return done;
  return damaged ? MPI_ERR_OTHER : MPI_SUCCESS;
}

template <class T>
int elements(const T* in, T* out, int count, int root, MPI_Comm comm, int function) {
  using A = host::exact_accumulator<T>;
  return combine_over_ranks<A>(
      count, root, comm, function, nullptr,
      [in](int i) {
        A one;
        one.add(in[i]);
        return one;
      },
      [out](int i, const A& sum) { out[i] = sum.sum(); });
}

template <class A>
int accumulators(A* sums, int count, int root, MPI_Comm comm, int function) {
  return combine_over_ranks<A>(
      count, root, comm, function, stored_form<A>::in_memory ? sums : nullptr,
      [sums](int i) -> const A& { return sums[i]; }, [sums](int i, const A& sum) { sums[i] = sum; });
}

}  // namespace detail

// out[i] = the exact sum over all ranks of in[i], rounded once to T, on every rank. in and out: count elements each; they
// may be the same. count: equal on all ranks, at least 0.
template <class T>
int exact_allreduce(const T* in, T* out, int count, MPI_Comm comm) {
  return detail::elements(in, out, count, detail::to_all, comm, 1);
}

// The same on the rank `root` alone; `out` is not used elsewhere.
template <class T>
int exact_reduce(const T* in, T* out, int count, int root, MPI_Comm comm) {
  return detail::elements(in, out, count, root, comm, 2);
}

// Merges each of `count` accumulators (coalesce::host::exact_accumulator or coalesce::host::summary) with those of the
// other ranks, in place, on every rank. Positions of a summary count over the whole data: each rank adds its part from
// its own first position on.
template <class A>
int allreduce(A* sums, int count, MPI_Comm comm) {
  return detail::accumulators(sums, count, detail::to_all, comm, 3);
}

// The same on the rank `root` alone; the accumulators of the others stay as they are.
template <class A>
int reduce(A* sums, int count, int root, MPI_Comm comm) {
  return detail::accumulators(sums, count, root, comm, 4);
}

}  // namespace coalesce::mpi
