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
// for sums of double, little-endian with a version. Each function is collective, and returns MPI_SUCCESS or an MPI error
// code, the same on all ranks: MPI_ERR_COUNT, MPI_ERR_TYPE, MPI_ERR_OP or MPI_ERR_ROOT if ranks disagree about count, type,
// function or root; MPI_ERR_OTHER if bytes that arrive are no stored form; what is written is then void. Errors of MPI itself go to the
// communicator's error handler first; the default ends the program.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <coalesce/host/exact.hpp>
#include <coalesce/host/summary.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

namespace coalesce::mpi {

namespace detail {

// Elements of a call are combined in batches that stay in the L2 cache: larger ones cost more in page faults than they
// save in latency.
inline constexpr int batch = 1 << 10;

// sum += other, both of `words` words, the least first.
template <int words>
inline void add_words(std::uint64_t* sum, const std::uint64_t* other) {
  unsigned char carry = 0;
  for (int i = 0; i < words; ++i) {
#if defined(__x86_64__)
    unsigned long long next;
    carry = __builtin_ia32_addcarryx_u64(carry, sum[i], other[i], &next);
    sum[i] = next;
#else
    const std::uint64_t partial = sum[i] + other[i], next = partial + carry;
    carry = (partial < other[i]) | (next < partial);
    sum[i] = next;
#endif
  }
}

// How an accumulator becomes bytes of one length, and back. `in_memory`: it is these bytes itself, so that arrays of it
// travel without copies.
template <class A>
struct stored_form;
template <class T, exact::range R>
struct stored_form<host::exact_accumulator<T, R>> {
  using accumulator = host::exact_accumulator<T, R>;
  using total = exact::total<R>;
  static constexpr int kind = 100 + static_cast<int>(R);
  static constexpr bool in_memory = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ &&
                                    sizeof(accumulator) == accumulator::stored_bytes &&
                                    std::is_trivially_copyable_v<accumulator>;
  static std::size_t bytes() { return accumulator::stored_bytes; }
  static void store(const accumulator& one, unsigned char* to) { one.store(to); }
  static bool load(accumulator& one, const unsigned char* from) { return one.load(from); }
  // Sums of numbers, which nearly all are: with this header any words are a stored form.
  static bool is_of_numbers(const unsigned char* bytes) {
    std::uint64_t header;
    std::memcpy(&header, bytes, sizeof(header));
    return in_memory && header == (total::blank_header | std::uint64_t{exact::something} << 48);
  }
  static bool is_stored(const unsigned char* bytes) {
    accumulator one;
    return is_of_numbers(bytes) || load(one, bytes);
  }
  // to += from. False if one of them is no stored form.
  static bool merge(unsigned char* to, const unsigned char* from) {
    if constexpr (in_memory) {
      if (is_of_numbers(to) && is_of_numbers(from)) {
        total a, b;
        std::memcpy(a.word, to + 8, sizeof(a.word));
        std::memcpy(b.word, from + 8, sizeof(b.word));
        add_words<total::words>(a.word, b.word);
        std::memcpy(to + 8, a.word, sizeof(a.word));
        return true;
      }
    }
    accumulator sum, other;
    if (!load(sum, to) || !load(other, from)) return false;
    sum.merge(other);
    store(sum, to);
    return true;
  }
};
template <class T>
struct stored_form<host::summary<T>> {
  using accumulator = host::summary<T>;
  static constexpr int kind = 1000 + static_cast<int>(sizeof(T)) + (host::is_integer<T> ? 100 : 0) +
                              (std::is_unsigned_v<T> ? 200 : 0) + (std::is_same_v<T, bfloat16_bits> ? 400 : 0);
  static constexpr bool in_memory = false;
  static std::size_t bytes() {
    static const std::size_t length = accumulator().store().size();
    return length;
  }
  static void store(const accumulator& one, unsigned char* to) {
    const std::string text = one.store();
    std::copy(text.begin(), text.end(), to);
  }
  static bool load(accumulator& one, const unsigned char* from) {
    return one.load({reinterpret_cast<const char*>(from), bytes()});
  }
  static bool is_stored(const unsigned char* bytes) {
    accumulator one;
    return load(one, bytes);
  }
  static bool merge(unsigned char* to, const unsigned char* from) {
    accumulator sum, other;
    if (!load(sum, to) || !load(other, from)) return false;
    sum.merge(other);
    store(sum, to);
    return true;
  }
};

// MPI calls it for pairs of stored forms. It cannot return an error, so bytes that are none make the result one that is
// none either.
template <class A>
void combine(void* in, void* inout, int* length, MPI_Datatype*) {
  using form = stored_form<A>;
  const auto* from = static_cast<const unsigned char*>(in);
  auto* to = static_cast<unsigned char*>(inout);
  for (int i = 0; i < *length; ++i, from += form::bytes(), to += form::bytes())
    if (!form::merge(to, from)) std::memset(to, 0xff, form::bytes());
}

// Each rank says what it asks for, ahead of the first elements in one message of one length: ranks that disagree would otherwise
// wait for each other, or take bytes of one type for another's; and a call of few elements costs one collective of MPI.
struct opening {
  std::int32_t lowest[4], highest[4];  // over the ranks: function, kind, count, root
  std::int32_t length;                 // of the elements, in bytes
  unsigned char elements[212];         // Open MPI sends up to 256 bytes between ranks of a host at half the latency of more

