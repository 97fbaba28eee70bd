// Random programs of barriers: groups of warps meet at barriers of all numbers, some only arrive, and reductions count
// those who wait. The results are worked out here, event by event.
#include <random>

#include "prologue.h"

namespace coalesce::machine::test {
namespace barrier_programs {
namespace {

enum class Meets : uint8_t { sync, arrive, popc, all, any };

struct Event {
  uint32_t id;
  std::vector<uint32_t> warps;
  std::vector<bool> only_arrives;
  Meets how;
  uint32_t factor, bit;  // thread t's predicate: bit `bit` of t * factor
  bool counted;          // the number of threads is said
};

bool predicate(const Event& e, uint32_t thread) { return thread * e.factor >> e.bit & 1; }

std::vector<Event> events_of(std::mt19937& random, uint32_t warps) {
  std::vector<Event> events;
  for (uint32_t round = 0; round < 2; ++round) {
    std::vector<uint32_t> ids(15);  // without the one of all warps
    for (uint32_t k = 0; k < 15; ++k) ids[k] = k + 1 - round;
    std::shuffle(ids.begin(), ids.end(), random);
    for (uint32_t k = 0; k < 8; ++k) {
      Event e{ids[k],
              {},
              {},
              static_cast<Meets>(random() % 5),
              1 + static_cast<uint32_t>(random() % 97),
              static_cast<uint32_t>(random() % 7),
              true};
      for (uint32_t w = 0; w < warps; ++w)
        if (random() % 2) e.warps.push_back(w), e.only_arrives.push_back(random() % 2 == 0);
      if (e.warps.empty()) e.warps.push_back(k % warps), e.only_arrives.push_back(false);
      e.only_arrives[random() % e.warps.size()] = false;
      events.push_back(e);
    }
    // All warps; the next round's barriers have the same numbers.
    Event all{static_cast<uint32_t>(round * 15),
              {},
              std::vector<bool>(warps),
              static_cast<Meets>(2 + random() % 3),
              5,
              1,
              round == 1};
    for (uint32_t w = 0; w < warps; ++w) all.warps.push_back(w);
    events.push_back(all);
  }
  return events;
}

std::string text_of(const Event& e, bool arrives, uint32_t number, bool whole) {
  const std::string at = std::to_string(e.id), count = e.counted ? ", " + std::to_string(32 * e.warps.size()) : "";
  if (arrives) return "bar.arrive " + at + count + ";\n";
  if (e.how == Meets::sync || e.how == Meets::arrive)
    return (whole ? "barrier.sync.aligned " : "bar.sync ") + at + count + ";\nmad.lo.u32 %r10, %r10, 3, " +
           std::to_string(number) + ";\n";
  const std::string make = "mul.lo.u32 %r2, %r1, " + std::to_string(e.factor) + ";\nshr.u32 %r2, %r2, " +
                           std::to_string(e.bit) + ";\nand.b32 %r2, %r2, 1;\nsetp.ne.u32 %p1, %r2, 0;\n";
  if (e.how == Meets::popc)
    return make + "bar.red.popc.u32 %r3, " + at + count + ", %p1;\nmad.lo.u32 %r10, %r10, 3, %r3;\n";
  return make + "bar.red." + (e.how == Meets::all ? "and" : "or") + ".pred %p2, " + at + count +
         ", %p1;\nselp.u32 %r3, 1, 0, %p2;\nmad.lo.u32 %r10, %r10, 3, %r3;\n";
}

TEST(BarrierPrograms, AsWorkedOutHere) {
  std::mt19937 random(23);
  for (const uint32_t count : {64u, 96u, 150u, 128u, 33u, 192u, 256u}) {
    const uint32_t warps = (count + 31) / 32;
    const std::vector<Event> events = events_of(random, warps);
    std::vector<std::string> texts(warps);
    std::vector<uint32_t> wanted(count);
    for (uint32_t number = 0; number < events.size(); ++number) {
      const Event& e = events[number];
      uint32_t votes = 0, threads = 0;
      const auto each = [&](auto use) {
        for (std::size_t k = 0; k < e.warps.size(); ++k)
          for (uint32_t t = 32 * e.warps[k]; t < std::min(count, 32 * (e.warps[k] + 1)); ++t)
            if (!e.only_arrives[k]) use(t);
      };
      each([&](uint32_t t) { votes += predicate(e, t), ++threads; });
      each([&](uint32_t t) {
        const uint32_t result = e.how == Meets::popc  ? votes
                                : e.how == Meets::all ? votes == threads
                                : e.how == Meets::any ? votes > 0
                                                      : number;
        wanted[t] = wanted[t] * 3 + result;
      });
      for (std::size_t k = 0; k < e.warps.size(); ++k)
        texts[e.warps[k]] += text_of(e, e.only_arrives[k], number, number % 2 == 0);
    }
    std::string body = "mov.u32 %r10, 0;\nshr.u32 %r4, %r1, 5;\n";
    for (uint32_t w = 0; w < warps; ++w) {
      const std::string name = "W" + std::to_string(w);
      body += "setp.ne.u32 %p3, %r4, " + std::to_string(w) + ";\n@%p3 bra " + name + ";\n" + texts[w] + "bra END;\n" +
              name + ":\n";
    }
    Shape s = threads(count);
    s.max_instructions = 100'000;
    const Ran r = run(with_prologue(body + "END:\n"), {zeros<uint32_t>(count)}, s);
    ASSERT_EQ(r.report.fault, Fault::none) << count << ": " << r.message();
    EXPECT_EQ(r.read(), wanted) << count;
  }
}

// One register holds the thread's number first, then the block's votes.
TEST(BarrierPrograms, VotesInARegisterThatVaries) {
  const Ran r =
      run(with_prologue("mov.u32 %r3, %r1;\nmov.u32 %r10, 0;\nmov.u32 %r4, 0;\nsetp.lt.u32 %p1, %r1, 40;\nL:\n"
                        "mad.lo.u32 %r10, %r10, 3, %r3;\nbar.red.popc.u32 %r3, 0, %p1;\n"
                        "add.u32 %r4, %r4, 1;\nsetp.lt.u32 %p2, %r4, 3;\n@%p2 bra L;\n"),
          {zeros<uint32_t>(100)}, threads(100));
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t i = 0; i < 100; ++i) EXPECT_EQ(r.read()[i], (i * 3 + 40) * 3 + 40) << i;
}

// Two parts of one warp are at a barrier that another warp does not come to: they are not two warps.
TEST(BarrierPrograms, PartsOfAWarpAreNoWarps) {
  const Ran r = run(with_prologue("mov.u32 %r10, 1;\nsetp.ge.u32 %p1, %r1, 32;\n@%p1 bra OTHER;\n"
                                  "setp.lt.u32 %p2, %r1, 16;\n@%p2 bra PART;\nbar.sync 2;\nbra END;\nPART:\n"
                                  "bar.sync 2;\nbra END;\nOTHER:\nbar.sync 1;\nEND:\n"),
                    {zeros<uint32_t>(64)}, threads(64));
  EXPECT_EQ(r.report.fault, Fault::deadlock);
}

}  // namespace
}  // namespace barrier_programs
}  // namespace coalesce::machine::test
