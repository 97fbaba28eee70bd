// coalesce/mpi.hpp by real processes: `mpirun -np N mpi_test` for any N. Every rank knows all data, so each compares
// what it gets with one accumulator that has read everything.
#include <cmath>
#include <coalesce/mpi.hpp>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>

namespace {

int rank, size, failures = 0;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "rank %d of %d: %s\n", rank, size, what);
  ++failures;
}
#define EXPECT(condition) expect(condition, #condition)

// Numbers of all magnitudes that cancel, so that the order of plain additions would show.
template <class T>
std::vector<T> data(std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<T> values(count);
  for (T& value : values) {
    if constexpr (std::is_floating_point_v<T>) {
      value = static_cast<T>(
          std::ldexp(static_cast<double>(random() >> 11) - 0x1p52, static_cast<int>(random() % 60) - 90));
    } else if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(random());
    } else {
      value.bits = static_cast<uint16_t>((random() & 0x8fff) | 0x3000);  // finite
    }
  }
  return values;
}

template <class T>
bool same(const T& a, const T& b) {
  unsigned char x[sizeof(T)], y[sizeof(T)];
  std::memcpy(x, &a, sizeof(T)), std::memcpy(y, &b, sizeof(T));
  return std::memcmp(x, y, sizeof(T)) == 0;
}

// Borders of the ranks' parts: uneven, and some ranks have nothing.
std::size_t border(std::size_t count, int i, unsigned seed) {
  if (i <= 0) return 0;
  if (i >= size) return count;
  std::mt19937 random(seed);
  std::vector<std::size_t> cuts(size - 1);
  for (std::size_t& cut : cuts) cut = random() % 3 == 0 ? 0 : random() % (count + 1);
  std::sort(cuts.begin(), cuts.end());
  return cuts[i - 1];
}

template <class T>
void accumulators() {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const std::vector<T> all = data<T>(seed * 137, seed);
    const std::size_t begin = border(all.size(), rank, seed), end = border(all.size(), rank + 1, seed);
    coalesce::host::exact_accumulator<T> whole, mine;
    whole.add(all.data(), all.size(), 1);
    mine.add(all.data() + begin, end - begin, 1);
    EXPECT(coalesce::mpi::allreduce(&mine, 1, MPI_COMM_WORLD) == MPI_SUCCESS);
    EXPECT(same(mine.total(), whole.total()));
    EXPECT(same(mine.sum(), whole.sum()));
  }
}

// Arrays of accumulators, of which each rank has added some elements: also NaN, infinities, zeros of negative sign,
// nothing.
template <class T>
void arrays(int count) {
  using sum_of = coalesce::host::exact_accumulator<T>;
  const auto element = [](int i, int of_rank) {
    const auto number =
        static_cast<T>(std::ldexp(1.0 + i % 7, (i * 31 + of_rank * 17) % 60) * (of_rank % 2 != 0 ? -1 : 1));
    const T kinds[] = {number, number, number, std::numeric_limits<T>::infinity(), std::numeric_limits<T>::quiet_NaN(),
                       T(-0.0)};
    return kinds[(i + (i % 5 == 0) * of_rank) % 6];
  };
  std::vector<sum_of> mine(count), whole(count);
  for (int i = 0; i < count; ++i) {
    for (int r = size - 1; r >= 0; --r)
      if ((i + r) % 4 != 0) whole[i].add(element(i, r));
    if ((i + rank) % 4 != 0) mine[i].add(element(i, rank));
  }
  const int root = size / 2;
  std::vector<sum_of> to_root = mine;
  EXPECT(coalesce::mpi::reduce(to_root.data(), count, root, MPI_COMM_WORLD) == MPI_SUCCESS);
  const std::vector<sum_of>& wanted = rank == root ? whole : mine;
  for (int i = 0; i < count; ++i) EXPECT(same(to_root[i].total(), wanted[i].total()));
  EXPECT(coalesce::mpi::allreduce(mine.data(), count, MPI_COMM_WORLD) == MPI_SUCCESS);
  for (int i = 0; i < count; ++i) EXPECT(same(mine[i].total(), whole[i].total()));
}

