#include "machine/api/loaded_program.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "machine/program/copies.h"
#include "machine/program/merge.h"

namespace coalesce::machine {

namespace {

constexpr std::size_t kMaxDecodedShapes = 64;  // per kernel; programs that launch more shapes decode again

}  // namespace

LoadedProgram::LoadedProgram(Memory& memory, const Device& device, ptx::Module module, const Places& places,
                             uint32_t most_registers)
    : memory_(memory), device_(device), module_(std::move(module)), most_registers_(most_registers) {
  for (const ptx::Variable& v : module_.variables) place(v, places);
  for (const ptx::Variable& v : module_.variables) initialise(v);
  std::size_t at = 0;
  for (std::size_t k = 0; k < module_.text.size(); ++k)
    if (module_.text[k] == '\n') lines_.push_back(at), at = k + 1;
  lines_.push_back(at);
}

LoadedProgram::~LoadedProgram() {
  for (const auto& [name, v] : variables_)
    if (!shared_.contains(name)) memory_.release(v.address);
}

const KernelInfo* LoadedProgram::kernel(std::string_view name) const {
  const ptx::Function* f = find(name);
  if (!f) return nullptr;
  const std::string key(name);
  if (const auto known = infos_.find(key); known != infos_.end()) return &known->second;
  KernelInfo info;
  info.name = key;
  const std::vector<uint32_t> offsets = parameter_offsets(*f, &info.parameter_bytes);
  for (std::size_t k = 0; k < offsets.size(); ++k)
    info.parameters.push_back({offsets[k], static_cast<uint32_t>(f->params[k].size)});
  const uint32_t* limit = f->required_threads[0] ? f->required_threads : f->max_threads;
  std::copy_n(f->cluster, 3, info.cluster.begin());
  info.max_threads = device_.threads_per_block;
  if (limit[0])
    info.max_threads = std::min(info.max_threads, limit[0] * std::max(1u, limit[1]) * std::max(1u, limit[2]));
  if (module_.target.starts_with("sm_") || module_.target.starts_with("compute_"))
    info.ptx_version =
        static_cast<uint32_t>(std::strtoul(module_.target.c_str() + module_.target.find('_') + 1, nullptr, 10));
  try {
    const std::unique_ptr<Decoded> p = decode(module_, *f, *this, LaunchShape{});
    info.static_shared_bytes = p->static_shared_bytes;
    info.local_bytes = p->local_bytes;
    info.registers = std::clamp(p->live_registers + 8, 16u, 255u);
    for (const Instruction& i : p->code) {
      info.launches_graphs = info.launches_graphs || (i.kind == Kind::call && i.text == "cudaGraphLaunch");
      info.polls = info.polls || (i.kind == Kind::load && p->memory[i.memory].is_volatile);
    }
    for (const uint32_t most : {f->most_registers, most_registers_})
      if (most != 0) info.registers = std::min(info.registers, most);
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): reported when it is launched
  }
  if (const MachineCode* by_ptxas = machine_code(name)) info.registers = by_ptxas->registers;
  return &infos_.emplace(key, std::move(info)).first->second;
}

const MachineCode* LoadedProgram::machine_code(std::string_view name) const {
  const auto found = machine_code_.find(std::string(name));
  return found == machine_code_.end() ? nullptr : &found->second;
}

void LoadedProgram::know_machine_code(MachineCodes of_kernels) {
  machine_code_ = std::move(of_kernels);
  for (auto& [name, info] : infos_)
    if (const MachineCode* by_ptxas = machine_code(name)) info.registers = by_ptxas->registers;
}

const VariableInfo* LoadedProgram::variable(std::string_view name) const {
  const auto v = variables_.find(std::string(name));
  return v == variables_.end() ? nullptr : &v->second;
}

std::vector<std::string> LoadedProgram::kernels() const {
  std::vector<std::string> names;
  for (const ptx::Function& f : module_.functions)
    if (f.is_entry && !f.is_declaration) names.push_back(f.name);
  return names;
}

std::vector<std::string> LoadedProgram::variables() const {
  std::vector<std::string> names;
  for (const auto& [name, v] : variables_) names.push_back(name);
  return names;
}

SymbolTable::Symbol LoadedProgram::symbol(const std::string& name) const {
  const auto v = variables_.find(name);
  return v == variables_.end() ? Symbol{} : Symbol{true, v->second.constant, v->second.address};
}

