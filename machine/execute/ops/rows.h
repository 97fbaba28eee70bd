// Rows of the table of computing instructions: one lambda on scalars becomes three handlers, or, where an instruction
// is rare, the one function that three common handlers call for each lane.
//
//     void integer_rows(Rows& row) {
//       row("add.s32", [](uint32_t a, uint32_t b) { return a + b; });
//
// The lambda captures nothing, and its parameters say the operands' elements: bool is a predicate, 16, 32, 64 bits wide
// integers, float, double, Half and Bfloat are registers of that width, uint128_t is b128. Sources come in PTX order,
// immediates are sources like any other. Returning Two<A, B> makes two results (for p|q: Two<bool, bool>).
//
// The lambda must be total: no undefined behaviour and no trap for any bits at all, since lanes that are switched off
// hold garbage and the full handler computes them nevertheless.
//
// A result may lie in the slot of a source when their elements have the same size (both predicates count as such);
// otherwise slots must not overlap. The two results of one step must be different slots.
#pragma once

#include <deque>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "machine/execute/ops/lanes.h"
#include "machine/execute/ops/name.h"
#include "machine/execute/ops/ops.h"

namespace coalesce::machine {

template <class F>
struct Signature;  // of a captureless lambda
template <class F, class R, class... A>
struct Signature<R (F::*)(A...) const> {
  using Result = R;
  static constexpr size_t kSources = sizeof...(A);
};

template <class T>
inline constexpr bool kIsTwo = false;
template <class A, class B>
inline constexpr bool kIsTwo<Two<A, B>> = true;

template <class T>
constexpr Element element_of() {
  if constexpr (std::is_same_v<T, bool>) return Element::pred;
  if constexpr (sizeof(T) == 2) return Element::b16;
  if constexpr (sizeof(T) == 4) return Element::b32;
  if constexpr (sizeof(T) == 8) return Element::b64;
  if constexpr (sizeof(T) == 16) return Element::b128;
  static_assert(sizeof(T) != 1 || std::is_same_v<T, bool>, "8-bit operands are carried in 16-bit elements");
}

enum class Form { scalar, full, masked };

// An instruction seldom executed in number has one function, on scalars, and Step::extra describes it to the handlers,
// which are the same for all of these (rare.cpp): it keeps the build short and the code small.
struct RareOp {
  void (*run)(const std::byte* const* from, std::byte* const* to);
  uint8_t sources, results;
  uint8_t source_bytes[4], result_bytes[2];  // of an element; 0: predicate
};
void rare_scalar(const Step& step, Context& context);
void rare_full(const Step& step, Context& context);
void rare_masked(const Step& step, Context& context);

template <class F, class Member = decltype(&F::operator())>
struct Handlers;

template <class F, class R, class... A>
struct Handlers<F, R (F::*)(A...) const> {
  // The width in which comparisons leave their flags: that of the widest source, so that no lane changes its place.
  using Flag = FlagOf<std::max({size_t{1}, (std::is_same_v<A, bool> ? size_t{1} : sizeof(A))...})>;
  static constexpr bool kOnlyPredicates = (std::is_same_v<A, bool> && ...) && std::is_same_v<R, bool>;

  template <class T>
  static T read(const std::byte* from) {
    if constexpr (std::is_same_v<T, bool>)
      return *reinterpret_cast<const uint32_t*>(from) & 1u;
    else
      return *reinterpret_cast<const T*>(from);
  }
  template <class T>
  static void write(std::byte* to, T value) {
    if constexpr (std::is_same_v<T, bool>)
      *reinterpret_cast<uint32_t*>(to) = value ? ~0u : 0u;
    else
      *reinterpret_cast<T*>(to) = value;
  }

  template <size_t... I>
  COALESCE_INLINE static void one(const std::byte* const* from, std::byte* const* to, std::index_sequence<I...>) {
    const R r = F{}(read<A>(from[I])...);
    if constexpr (kIsTwo<R>) {
      write(to[0], r.first);
      write(to[1], r.second);
    } else {
      write(to[0], r);
    }
  }

  // Predicates among themselves: the lambda's truth table as a sum of products; the optimiser makes and/or/xor of it.
  template <size_t... I>
  static uint32_t word(const std::byte* const* from, std::index_sequence<I...>) {
    [[maybe_unused]] const uint32_t in[] = {0, *reinterpret_cast<const uint32_t*>(from[I])...};
    uint32_t out = 0;
    for (uint32_t row = 0; row < (1u << sizeof...(A)); ++row) {
      uint32_t term = F{}(((row >> I) & 1u) != 0 ...) ? ~0u : 0u;
      ((term &= ((row >> I) & 1u) ? in[I + 1] : ~in[I + 1]), ...);
      out |= term;
    }
    return out;
  }

