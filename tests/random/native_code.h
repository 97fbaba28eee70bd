// Native code for tests that compare executors.
#pragma once

#include <memory>

#include "machine/execute/native.h"
#include "native/engine.h"

namespace coalesce::machine::test {

// How the tests' engines are set: every kernel native from its first block on, nothing kept on disk.
// COALESCE_NATIVE_LEVEL and COALESCE_NATIVE_CPU choose other code than the usual.
native::Settings native_settings();

// One engine for all tests of a program; null where the build has no generator.
std::shared_ptr<native::Engine> native_code();

}  // namespace coalesce::machine::test
