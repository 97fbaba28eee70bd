// Native code of loops without end: it comes back when the launch is interrupted, wherever the loop divides the lanes.
#include <chrono>
#include <thread>

#include "tests/native/engine_fixture.h"

namespace coalesce::native {
namespace {

struct Loop {
  const char *name, *body;
};
const Loop kLoops[] = {
    {"all lanes", "HERE:\nadd.u32 %r2, %r2, 1;\nbra HERE;\n"},
    {"all lanes, by a condition", "HERE:\nadd.u32 %r2, %r2, 1;\nsetp.ne.u32 %p1, %r3, 12345;\n@%p1 bra HERE;\n"},
    {"some lanes", "setp.lt.u32 %p1, %r1, 7;\nHERE:\nadd.u32 %r2, %r2, 1;\n@%p1 bra HERE;\n"},
    {"other lanes each time",
     "HERE:\nadd.u32 %r2, %r2, 1;\nadd.u32 %r4, %r2, %r1;\nand.b32 %r4, %r4, 8;\nsetp.ne.u32 %p1, %r4, 0;\n"
     "@%p1 bra BACK;\nadd.u32 %r5, %r5, 3;\nBACK:\nsetp.ne.u32 %p2, %r1, 99;\n@%p2 bra HERE;\n"},
    {"an inner loop",
     "HERE:\nmov.u32 %r4, 0;\nINNER:\nadd.u32 %r4, %r4, 1;\nsetp.lt.u32 %p1, %r4, %r1;\n@%p1 bra INNER;\n"
     "add.u32 %r2, %r2, %r4;\nsetp.ne.u32 %p2, %r1, 99;\n@%p2 bra HERE;\n"},
};

TEST(Interrupted, LoopsWithoutEnd) {
  if (!native_code()) GTEST_SKIP() << "built without LLVM";
  for (const Loop& loop : kLoops) {
    SCOPED_TRACE(loop.name);
    Settings settings = native_settings();
    settings.engine = machine::Engine::native;
    const auto engine = std::make_shared<Engine>(std::move(settings));
    Bench bench(1, Shape{}.max_instructions * 1000, engine);
    const auto program = bench.machine().load(
        kernel(".param .u64 out",
               "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, 0;\nmov.u32 %r3, "
               "%ctaid.x;\nmov.u32 %r5, 0;\n" +
                   std::string(loop.body) + "add.u32 %r2, %r2, %r5;\nst.global.u32 [%rd1], %r2;\n"),
        "test.ptx");
    std::thread other([&] {
      while (engine->statistics().compiled == 0) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      bench.machine().interrupt();
    });
    const Ran r = bench.run(*program, {zeros<uint32_t>(1)}, {}, "k");
    other.join();
    EXPECT_EQ(r.report.fault, Fault::budget);
    EXPECT_EQ(r.message(), "interrupted");
    EXPECT_EQ(engine->statistics().failed, 0u);
  }
}

}  // namespace
}  // namespace coalesce::native