  template <class T>
  static constexpr uint8_t kBytesOf = std::is_same_v<T, bool> ? 0 : uint8_t(sizeof(T));
  template <class T>
  struct Results {
    static constexpr uint8_t kCount = 1;
    static constexpr size_t kBytes = sizeof(T);
    static constexpr Element kElement[2] = {element_of<T>(), Element::none};
    static constexpr uint8_t kBytesOfEach[2] = {kBytesOf<T>, 0};
    Output<T, Flag> first;
    Results(std::byte* d, std::byte*, Flag (*buffer)[kLanes]) : first(d, buffer[0]) {}
    COALESCE_INLINE void set(uint32_t i, T value, bool on) const { first.set(i, value, on); }
    void close(uint32_t active) const { first.close(active); }
  };
  template <class T, class U>
  struct Results<Two<T, U>> {
    static constexpr uint8_t kCount = 2;
    static constexpr size_t kBytes = std::max(sizeof(T), sizeof(U));
    static constexpr Element kElement[2] = {element_of<T>(), element_of<U>()};
    static constexpr uint8_t kBytesOfEach[2] = {kBytesOf<T>, kBytesOf<U>};
    Output<T, Flag> first;
    Output<U, Flag> second;
    Results(std::byte* d, std::byte* e, Flag (*buffer)[kLanes]) : first(d, buffer[0]), second(e, buffer[1]) {}
    COALESCE_INLINE void set(uint32_t i, Two<T, U> value, bool on) const {
      first.set(i, value.first, on);
      second.set(i, value.second, on);
    }
    void close(uint32_t active) const {
      first.close(active);
      second.close(active);
    }
  };

  // Lanes in one vector of the widest element.
  static constexpr uint32_t kWidth =
      std::max(1u, kVectorBytes / uint32_t(std::max({Results<R>::kBytes, sizeof(A)..., size_t{2}})));

  // For comparisons: all lanes' results in a word, and that of the scalar slots as 0 or ~0.
  static uint32_t bits(const Step& step, const Context& context) {
    return [&]<size_t... I>(std::index_sequence<I...>) {
      const std::tuple<Input<A>...> in{Input<A>(context.at<StorageOf<A>>(step.src[I]))...};
      alignas(64) Flag flags[kLanes];
      const Output<bool, Flag> out(flags);
      COALESCE_INDEPENDENT_LANES
      for (uint32_t i = 0; i < kLanes; ++i) out.set(i, F{}(std::get<I>(in)[i]...), true);
      return bits_of(flags);
    }(std::index_sequence_for<A...>{});
  }
  static uint32_t bit(const Step& step, const Context& context) {
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return F{}(read<A>(context.at<std::byte>(step.src[I]))...) ? ~0u : 0u;
    }(std::index_sequence_for<A...>{});
  }

  // One warp: operands at `from`, results at `to`.
  template <bool kMasked, size_t... I>
  COALESCE_INLINE static void lanes(const std::byte* const* from, std::byte* const* to, uint32_t active,
                                    std::index_sequence<I...> sources) {
    if constexpr (kOnlyPredicates) {
      uint32_t& d = *reinterpret_cast<uint32_t*>(to[0]);
      d = (d & ~active) | (word(from, sources) & active);
    } else {
      const std::tuple<Input<A>...> in{Input<A>(reinterpret_cast<const StorageOf<A>*>(from[I]))...};
      alignas(64) Flag flags[2][kLanes];
      const Results<R> out(to[0], to[1], flags);
      COALESCE_INDEPENDENT_LANES
      for (uint32_t i = 0; i < kLanes; ++i) {
        COALESCE_INLINE_CALLS out.set(i, F{}(std::get<I>(in)[i]...), !kMasked || (active & (1u << i)));
      }
      out.close(active);
    }
  }
  // Runs as many warps as the context says: finding the operands costs more than the work on one warp, and is done
  // once.
  template <Form kForm, size_t... I>
  COALESCE_INLINE static void warps(const Step& step, Context& context, std::index_sequence<I...> sources) {
    const std::byte* from[] = {context.at<std::byte>(step.src[I])..., nullptr};
    std::byte* to[] = {context.at<std::byte>(step.dst[0]), context.at<std::byte>(step.dst[1])};
    const std::size_t stride[] = {context.stride[step.src[I] & 3u]..., context.stride[step.dst[0] & 3u],
                                  context.stride[step.dst[1] & 3u]};
    const Context* warp = &context;
    for (uint32_t left = context.together;;) {
      if constexpr (kForm == Form::scalar)
        one(from, to, sources);
      else
        lanes<kForm == Form::masked>(from, to, kForm == Form::masked ? warp->active : ~0u, sources);
      if (--left == 0) return;
      ((from[I] += stride[I]), ...);
      to[0] += stride[sizeof...(A)];
      if constexpr (kIsTwo<R>) to[1] += stride[sizeof...(A) + 1];
      if constexpr (kForm == Form::masked)
        warp = reinterpret_cast<const Context*>(reinterpret_cast<const std::byte*>(warp) + context.next);
    }
  }

