// A rule is a function of reduce.cuh: its accumulator for elements T and results R, and the projection of an element.
#pragma once

#include <coalesce/detail/accumulators/moments.cuh>
#include <coalesce/detail/accumulators/sum.cuh>
#include <coalesce/detail/dispatch/projections.cuh>

namespace coalesce {
namespace detail {

template <class T, class R>
constexpr void require_result() {
  static_assert(
      std::is_same_v<T, R>,
      "coalesce: out has another type than this function's results: min and max write elements, argmin and argmax "
      "std::int64_t, stats coalesce::statistics<T>, any and all bool");
}

struct plain_projection {
  using projection_type = as_it_is;
  static as_it_is projection() { return {}; }
};
template <class Projection>
struct with_projection {
  using projection_type = Projection;
  static Projection projection() { return {}; }
};

// Sums of numbers or complex ones.
template <class Finish, class Projection, bool IgnoreNan>
struct sum_rule : with_projection<Projection> {
  static constexpr bool needs_elements = false;
  template <class T, class R>
  static auto accumulator() {
    require_number<T>();
    if constexpr (is_complex<T>) {
      static_assert(is_complex<R>,
                    "coalesce: the sum or mean of complex numbers is complex: make out a pointer to a complex type");
      return complex_sum<T, R, Finish, IgnoreNan>();
    } else {
      return sum<T, R, Finish, IgnoreNan>();
    }
  }
};
template <class Finish, class Projection>
struct truth_rule : sum_rule<Finish, Projection, false> {
  template <class T, class R>
  static auto accumulator() {
    require_result<bool, R>();
    return sum<T, R, Finish>();
  }
};
template <bool IgnoreNan>
struct product_rule : plain_projection {
  static constexpr bool needs_elements = false;
  template <class T, class R>
  static auto accumulator() {
    require_ordered<T>();
    return product<T, R, IgnoreNan>();
  }
};
template <class Order, class Projection, bool IgnoreNan>
struct extreme_rule : with_projection<Projection> {
  static constexpr bool needs_elements = true;
  template <class T, class R>
  static auto accumulator() {
    require_ordered<T>();
    if constexpr (std::is_same_v<Projection, as_it_is>) require_result<T, R>();
    return extreme<T, Order, IgnoreNan, R>();
  }
};
template <class Order, bool IgnoreNan>
struct position_rule : plain_projection {
  static constexpr bool needs_elements = true;
  template <class T, class R>
  static auto accumulator() {
    require_ordered<T>();
    require_result<std::int64_t, R>();
    return extreme_position<T, Order, IgnoreNan>();
  }
};
template <class Finish, bool IgnoreNan>
struct moment_rule : plain_projection {
  static constexpr bool needs_elements = false;
  double freedom = 0;
  template <class T, class R>
  auto accumulator() const {
    require_ordered<T>();
    return moment<T, R, Finish, IgnoreNan>{freedom};
  }
};
template <bool IgnoreNan>
struct statistics_rule : plain_projection {
  static constexpr bool needs_elements = false;
  template <class T, class R>
  static auto accumulator() {
    require_ordered<T>();
    require_result<statistics<T>, R>();
    return all_statistics<T, IgnoreNan>();
  }
};
template <bool IgnoreNan>
struct logarithm_rule : plain_projection {
  static constexpr bool needs_elements = false;
  template <class T, class R>
  static auto accumulator() {
    static_assert(is_floating<T>,
                  "coalesce: logsumexp takes half, bfloat16, float or double: convert integers first, by "
                  "transform_reduce or in a pass of your own");
    return log_of_sum<T, R, IgnoreNan>();
  }
};

template <class Predicate>
struct count_rule {
  static constexpr bool needs_elements = false;
  using projection_type = as_bool<Predicate>;
  Predicate predicate;
  projection_type projection() const { return {predicate}; }
  template <class T, class R>
  static auto accumulator() {
    return sum<T, R>();
  }
};

template <class Value, class Operation, class Projection, bool Ordered = false>
struct operation_rule {
  static constexpr bool needs_elements = false;
  using projection_type = Projection;
  Operation operation;
  Projection project;
  Value start;
  Projection projection() const { return project; }
  template <class T, class R>
  auto accumulator() const {
    static_assert(
        std::is_same_v<Value, R>,
        "coalesce: init has another type than out points to: the operation works on one type, make both that one");
    return any_operation<T, Value, Operation, Ordered>{operation, start};
  }
};

}  // namespace detail
}  // namespace coalesce
