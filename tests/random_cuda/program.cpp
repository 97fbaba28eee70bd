// A whole program, and sources of several.
#include <algorithm>

#include "tests/random_cuda/builder.h"

namespace coalesce::random_cuda {

void Builder::make_constants() {
  for (unsigned i = 0, n = 1 + below(3); i < n; ++i) {
    const Type type = any_type(kNarrow | kWords | kLongs | kReals);
    const unsigned size = one_of({4, 8, 16, 32, 33, 64});
    const std::string name = "c" + std::to_string(i), t = row(type).name;
    const bool constant = chance(65);
    feature(constant ? "__constant__ array" : "__device__ table");
    std::string values;
    for (unsigned v = 0; v < size; ++v) values += (v ? ", " : "") + print(this->constant(type));
    top_.push_back(declaration(name, std::string(constant ? "CONSTANT " : "TABLE ") + t + " " + name + "[" +
                                         std::to_string(size) + "] = {" + values + "};\n"));
    places_.push_back({name + "[@]", {size}, type, Level::block});
  }
}

Tree Builder::run_function() {
  std::vector<Tree> parts;
  const auto buffer = [&](const std::string& type, const std::string& name, const char* count) {
    const bool managed = chance(12) && feature("managed memory");
    parts.push_back(declaration(name, "rc::Buffer<" + type + "> " + name + "(run, \"" + name + "\", " + count + ", " +
                                          std::to_string(random() >> 8) + ", " + (managed ? "true" : "false") +
                                          ");\n"));
  };
  buffer("u64", "out", "2048");
  std::const_pointer_cast<Node>(parts.back())->droppable = false;
  for (const Row& b : buffers_) buffer(row(b.type).name, b.name, b.sums ? "64" : "2048");
  for (size_t i = 0; i < struct_buffers_.size(); ++i)
    buffer(structs_[struct_buffers_[i]].name, "r" + std::to_string(i), "64");
  for (const Tree& l : launches_) parts.push_back(l);
  parts.push_back(text("out.compare();\n"));
  for (const Row& b : buffers_) parts.push_back(statement(b.name + ".compare();\n"));
  Tree made = list(std::move(parts));
  std::const_pointer_cast<Node>(made)->text = "#ifndef __CUDA_ARCH__\nstatic void run(rc::Run& run) {\n$*}\n#endif\n";
  return made;
}

Program Builder::build() {
  make_structs();
  make_constants();
  make_functions();
  for (unsigned i = 0, n = 3 + below(4); i < n; ++i) {
    const bool sums = i < 2;
    const Type type =
        sums ? any_type(only(Type::u32, Type::u64, Type::i32))
             : any_type(chance(50) ? kNarrow | kWords | kLongs | kReals : only(Type::f32, Type::u32, Type::i32));
    buffers_.push_back({"g" + std::to_string(i), type, sums});
  }
  for (unsigned i = 0, n = below(3); i < n; ++i)
    struct_buffers_.push_back(kVectorTypes + below(static_cast<unsigned>(structs_.size()) - kVectorTypes));
  const unsigned kernels = 1 + below(2);
  for (unsigned k = 0; k < kernels; ++k) top_.push_back(kernel(k));
  top_.push_back(run_function());
  program_.tree = list(std::move(top_));
  return std::move(program_);
}

Program generate(uint32_t seed) { return Builder(seed).build(); }

namespace {

struct Named {
  uint32_t number;
  const Program* program;
  const Cuts* cuts;
};

std::string source_of(const std::vector<Named>& all) {
  std::string out = "#include \"harness.h\"\n", table;
  for (const Named& n : all) {
    const std::string name = "program" + std::to_string(n.number);
    out += "namespace " + name + " {\n" + indented(print(n.program->tree, *n.cuts)) + "}  // namespace " + name + "\n";
    table += "{" + std::to_string(n.number) + ", " + name + "::run},\n";
  }
  return out + "#ifndef __CUDA_ARCH__\nint main(int argc, char** argv) {\n  const rc::Program programs[] = {\n" +
         table +
         "  };\n  return rc::run_programs(programs, sizeof programs / sizeof *programs, argc, argv);\n}\n#endif\n";
}

}  // namespace

std::string source(const std::vector<Program>& programs, const Cuts& cuts) {
  std::vector<Named> all;
  for (const Program& p : programs) all.push_back({p.seed, &p, &cuts});
  return source_of(all);
}

std::string source_of_variants(const Program& program, const std::vector<Cuts>& variants) {
  std::vector<Named> all;
  for (const Cuts& cuts : variants) all.push_back({static_cast<uint32_t>(all.size()), &program, &cuts});
  return source_of(all);
}

}  // namespace coalesce::random_cuda
