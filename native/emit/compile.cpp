// LLVM around the emitters: target, passes, object file.
#include "native/compile.h"

#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/DCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/Mem2Reg.h>

#include <mutex>
#include <stdexcept>

#include "native/analyse/facts.h"
#include "native/emit/emitter.h"
#include "native/emit/kernel.h"
#include "native/emit/mask_logic.h"

namespace coalesce::native {

using namespace llvm;

namespace {

// LLVM ends the process where it knows no way on. Thrown through it instead: a kernel that LLVM cannot compile is
// interpreted. It was built without exceptions, so what it was working on is never tidied up: see Work.
void give_up(void*, const char* reason, bool) { throw std::runtime_error(std::string("LLVM: ") + reason); }

// Each thread keeps the last one: making it, and what it makes of the CPU's features, takes a millisecond.
TargetMachine& machine_for(const Target& target, const CompileOptions& options) {
  thread_local std::unique_ptr<TargetMachine> machine;
  thread_local std::string made_for;
  const std::string wanted = target.cpu + ' ' + target.features + ' ' + std::to_string(options.level);
  if (machine && made_for == wanted) return *machine;
  static std::once_flag once;
  std::call_once(once, [] {
    InitializeNativeTarget();
    InitializeNativeTargetAsmPrinter();
    install_fatal_error_handler(give_up);
  });
  const std::string triple = sys::getProcessTriple();
  std::string error;
  const llvm::Target* found = TargetRegistry::lookupTarget(triple, error);
  if (!found) throw std::runtime_error("LLVM knows no " + triple + ": " + error);
  std::string cpu = target.cpu, features = target.features;
  if (cpu.empty()) cpu = sys::getHostCPUName().str();
  TargetOptions how;
  how.AllowFPOpFusion = FPOpFusion::Strict;  // PTX says where to fuse
  machine.reset(found->createTargetMachine(triple, cpu, features, how, Reloc::PIC_, CodeModel::Small,
                                           options.level ? CodeGenOptLevel::Default : CodeGenOptLevel::None, true));
  if (!machine) throw std::runtime_error("LLVM makes no code for " + cpu);
  made_for = wanted;
  return *machine;
}

bool make(const machine::Code& code, const CompileOptions& options, Module& module, TargetMachine& machine,
          std::vector<uint32_t>* words) {
  module.setTargetTriple(machine.getTargetTriple().str());
  module.setDataLayout(machine.createDataLayout());
  module.setPICLevel(PICLevel::BigPIC);
  // Without such an instruction LLVM would call a function of the C library.
  const bool is_x86 = machine.getTargetTriple().isX86();
  const auto has = [&](const char* feature) { return !is_x86 || machine.getMCSubtargetInfo()->checkFeatures(feature); };
  const unsigned vector_bits = !is_x86 ? 32 * 128 : has("+avx512f") ? 32 * 512 : has("+avx2") ? 16 * 256 : 16 * 128;
  const bool prefetches_loads = is_x86 && !sys::getHostCPUName().starts_with("znver");
  const bool has_masks = is_x86 && has("+avx512f");
  const Facts facts = find_facts(*code.program, sizeof(CostMemo), vector_bits);
  if (facts.regions.empty()) return false;
  Emitter emitter(code, facts, module, {has("+fma"), has("+sse4.1"), has_masks, prefetches_loads});
  emit_kernel(emitter);
  if (words) *words = loader_words(emitter);
  Function& f = *module.getFunction("kernel");
  // The widest vectors the target has, also where its tuning would rather not.
  f.addFnAttr("prefer-vector-width", "512");
  f.addFnAttr("min-legal-vector-width", "512");
  f.addFnAttr("target-cpu", machine.getTargetCPU());
  f.addFnAttr("target-features", machine.getTargetFeatureString());
  std::string problem;
  raw_string_ostream out(problem);
  if (verifyModule(module, &out)) throw std::runtime_error("generated code is not sound: " + problem);
  if (options.text) return true;
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager calls;
  ModuleAnalysisManager modules;
  PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(calls);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, calls, modules);
  FunctionPassManager passes;
  passes.addPass(PromotePass());
  if (options.level) {
    passes.addPass(SimplifyCFGPass());
    passes.addPass(EarlyCSEPass(true));
    passes.addPass(InstCombinePass());
    passes.addPass(SimplifyCFGPass());
    passes.addPass(EarlyCSEPass(true));
    passes.addPass(createFunctionToLoopPassAdaptor(LICMPass(LICMOptions()), true));
    passes.addPass(DCEPass());
  } else {  // pays for itself twice: it leaves a third less to select instructions for
    passes.addPass(InstCombinePass());
  }
  passes.run(f, functions);
  if (has_masks) hide_logic_of_masks(f);
  return true;
}

// All that LLVM works on. Left behind, not destroyed, when something was thrown meanwhile.
struct Work {
  Work() {
    // LLVM's own handler would end the process.
    context.setDiagnosticHandlerCallBack([](const DiagnosticInfo* what, void*) {
      if (what->getSeverity() != DS_Error) return;
      std::string text;
      raw_string_ostream out(text);
      DiagnosticPrinterRawOStream printer(out);
      what->print(printer);
      throw std::runtime_error("LLVM: " + text);
    });
  }

  LLVMContext context;
  Module module{"kernel", context};
  SmallVector<char, 0> bytes;
  raw_svector_ostream out{bytes};
  legacy::PassManager passes;

  SmallVector<char, 0> emit(TargetMachine& machine, CodeGenFileType type) {
    if (machine.addPassesToEmitFile(passes, out, nullptr, type))
      throw std::runtime_error("LLVM cannot write this file");
    passes.run(module);
    return std::move(bytes);
  }
};

template <class Use>
auto with_work(Use use) {
  auto* work = new Work;
  auto result = use(*work);
  delete work;
  return result;
}

}  // namespace

Object compile(const machine::Code& code, const Target& target, const CompileOptions& options) {
  return with_work([&](Work& work) {
    Object object;
    TargetMachine& machine = machine_for(target, options);
    if (!make(code, options, work.module, machine, &object.words)) return object;
    if (options.text) work.module.print(work.out, nullptr);
    const SmallVector<char, 0> bytes =
        options.text ? std::move(work.bytes) : work.emit(machine, CodeGenFileType::ObjectFile);
    object.code.assign(bytes.begin(), bytes.end());
    return object;
  });
}

}  // namespace coalesce::native
