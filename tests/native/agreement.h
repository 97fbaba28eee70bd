// A kernel in all executors: interpreted, by native code that is there before the first block, by the plain executor.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/machine/execute/harness.h"
#include "tests/native/emitted.h"

namespace coalesce::machine::test {

class Agreement {
 public:
  // Returns what the interpreter leaves, after a test failure where another executor leaves something else.
  Ran operator()(const std::string& ptx, const std::vector<Argument>& arguments, const Shape& shape = {}) {
    const auto program = bench_.machine().load(ptx, "test.ptx");
    return (*this)(*program, arguments, shape);
  }
  Ran operator()(Program& program, const std::vector<Argument>& arguments, const Shape& shape = {}) {
    Ran expected = bench_.run(program, arguments, shape, "k", true);
    bench_.machine().use_plain(true);
    const Ran plain = bench_.run(program, arguments, shape, "k", true, &expected);
    bench_.machine().use_plain(false);
    EXPECT_EQ(difference_from_plain(plain, expected), "") << "plain / interpreter";
    native_->on = true;
    native_->found = 0;
    const Ran compiled = bench_.run(program, arguments, shape, "k", false, &expected);
    native_->on = false;
    EXPECT_EQ(difference(expected, compiled), "") << "interpreter / native";
    EXPECT_NE(native_->found, 0) << "there is no native code";
    return expected;
  }
  std::shared_ptr<Program> load(const std::string& ptx) { return bench_.machine().load(ptx, "test.ptx"); }

 private:
  struct Native final : NativeProvider {
    std::shared_ptr<const NativeKernel> find(const Launch& launch) override {
      if (!on) return nullptr;
      std::shared_ptr<const NativeKernel> kernel = engine->find(launch);
      found += kernel != nullptr;
      return kernel;
    }
    void ended(const Launch& launch) override {
      if (on) engine->ended(launch);
    }
    static std::shared_ptr<native::Engine> quick() {
      native::Settings settings = native_settings();
      settings.level = 0;  // LLVM takes nearly all of the time
      return std::make_shared<native::Engine>(std::move(settings));
    }
    const std::shared_ptr<native::Engine> engine = quick();
    bool on = false;
    int found = 0;
  };
  const std::shared_ptr<Native> native_ = std::make_shared<Native>();
  Bench bench_{1, Shape{}.max_instructions, native_};
};

}  // namespace coalesce::machine::test