  bool agree() const { return std::memcmp(lowest, highest, sizeof(lowest)) == 0; }
};

static_assert(sizeof(opening) == 248, "an opening has no gaps and travels in one short message");

inline int make_opening_type(MPI_Datatype* type) {
  const int lengths[] = {static_cast<int>(offsetof(opening, elements) / sizeof(std::int32_t)), sizeof(opening::elements)};
  const MPI_Aint places[] = {0, offsetof(opening, elements)};
  const MPI_Datatype types[] = {MPI_INT32_T, MPI_BYTE};
  return MPI_Type_create_struct(2, lengths, places, types, type);
}

// MPI calls it for pairs of openings. Ranks that disagree may call it for other A: then only the requests count.
template <class A>
void combine_openings(void* in, void* inout, int* count, MPI_Datatype*) {
  using form = stored_form<A>;
  for (int i = 0; i < *count; ++i) {
    const opening& from = static_cast<const opening*>(in)[i];
    opening& to = static_cast<opening*>(inout)[i];
    for (int k = 0; k < 4; ++k) {
      to.lowest[k] = std::min(to.lowest[k], from.lowest[k]);
      to.highest[k] = std::max(to.highest[k], from.highest[k]);
    }
    if (!to.agree() || to.lowest[1] != form::kind) continue;
    int elements = to.length / static_cast<int>(form::bytes());
    combine<A>(const_cast<unsigned char*>(from.elements), to.elements, &elements, nullptr);
  }
}

// The types and operations for A, made at the first use and kept until the program ends: they are few.
template <class A>
struct handles {
  MPI_Datatype type = MPI_DATATYPE_NULL, opening_type = MPI_DATATYPE_NULL;
  MPI_Op operation = MPI_OP_NULL, opening_operation = MPI_OP_NULL;
  static int get(handles& to) {
    static handles made;
    if (made.opening_operation == MPI_OP_NULL) {
      int done = MPI_Type_contiguous(static_cast<int>(stored_form<A>::bytes()), MPI_BYTE, &made.type);
      if (done == MPI_SUCCESS) done = MPI_Type_commit(&made.type);
      if (done == MPI_SUCCESS) done = MPI_Op_create(&combine<A>, 1, &made.operation);
      if (done == MPI_SUCCESS) done = make_opening_type(&made.opening_type);
      if (done == MPI_SUCCESS) done = MPI_Type_commit(&made.opening_type);
      if (done == MPI_SUCCESS) done = MPI_Op_create(&combine_openings<A>, 1, &made.opening_operation);
      if (done != MPI_SUCCESS) return done;
    }
    to = made;
    return MPI_SUCCESS;
  }
};

inline constexpr int to_all = -1;  // in place of a root

// The message with which each call begins: what the ranks ask for, and the first elements, of which it says how many. An MPI
// error code, the same on all ranks, if they disagree.
template <class A, class Get>
int open_call(const handles<A>& handle, int count, int root, MPI_Comm comm, int function, Get get, opening& all) {
  using form = stored_form<A>;
  int size = 0;
  int done = MPI_Comm_size(comm, &size);
  if (done != MPI_SUCCESS) return done;
  opening mine{{function, form::kind, count, root}, {function, form::kind, count, root}, 0, {}};
  const int opened = std::max(0, std::min(count, static_cast<int>(sizeof(mine.elements) / form::bytes())));
  mine.length = static_cast<std::int32_t>(opened * form::bytes());
  for (int i = 0; i < opened; ++i) form::store(get(i), mine.elements + i * form::bytes());
  done = MPI_Allreduce(&mine, &all, 1, handle.opening_type, handle.opening_operation, comm);
  if (done != MPI_SUCCESS) return done;
  const int disagreement[] = {MPI_ERR_OP, MPI_ERR_TYPE, MPI_ERR_COUNT, MPI_ERR_ROOT};
  for (int k = 0; k < 4; ++k)
    if (all.lowest[k] != all.highest[k]) return disagreement[k];
  if (count < 0) return MPI_ERR_COUNT;
  if (root != to_all && (root < 0 || root >= size)) return MPI_ERR_ROOT;
  return MPI_SUCCESS;
}

// get(i) -> A; put(i, A) where the result belongs to this rank. `root` is a rank or to_all. `direct`: null, or the
// accumulators, where their memory is what travels.
template <class A, class Get, class Put>
int combine_over_ranks(int count, int root, MPI_Comm comm, int function, A* direct, Get get, Put put) {
  using form = stored_form<A>;
  int rank = 0;
  int done = MPI_Comm_rank(comm, &rank);
  handles<A> handle;
  if (done == MPI_SUCCESS) done = handles<A>::get(handle);
  opening all{};
  if (done == MPI_SUCCESS) done = open_call<A>(handle, count, root, comm, function, get, all);
  if (done != MPI_SUCCESS) return done;
  const bool receives = root == to_all || root == rank;

  // Elements first .. first + part - 1, combined.
  const auto take = [&](const unsigned char* bytes, int first, int part) {
    A one;
    for (int i = 0; i < part; ++i) {
      if (!form::load(one, bytes + i * form::bytes())) return false;
      if (receives) put(first + i, one);
    }
    return true;
  };
  const int opened = all.length / static_cast<int>(form::bytes());
  int damaged = !take(all.elements, 0, opened);
  if (opened == count) return damaged ? MPI_ERR_OTHER : MPI_SUCCESS;  // all ranks have the same bytes

  // `part` elements at `bytes`, in place where this rank receives them.
  const auto exchange = [&](void* bytes, int part) {
    if (root == to_all) return MPI_Allreduce(MPI_IN_PLACE, bytes, part, handle.type, handle.operation, comm);
    return receives ? MPI_Reduce(MPI_IN_PLACE, bytes, part, handle.type, handle.operation, root, comm)
                    : MPI_Reduce(bytes, nullptr, part, handle.type, handle.operation, root, comm);
  };
  if (direct != nullptr) {
    done = exchange(direct + opened, count - opened);
    if (done != MPI_SUCCESS) return done;
    for (int i = opened; i < count && receives && !damaged; ++i)
      damaged = !form::is_stored(reinterpret_cast<const unsigned char*>(direct + i));
  } else {
    std::vector<unsigned char> bytes;
    for (int first = opened; first < count; first += batch) {
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
