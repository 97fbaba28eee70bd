// How each call of coalesce/mpi.hpp begins: the ranks say what they ask for, and send what they have if it is little, in
// one round of messages. Ranks that disagree would otherwise wait for each other, or take bytes of one type for another's.
//
// The round is a recursive doubling of its own: which messages there are depends on the number of ranks alone, and a
// message may be shorter than its receiver expects. So ranks that disagree about the count end in an error, and small
// messages have the length of what they say, neither of which MPI_Allreduce can give.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace coalesce::mpi::detail {

inline constexpr int to_all = -1;  // in place of a root

struct request {
  std::int32_t function, kind, count, root;
};

// The ranks of a communicator, and one of theirs alone for these messages, so that no receive of the program takes them.
struct meeting {
  MPI_Comm messages = MPI_COMM_NULL;
  int rank = 0, size = 0;
};

// Made at a communicator's first call, and gone with it.
inline int meet(MPI_Comm comm, meeting& to) {
  static const int key = [] {
    int made = MPI_KEYVAL_INVALID;
    const auto forget = [](MPI_Comm, int, void* kept, void*) {
      auto* const one = static_cast<meeting*>(kept);
      const int done = MPI_Comm_free(&one->messages);
      delete one;
      return done;
    };
    return MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &made, nullptr) == MPI_SUCCESS ? made
                                                                                               : MPI_KEYVAL_INVALID;
  }();
  if (key == MPI_KEYVAL_INVALID) return MPI_ERR_OTHER;
  void* kept = nullptr;
  int found = 0;
  int done = MPI_Comm_get_attr(comm, key, &kept, &found);
  if (done != MPI_SUCCESS) return done;
  if (!found) {
    int of_two_groups = 0;
    done = MPI_Comm_test_inter(comm, &of_two_groups);
    if (done != MPI_SUCCESS) return done;
    if (of_two_groups) return MPI_ERR_COMM;
    meeting one;
    done = MPI_Comm_rank(comm, &one.rank);
    if (done == MPI_SUCCESS) done = MPI_Comm_size(comm, &one.size);
    if (done == MPI_SUCCESS) done = MPI_Comm_split(comm, 0, one.rank, &one.messages);  // a copy would take attributes along
    if (done == MPI_SUCCESS) done = MPI_Comm_set_errhandler(one.messages, MPI_ERRORS_RETURN);
    if (done == MPI_SUCCESS) done = MPI_Comm_set_attr(comm, key, kept = new meeting(one));
    if (done != MPI_SUCCESS) return done;
  }
  to = *static_cast<meeting*>(kept);
  return MPI_SUCCESS;
}

class opening {
 public:
  // Elements of `bytes` bytes each travel with the request if all have room: Open MPI and MPICH send so much without
  // asking the receiver first.
  opening(const request& mine, std::size_t bytes) : bytes_(bytes) {
    const std::uint32_t words[] = {std::uint32_t(mine.function), std::uint32_t(mine.kind), std::uint32_t(mine.count),
                                   std::uint32_t(mine.root), 0, 0};
    for (std::size_t i = 0; i < header; ++i) message_[i] = static_cast<unsigned char>(words[i / 4] >> i % 4 * 8);
    if (mine.count > 0 && static_cast<std::size_t>(mine.count) <= (sizeof(message_) - header) / bytes)
      elements_ = mine.count;
    asked_ = mine;
  }
  int elements() const { return elements_; }
  unsigned char* element(int i) { return message_ + header + i * bytes_; }

  // Asks the other ranks. MPI_SUCCESS: all ask the same, and merge(to, from, count) has made the elements those of all
  // ranks. Otherwise an MPI error code, the same on all ranks.
  template <class Merge>
  int agree(const meeting& ranks, MPI_Comm comm, Merge merge) {
    const int length = static_cast<int>(header + elements_ * bytes_);
    int error = MPI_SUCCESS;
    const auto send = [&](int to) {
      if (error == MPI_SUCCESS) error = MPI_Send(message_, length, MPI_BYTE, to, tag, ranks.messages);
    };
    const auto hear = [&] {  // what `heard_` says
      for (int k = 0; k < 4; ++k)
        message_[differs] |= static_cast<unsigned char>((std::memcmp(message_ + 4 * k, heard_ + 4 * k, 4) != 0) << k);
      message_[differs] |= heard_[differs];
      if (message_[differs] == 0) merge(element(0), heard_ + header, elements_);
    };
    const auto receive = [&](int from, unsigned char* into) {
      if (error == MPI_SUCCESS)
        error = MPI_Recv(into, sizeof(message_), MPI_BYTE, from, tag, ranks.messages, MPI_STATUS_IGNORE);
    };
    int among = 1;  // the largest power of two; of each rank beyond, the neighbour speaks
    while (2 * among <= ranks.size) among *= 2;
    const int beyond = ranks.size - among, rank = ranks.rank;
    if (rank < 2 * beyond && rank % 2 == 0) {
      send(rank + 1);
      receive(rank + 1, message_);
    } else {
      if (rank < 2 * beyond) receive(rank - 1, heard_), hear();
      const int place = rank < 2 * beyond ? rank / 2 : rank - beyond;
      for (int step = 1; step < among && error == MPI_SUCCESS; step *= 2) {
        const int other = place ^ step, partner = other < beyond ? 2 * other + 1 : other + beyond;
        error = MPI_Sendrecv(message_, length, MPI_BYTE, partner, tag, heard_, sizeof(heard_), MPI_BYTE, partner, tag,
                             ranks.messages, MPI_STATUS_IGNORE);
        if (error == MPI_SUCCESS) hear();
      }
      if (rank < 2 * beyond) send(rank - 1);
    }
    if (error != MPI_SUCCESS) {
      MPI_Comm_call_errhandler(comm, error);
      return error;
    }
    const int disagreement[] = {MPI_ERR_OP, MPI_ERR_TYPE, MPI_ERR_COUNT, MPI_ERR_ROOT};
    for (int k = 0; k < 4; ++k)
      if (message_[differs] >> k & 1) return disagreement[k];
    if (asked_.count < 0) return MPI_ERR_COUNT;
    if (asked_.root != to_all && (asked_.root < 0 || asked_.root >= ranks.size)) return MPI_ERR_ROOT;
    return MPI_SUCCESS;
  }

 private:
  // The request's four words, the least byte first; one bit for each in which ranks differ.
  static constexpr std::size_t differs = 16, header = 24;
  static constexpr int tag = 0;
  std::size_t bytes_;
  int elements_ = 0;
  request asked_;
  alignas(8) unsigned char message_[4096 - 64];
  alignas(8) unsigned char heard_[sizeof(message_)];
};

}  // namespace coalesce::mpi::detail
