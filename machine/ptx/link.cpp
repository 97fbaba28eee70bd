#include "machine/ptx/link.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace coalesce::ptx {
namespace {

using Renaming = std::unordered_map<std::string, std::string>;

void rename(std::string& name, const Renaming& names) {
  if (const auto n = names.find(name); n != names.end()) name = n->second;
}

void rename(Operand& operand, const Renaming& names) {
  if (!operand.name.empty()) rename(operand.name, names);
  for (Operand& element : operand.elements) rename(element, names);
}

void rename(Module& module, const Renaming& names) {
  for (Variable& v : module.variables) {
    rename(v.name, names);
    for (Relocation& r : v.relocations) rename(r.symbol, names);
  }
  for (Function& f : module.functions) {
    rename(f.name, names);
    for (Instruction& i : f.body)
      for (Operand& o : i.operands) rename(o, names);
    for (Function::Table& table : f.branch_tables)
      for (std::string& entry : table.entries) rename(entry, names);
  }
  for (auto& [alias, target] : module.aliases) {
    rename(alias, names);
    rename(target, names);
  }
}

void move_places(Module& module, uint32_t lines, uint32_t files) {
  for (auto& [number, path] : module.files) number += files;
  for (Function& f : module.functions) {
    f.line += lines;
    for (Instruction& i : f.body) i.line += lines;
    for (Location& l : f.locations)
      if (l.file != 0) l.file += files;
  }
}

bool defines(const Variable& v) { return !v.is_extern; }
bool defines(const Function& f) { return !f.is_declaration; }

// Adds `items` to `all`, so that of each shared name one entry remains: a definition where there is one.
template <typename Item>
void merge(std::vector<Item>& all, std::unordered_map<std::string, std::size_t>& shared, std::vector<Item>& items) {
  for (Item& item : items) {
    if (item.linkage == Linkage::local) {
      all.push_back(std::move(item));
      continue;
    }
    const auto [known, added] = shared.try_emplace(item.name, all.size());
    if (added) {
      all.push_back(std::move(item));
      continue;
    }
    Item& other = all[known->second];
    const bool stronger = other.linkage == Linkage::weak && item.linkage == Linkage::visible;
    if (defines(item) && (!defines(other) || stronger)) other = std::move(item);
  }
}

}  // namespace

Module link(std::vector<Module> modules) {
  if (modules.size() == 1) return std::move(modules.front());
  // A local name may be used once, and not where it is also shared.
  std::unordered_set<std::string> taken;
  for (const Module& m : modules) {
    for (const Variable& v : m.variables)
      if (v.linkage != Linkage::local) taken.insert(v.name);
    for (const Function& f : m.functions)
      if (f.linkage != Linkage::local) taken.insert(f.name);
  }
  Module all;
  std::unordered_map<std::string, std::size_t> shared_variables, shared_functions;
  uint32_t lines = 0, files = 0;
  for (std::size_t k = 0; k < modules.size(); ++k) {
    Module& m = modules[k];
    Renaming names;
    std::unordered_set<std::string> own;  // a function is often declared before it is defined
    const auto keep_or_rename = [&](const std::string& name) {
      if (own.insert(name).second && !taken.insert(name).second) names[name] = name + "@" + std::to_string(k + 1);
    };
    for (const Variable& v : m.variables)
      if (v.linkage == Linkage::local) keep_or_rename(v.name);
    for (const Function& f : m.functions)
      if (f.linkage == Linkage::local && !f.is_entry) keep_or_rename(f.name);
    if (!names.empty()) rename(m, names);
    move_places(m, lines, files);

    if (k == 0) {
      all.version_major = m.version_major;
      all.version_minor = m.version_minor;
      all.target = m.target;
      all.address_size = m.address_size;
    }
    for (auto& file : m.files) {
      files = std::max(files, file.first);
      all.files.push_back(std::move(file));
    }
    if (!m.text.empty() && m.text.back() != '\n') m.text += '\n';
    lines += static_cast<uint32_t>(std::count(m.text.begin(), m.text.end(), '\n'));
    all.text += m.text;
    merge(all.variables, shared_variables, m.variables);
    merge(all.functions, shared_functions, m.functions);
    all.aliases.insert(all.aliases.end(), std::make_move_iterator(m.aliases.begin()),
                       std::make_move_iterator(m.aliases.end()));
  }
  return all;
}

}  // namespace coalesce::ptx