// A sum from a rank with damaged memory is an error on all ranks.
void damage() {
  for (const auto& [count, place] : {std::pair{1, 0}, {60, 59}, {1000, 1}, {1000, 700}}) {
    std::vector<coalesce::host::exact_accumulator<float>> sums(count);
    if (rank == size - 1) std::memset(static_cast<void*>(&sums[place]), 0x55, sizeof(sums[place]));
    EXPECT(coalesce::mpi::allreduce(sums.data(), count, MPI_COMM_WORLD) == MPI_ERR_OTHER);
    EXPECT(coalesce::mpi::reduce(sums.data(), count, 0, MPI_COMM_WORLD) == MPI_ERR_OTHER);
  }
}

template <class T>
void summaries() {
  const coalesce::host::needs_of_summary everything{true, true, true};
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::vector<T> all = data<T>(seed * 91 + 1, seed);
    all[all.size() / 2] = all[0];  // an extreme may stand twice
    const std::size_t begin = border(all.size(), rank, seed), end = border(all.size(), rank + 1, seed);
    coalesce::host::summary<T> whole, mine;
    whole.add(all.data(), all.size(), everything, coalesce::host::ascending_from{0});
    mine.add(all.data() + begin, end - begin, everything, coalesce::host::ascending_from{begin});
    const std::string before = mine.store();
    const int root = static_cast<int>(seed) % size;
    coalesce::host::summary<T> to_root = mine;
    EXPECT(coalesce::mpi::reduce(&to_root, 1, root, MPI_COMM_WORLD) == MPI_SUCCESS);
    EXPECT(to_root.store() == (rank == root ? whole.store() : before));
    EXPECT(coalesce::mpi::allreduce(&mine, 1, MPI_COMM_WORLD) == MPI_SUCCESS);
    EXPECT(mine.store() == whole.store());
  }
}

// Element by element, more of them than go in one batch.
template <class T>
void elements(int count) {
  std::vector<std::vector<T>> of_rank;
  for (int r = 0; r < size; ++r) of_rank.push_back(data<T>(count, 1000 + r));
  std::vector<T> out(count), expected(count);
  for (int i = 0; i < count; ++i) {
    coalesce::host::exact_accumulator<T> sum;
    for (int r = size - 1; r >= 0; --r) sum.add(of_rank[r][i]);
    expected[i] = sum.sum();
  }
  EXPECT(coalesce::mpi::exact_allreduce(of_rank[rank].data(), out.data(), count, MPI_COMM_WORLD) == MPI_SUCCESS);
  EXPECT(std::memcmp(out.data(), expected.data(), count * sizeof(T)) == 0);
  out = of_rank[rank];  // in place, to one rank
  EXPECT(coalesce::mpi::exact_reduce(out.data(), out.data(), count, size - 1, MPI_COMM_WORLD) == MPI_SUCCESS);
  const std::vector<T>& wanted = rank == size - 1 ? expected : of_rank[rank];
  EXPECT(std::memcmp(out.data(), wanted.data(), count * sizeof(T)) == 0);
}

void special_values() {
  const float inf = std::numeric_limits<float>::infinity();
  float in[4] = {1, rank == 0 ? NAN : 1, rank == size - 1 ? -inf : 0, -0.0f}, out[4];
  EXPECT(coalesce::mpi::exact_allreduce(in, out, 4, MPI_COMM_WORLD) == MPI_SUCCESS);
  EXPECT(out[0] == static_cast<float>(size) && std::isnan(out[1]) && out[2] == -inf && out[3] == 0 &&
         std::signbit(out[3]));
}

