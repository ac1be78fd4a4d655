#include "guard/driver/elf.h"

#include <elf.h>
#include <link.h>
#include <string.h>

#include <cstdint>

namespace kai::guard {
namespace {

struct Search {
  const char* library;
  const char* name;
  void* found;
};

uint32_t HashOf(const char* name) {
  uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

// The layout of DT_GNU_HASH: four numbers, a filter, the first symbol of each bucket, and the
// hashes of the symbols in the order of buckets, the last of each with bit 0 set.
const ElfW(Sym) * Lookup(const uint32_t* table, const ElfW(Sym) * symbols, const char* strings,
                         const char* name) {
  const uint32_t buckets = table[0], first = table[1], filter_words = table[2];
  const auto* filter = reinterpret_cast<const ElfW(Addr)*>(table + 4);
  const auto* bucket = reinterpret_cast<const uint32_t*>(filter + filter_words);
  const uint32_t* hashes = bucket + buckets;
  const uint32_t hash = HashOf(name);
  if (buckets == 0) return nullptr;
  for (uint32_t at = bucket[hash % buckets]; at >= first; ++at) {
    const uint32_t each = hashes[at - first];
    const ElfW(Sym) & symbol = symbols[at];
    if ((each | 1) == (hash | 1) && symbol.st_shndx != SHN_UNDEF &&
        strcmp(strings + symbol.st_name, name) == 0) {
      return &symbol;
    }
    if ((each & 1) != 0) break;
  }
  return nullptr;
}

int Look(dl_phdr_info* library, size_t, void* data) {
  auto* search = static_cast<Search*>(data);
  const char* slash = strrchr(library->dlpi_name, '/');
  const char* file = slash == nullptr ? library->dlpi_name : slash + 1;
  if (strncmp(file, search->library, strlen(search->library)) != 0) return 0;
  const uint32_t* table = nullptr;
  const ElfW(Sym)* symbols = nullptr;
  const char* strings = nullptr;
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    if (library->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto* entry =
        reinterpret_cast<const ElfW(Dyn)*>(library->dlpi_addr + library->dlpi_phdr[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      // The C library has made addresses of these offsets.
      if (entry->d_tag == DT_GNU_HASH) table = reinterpret_cast<uint32_t*>(entry->d_un.d_ptr);
      if (entry->d_tag == DT_SYMTAB) symbols = reinterpret_cast<ElfW(Sym)*>(entry->d_un.d_ptr);
      if (entry->d_tag == DT_STRTAB) strings = reinterpret_cast<char*>(entry->d_un.d_ptr);
    }
  }
  if (table == nullptr || symbols == nullptr || strings == nullptr) return 0;
  const ElfW(Sym)* symbol = Lookup(table, symbols, strings, search->name);
  if (symbol == nullptr) return 0;
  search->found = reinterpret_cast<void*>(library->dlpi_addr + symbol->st_value);
  return 1;
}

}  // namespace

void* AddressOf(const char* library, const char* name) {
  Search search = {library, name, nullptr};
  dl_iterate_phdr(Look, &search);
  return search.found;
}

}  // namespace kai::guard
