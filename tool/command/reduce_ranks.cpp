#include "tool/command/reduce_ranks.h"

#include <cstdlib>

#include "tool/figures/error.h"

namespace coalesce::tool {
namespace {

using coalesce::reduce::Checkpoint;

// How it went, in words and as an exit code.
struct RankEnding {
  int code = 0;
  std::string what = "", hint = "";

  std::string text() const { return std::to_string(code) + '\n' + what + '\n' + hint; }
  static RankEnding of(const std::string& text) {
    const std::size_t first = text.find('\n'), second = text.find('\n', first + 1);
    return {std::atoi(text.c_str()), text.substr(first + 1, second - first - 1), text.substr(second + 1)};
  }
};

// Why rank 0 has to end: a launcher that sees a rank die interrupts the others.
RankEnding of_leader(const Ranks& ranks, const RankEnding& verdict) {
  for (unsigned rank = 1; rank < ranks.size() && verdict.code == static_cast<int>(Exit::interrupted); ++rank)
    if (ranks.ended(rank) && !std::filesystem::exists(ranks.file("done", rank)))
      return {static_cast<int>(Exit::environment), "rank " + std::to_string(rank) + " ended before its work was done",
              verdict.hint};
  return {verdict.code, "rank 0: " + verdict.what, verdict.hint};
}

// Adds a rank's state to `all`; what hinders it.
RankEnding add_rank(const Ranks& ranks, unsigned rank, const std::string& asked, Checkpoint& all) {
  const std::string name = "rank " + std::to_string(rank);
  const Ranks::Part done = ranks.take("done", rank);
  if (!done.text) return {static_cast<int>(Exit::environment), done.why};
  const std::size_t line = done.text->find('\n');
  const RankEnding its = RankEnding::of(done.text->substr(line + 1));
  if (its.code != 0) return {its.code, name + ": " + its.what, its.hint};
  if (const std::string other = done.text->substr(0, line); other != asked)
    return {static_cast<int>(Exit::usage), "the ranks disagree: rank 0 has " + asked + ", " + name + " has " + other,
            "give all ranks the same command line"};
  const Checkpoint part = coalesce::reduce::read_checkpoint(ranks.file("state", rank).string());
  if (const std::string what = difference(all.identity, part.identity, true); !what.empty())
    return {static_cast<int>(Exit::usage), "the ranks read different files; " + name + ": " + what};
  const auto element = coalesce::reduce::element_named(all.identity.element);
  if (!element) return {static_cast<int>(Exit::usage), name + " read elements of an unknown type"};
  coalesce::reduce::merge(*element, all.state, part.state);
  return {};
}

}  // namespace

std::optional<Checkpoint> reduce_over_ranks(const Ranks& ranks, const std::string& asked,
                                            const std::function<Checkpoint()>& part) {
  Checkpoint mine;
  RankEnding verdict;
  // Launchers send SIGTERM to the others as soon as the first has failed: each still says why.
  std::optional<Terminations> terminations;
  try {
    mine = part();
    if (!ranks.leads()) write_checkpoint(ranks.file("state").string(), mine, false);
  } catch (const Error& error) {
    verdict = {static_cast<int>(error.code), error.what(), error.hint};
  } catch (const std::exception& error) {
    verdict = {static_cast<int>(Exit::environment), error.what()};
  }
  terminations.emplace();
  if (ranks.leads()) {
    if (verdict.code != 0) verdict = of_leader(ranks, verdict);
    for (unsigned rank = 1; rank < ranks.size() && verdict.code == 0; ++rank) {
      try {
        verdict = add_rank(ranks, rank, asked, mine);
      } catch (const std::exception& error) {
        verdict = {static_cast<int>(Exit::environment), "rank " + std::to_string(rank) + ": " + error.what()};
      }
    }
    ranks.give("verdict", verdict.text());
    for (unsigned rank = 1; rank < ranks.size(); ++rank) ranks.take("heard", rank);
  } else {
    ranks.give("done", asked + '\n' + verdict.text());
    const Ranks::Part answer = ranks.take("verdict", 0);
    verdict = answer.text ? RankEnding::of(*answer.text) : RankEnding{static_cast<int>(Exit::environment), answer.why};
    ranks.give("heard", "");
  }
  if (verdict.code != 0) throw Error(static_cast<Exit>(verdict.code), verdict.what, verdict.hint);
  if (!ranks.leads()) return std::nullopt;
  mine.identity.part = mine.identity.parts = 1;
  mine.state.begin = 0;
  mine.state.done = mine.state.end = mine.identity.count;
  return mine;
}

}  // namespace coalesce::tool