// Ranks that disagree get an error, all of them, and nothing waits.
void disagreement() {
  float in[2] = {1, 2}, out[2] = {7, 7};
  double wide[2] = {1, 2};
  EXPECT(coalesce::mpi::exact_allreduce(in, out, -1, MPI_COMM_WORLD) == MPI_ERR_COUNT);
  EXPECT(coalesce::mpi::exact_reduce(in, out, 1, size, MPI_COMM_WORLD) == MPI_ERR_ROOT);
  if (size == 1) return;
  EXPECT(coalesce::mpi::exact_allreduce(in, out, rank == 0 ? 1 : 2, MPI_COMM_WORLD) == MPI_ERR_COUNT);
  std::vector<double> many(20000, 1.0);  // these do not travel with the request, one does
  for (const int other : {0, 1, 14, 15})
    EXPECT(coalesce::mpi::exact_allreduce(many.data(), many.data(), rank == size - 1 ? 20000 : other, MPI_COMM_WORLD) ==
           MPI_ERR_COUNT);
  EXPECT((rank == size / 2 ? coalesce::mpi::exact_allreduce(many.data(), many.data(), 60, MPI_COMM_WORLD)
                           : coalesce::mpi::exact_allreduce(in, out, 2, MPI_COMM_WORLD)) == MPI_ERR_TYPE);
  EXPECT((rank == 0 ? coalesce::mpi::exact_allreduce(wide, wide, 1, MPI_COMM_WORLD)
                    : coalesce::mpi::exact_allreduce(in, out, 1, MPI_COMM_WORLD)) == MPI_ERR_TYPE);
  EXPECT((rank == 0 ? coalesce::mpi::exact_reduce(in, out, 1, 0, MPI_COMM_WORLD)
                    : coalesce::mpi::exact_allreduce(in, out, 1, MPI_COMM_WORLD)) == MPI_ERR_OP);
  EXPECT(coalesce::mpi::exact_reduce(in, out, 1, rank == 0 ? 0 : 1, MPI_COMM_WORLD) == MPI_ERR_ROOT);
  EXPECT(out[0] == 7 && out[1] == 7);
}

// Messages of the program, which waits for any, are not ours; a communicator may end, another may begin in its place,
// and ranks may stand in another order. Two groups of ranks have no sum.
void communicators() {
  int sent = 7 + rank, got = -1;
  MPI_Request waiting;
  MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &waiting);
  for (int round = 0; round < 50; ++round) {
    MPI_Comm turned;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 3, -rank, &turned);
    int of_these = 0;
    MPI_Comm_size(turned, &of_these);
    const float one = 1;
    float sum = 0;
    for (int call = 0; call < 3; ++call) {
      EXPECT(coalesce::mpi::exact_allreduce(&one, &sum, 1, turned) == MPI_SUCCESS);
      EXPECT(sum == static_cast<float>(of_these));
    }
    MPI_Comm_free(&turned);
  }
  MPI_Send(&sent, 1, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD);
  MPI_Wait(&waiting, MPI_STATUS_IGNORE);
  EXPECT(got == 7 + (rank + size - 1) % size);
  if (size == 1) return;
  MPI_Comm part, two;
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0, rank, &part);
  MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, rank == 0 ? 1 : 0, 0, &two);
  float one = 1;
  EXPECT(coalesce::mpi::exact_allreduce(&one, &one, 1, two) == MPI_ERR_COMM);
  MPI_Comm_free(&two);
  MPI_Comm_free(&part);
}

}  // namespace

int main(int count, char** words) {
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (count > 1) {  // a rank that dies in the middle: mpirun ends the others
    if (rank == size - 1) std::abort();
    float one = 1;
    coalesce::mpi::exact_allreduce(&one, &one, 1, MPI_COMM_WORLD);
    return 0;
  }
  accumulators<float>();
  accumulators<double>();
  accumulators<coalesce::half_bits>();
  accumulators<coalesce::bfloat16_bits>();
  arrays<float>(3000);
  arrays<double>(700);
  damage();
  summaries<float>();
  summaries<double>();
  summaries<int8_t>();
  summaries<uint64_t>();
  elements<float>(20000);
  elements<double>(1001);
  elements<coalesce::half_bits>(7);
  elements<float>(71);  // as many as travel with the request, and one more
  elements<float>(72);
  elements<double>(14);
  elements<double>(15);
  arrays<float>(71);
  arrays<double>(15);
  elements<float>(0);
  special_values();
  disagreement();
  communicators();
  int all = failures;
  MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0 && all == 0) std::printf("%d ranks: the same bits\n", size);
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}
