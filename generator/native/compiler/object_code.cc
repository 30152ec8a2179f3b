#include "generator/native/compiler/object_code.h"

#include <elf.h>

#include <bit>
#include <cctype>
#include <cstring>
#include <map>
#include <set>

namespace kiln {
namespace {

/// The tables of the file; whatever they say is looked up within its bounds.
class Elf {
 public:
  explicit Elf(std::string_view file) : file_(file) {}

  /// Empty, or what is wrong.
  std::string Read() {
    const auto header = At<Elf64_Ehdr>(0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return "it is no ELF file";
    const int order = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != order)
      return "it is for machines of another word size or byte order";
    // With very many sections their count is in the first of them.
    const auto first = At<Elf64_Shdr>(header->e_shoff);
    const uint64_t count = header->e_shnum != 0 ? header->e_shnum : first ? first->sh_size : 0;
    for (uint64_t i = 0; i < count; ++i) {
      const auto section = At<Elf64_Shdr>(header->e_shoff + i * sizeof(Elf64_Shdr));
      if (!section) return "its table of sections is cut off";
      sections_.push_back(*section);
    }
    const uint32_t names = header->e_shstrndx != SHN_XINDEX ? header->e_shstrndx
                           : first                          ? first->sh_link
                                                            : 0;
    if (names >= sections_.size()) return "its sections have no names";
    names_ = names;
    return "";
  }

  const std::vector<Elf64_Shdr>& sections() const { return sections_; }
  std::string_view NameOf(const Elf64_Shdr& section) const { return Text(names_, section.sh_name); }

  /// Calls visit(symbol, its name, its section's number) for each function.
  template <class Visit>
  void ForFunctions(const Visit& visit) const {
    for (size_t s = 0; s < sections_.size(); ++s) {
      const Elf64_Shdr& table = sections_[s];
      if (table.sh_type != SHT_SYMTAB) continue;
      for (uint64_t i = 0; i < table.sh_size / sizeof(Elf64_Sym); ++i) {
        const auto symbol = At<Elf64_Sym>(table.sh_offset + i * sizeof(Elf64_Sym));
        if (!symbol) return;
        if (ELF64_ST_TYPE(symbol->st_info) == STT_FUNC)
          visit(*symbol, Text(table.sh_link, symbol->st_name), SectionOf(*symbol, s, i));
      }
    }
  }

 private:
  template <class T>
  std::optional<T> At(uint64_t offset) const {
    if (offset > file_.size() || file_.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, file_.data() + offset, sizeof(T));
    return value;
  }

  std::string_view Text(uint64_t section, uint64_t offset) const {
    if (section >= sections_.size()) return "";
    const Elf64_Shdr& in = sections_[section];
    if (in.sh_offset > file_.size() || offset >= in.sh_size) return "";
    const std::string_view rest = file_.substr(in.sh_offset).substr(0, in.sh_size);
    if (offset >= rest.size()) return "";
    return rest.substr(offset, rest.find('\0', offset) - offset);
  }

  /// Of one whose number does not fit the symbol a table beside it knows.
  uint64_t SectionOf(const Elf64_Sym& symbol, size_t table, uint64_t index) const {
    if (symbol.st_shndx != SHN_XINDEX) return symbol.st_shndx;
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type != SHT_SYMTAB_SHNDX || section.sh_link != table) continue;
      return At<uint32_t>(section.sh_offset + index * sizeof(uint32_t)).value_or(0);
    }
    return 0;
  }

  std::string_view file_;
  std::vector<Elf64_Shdr> sections_;
  uint64_t names_ = 0;
};

bool IsCode(const Elf64_Shdr& section) {
  return (section.sh_flags & SHF_ALLOC) != 0 && (section.sh_flags & SHF_EXECINSTR) != 0;
}

/// The namespace of an instruction set in a mangled name: "AVX3_DL" of "…7N_AVX3_DL…", with its
/// length before it. Empty: there is none.
std::string TargetOf(std::string_view name) {
  for (size_t at = name.find("N_"); at != name.npos; at = name.find("N_", at + 1)) {
    size_t begin = at;
    while (begin > 0 && std::isdigit(static_cast<unsigned char>(name[begin - 1]))) --begin;
    if (begin == at || at - begin > 3) continue;
    const size_t length = std::stoul(std::string(name.substr(begin, at - begin)));
    const std::string_view target = name.substr(at, length);
    constexpr const char* kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    if (target.size() != length || length < 3) continue;
    if (target.find_first_not_of(kLetters) == target.npos) return std::string(target.substr(2));
  }
  return "";
}

}  // namespace

int64_t ObjectCode::total() const {
  int64_t sum = common + constants + data + unwind;
  for (const Target& target : targets) sum += target.bytes;
  return sum;
}

std::optional<ObjectCode> ReadObjectCode(std::string_view file, std::string* why) {
  Elf elf(file);
  *why = elf.Read();
  if (!why->empty()) return std::nullopt;

  ObjectCode code;
  for (const Elf64_Shdr& section : elf.sections()) {
    if ((section.sh_flags & SHF_ALLOC) == 0) continue;
    const std::string_view name = elf.NameOf(section);
    const bool unwinds = name == ".eh_frame" || name.rfind(".gcc_except_table", 0) == 0;
    const bool writable = (section.sh_flags & SHF_WRITE) != 0;
    (IsCode(section) ? code.common
     : unwinds       ? code.unwind
     : writable      ? code.data
                     : code.constants) += static_cast<int64_t>(section.sh_size);
  }

  std::map<std::string, ObjectCode::Target> targets;
  std::set<std::pair<uint64_t, uint64_t>> seen;  // constructors have two names
  elf.ForFunctions([&](const Elf64_Sym& symbol, std::string_view name, uint64_t section) {
    if (section >= elf.sections().size() || !IsCode(elf.sections()[section])) return;
    if (!seen.emplace(section, symbol.st_value).second) return;
    const auto bytes = static_cast<int64_t>(symbol.st_size);
    const std::string target = TargetOf(name);
    if (target.empty()) {
      if (name.find("8Emulated") != name.npos) code.emulator += bytes;
      return;
    }
    ObjectCode::Target& of = targets[target];
    of.name = target;
    of.bytes += bytes;
    code.common -= bytes;
  });
  for (auto& [name, target] : targets) code.targets.push_back(target);
  return code;
}

}  // namespace kiln