  static void scalar(const Step& step, Context& context) {
    warps<Form::scalar>(step, context, std::index_sequence_for<A...>{});
  }
  static void full(const Step& step, Context& context) {
    warps<Form::full>(step, context, std::index_sequence_for<A...>{});
  }
  static void masked(const Step& step, Context& context) {
    warps<Form::masked>(step, context, std::index_sequence_for<A...>{});
  }
  static void lane(const std::byte* const* from, std::byte* const* to) {
    one(from, to, std::index_sequence_for<A...>{});
  }

  // The row without its handlers. A function of its own, so that who brings others (compare.cpp) does not make
  // the compiler write these.
  static constexpr PureOp described() {
    static_assert(sizeof...(A) <= 4, "a step has at most four sources");
    PureOp op{{}, nullptr, nullptr, nullptr, Results<R>::kCount, uint8_t(sizeof...(A)), {}, {}, true};
    op.result[0] = Results<R>::kElement[0];
    op.result[1] = Results<R>::kElement[1];
    size_t k = 0;
    ((op.source[k++] = element_of<A>()), ...);
    return op;
  }
  static constexpr PureOp made() {
    PureOp op = described();
    op.scalar = scalar;
    op.full = full;
    op.masked = masked;
    return op;
  }

  static constexpr RareOp rare_op() {
    RareOp op{lane, uint8_t(sizeof...(A)), Results<R>::kCount, {kBytesOf<A>...}, {}};
    for (int k = 0; k < op.results; ++k) op.result_bytes[k] = Results<R>::kBytesOfEach[k];
    return op;
  }
  static constexpr RareOp kRareOp = rare_op();
  static constexpr PureOp made_rare() {
    PureOp op = described();
    op.scalar = rare_scalar;
    op.full = rare_full;
    op.masked = rare_masked;
    op.many = false;
    op.extra = &kRareOp;
    return op;
  }
  // Constants rather than code that fills them in, of which there would be thousands.
  static constexpr PureOp kCommonRow = made(), kRareRow = made_rare();
};

// The rows of one family, in the order written. Owns the mnemonics' text; lives as long as the program.
class Rows {
 public:
  template <class F>
  void operator()(const Name& mnemonic, F) {
    keep(mnemonic, Handlers<F>::kCommonRow);
  }
  // An instruction seldom executed in number (RareOp).
  template <class F>
  void rare(const Name& mnemonic, F) {
    keep(mnemonic, Handlers<F>::kRareRow);
  }
  template <bool kCommon, class F>
  void put(const Name& mnemonic, F f) {
    if constexpr (kCommon)
      (*this)(mnemonic, f);
    else
      rare(mnemonic, f);
  }
  // A row whose handlers are made elsewhere (compare.cpp).
  void keep(const Name& mnemonic, const PureOp& op);
  const std::vector<PureOp>& ops() const { return ops_; }

 private:
  std::deque<std::string> names_;  // a deque: its strings never move
  std::vector<PureOp> ops_;
};

// The families; table.cpp lists them.
void move_rows(Rows& row);
void integer_rows(Rows& row);
void bit_rows(Rows& row);
void carry_rows(Rows& row);
void video_any_rows(Rows& row);
void packed_rows(Rows& row);
void float_rows(Rows& row);
void half_rows(Rows& row);
void approx_rows(Rows& row);
void compare_rows(Rows& row);
void convert_rows(Rows& row);
void convert_small_rows(Rows& row);
void video_rows(Rows& row);

}  // namespace coalesce::machine