uint64_t LoadedProgram::function_address(const std::string& name) const {
  for (std::size_t k = 0; k < module_.functions.size(); ++k)
    if (module_.functions[k].name == name && !module_.functions[k].is_declaration)
      return kFunctionWindow + 16 * (k + 1);
  return 0;
}

std::string LoadedProgram::kernel_at(uint64_t address) const {
  const uint64_t k = (address - kFunctionWindow) / 16 - 1;
  if (address < kFunctionWindow || address % 16 != 0 || k >= module_.functions.size()) return {};
  const ptx::Function& f = module_.functions[k];
  return f.is_entry && !f.is_declaration ? f.name : std::string();
}

const Code& LoadedProgram::code(std::string_view name, const LaunchShape& shape, Model model, bool checked) {
  auto& shapes = codes_[std::string(name)];
  const auto known = shapes.find(shape);
  if (known != shapes.end()) return *known->second;
  if (shapes.size() >= kMaxDecodedShapes) shapes.clear();
  std::unique_ptr<Decoded> decoded = decode(module_, *find(name), *this, shape);
  if (const MachineCode* by_ptxas = machine_code(name)) {
    decoded->known_registers = by_ptxas->registers;
    decoded->known_code_bytes = by_ptxas->bytes;
  }
  count_copies(*decoded);
  if (model == Model::ptxas) merge_as_ptxas(*decoded);
  return *(shapes[shape] = lower(std::move(decoded), checked));
}

const ptx::Function* LoadedProgram::find(std::string_view name) const {
  for (const ptx::Function& f : module_.functions)
    if (f.is_entry && !f.is_declaration && f.name == name) return &f;
  return nullptr;
}

std::string LoadedProgram::line_text(uint32_t line) const {
  if (line == 0 || line > lines_.size()) return {};
  const std::size_t from = lines_[line - 1], to = line < lines_.size() ? lines_[line] - 1 : module_.text.size();
  std::string text = module_.text.substr(from, to - from);
  text.erase(0, text.find_first_not_of(" \t"));
  return text;
}

void LoadedProgram::place(const ptx::Variable& v, const Places& places) {
  if ((v.space != ptx::Space::global && v.space != ptx::Space::constant) || v.is_extern || variables_.contains(v.name))
    return;
  const bool constant = v.space == ptx::Space::constant;
  const auto given = places.find(v.name);
  const bool placed = given != places.end(), managed = v.managed || placed;
  const Origin origin = constant ? Origin::constant : managed ? Origin::managed : Origin::variable;
  const uint64_t bytes = std::max<uint64_t>(1, v.size);
  // Another device's module has the variable already: they share it.
  const Allocation* const shared = placed ? memory_.find(reinterpret_cast<uint64_t>(given->second)) : nullptr;
  if (shared && shared->origin == Origin::managed) {
    shared_.insert(v.name);
    variables_[v.name] = {v.name, reinterpret_cast<uint64_t>(given->second), v.size, constant, managed};
    return;
  }
  const Allocation* a = placed ? memory_.adopt(given->second, bytes, origin, "variable " + v.name)
                               : memory_.allocate(bytes, origin, "variable " + v.name);
  if (a && placed) std::memset(given->second, 0, v.size);
  if (!a) {
    Diagnostic d;
    d.message = "no memory for variable '" + v.name + "' of " + std::to_string(v.size) + " bytes";
    for (const auto& [name, other] : variables_)
      if (!shared_.contains(name)) memory_.release(other.address);
    variables_.clear();
    throw Error(d);
  }
  variables_[v.name] = {v.name, a->base, v.size, constant, managed};
}

void LoadedProgram::initialise(const ptx::Variable& v) {
  const auto placed = variables_.find(v.name);
  if (placed == variables_.end() || v.initial.empty() || shared_.contains(v.name)) return;
  auto* to = reinterpret_cast<std::byte*>(placed->second.address);
  std::memcpy(to, v.initial.data(), std::min<std::size_t>(v.initial.size(), v.size));
  for (const ptx::Relocation& r : v.relocations) {
    uint64_t address = function_address(r.symbol);
    if (const Symbol s = symbol(r.symbol); s.found) address = s.address;
    address = (address + static_cast<uint64_t>(r.addend)) >> r.shift;
    if (r.at + r.size <= v.size) std::memcpy(to + r.at, &address, std::min(8u, r.size));
  }
}

}  // namespace coalesce::machine
