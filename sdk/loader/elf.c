// SPDX-License-Identifier: Apache-2.0
//
// A bounded reader of ELF64 dynamic symbol tables. A wrong file must be refused before dlopen:
// a sanitizer runtime ends the process when it is loaded late, and constructors run unasked.
// The file is hostile: every offset is checked against its size. Format: System V ABI, chapters
// 4 and 5.
#include "loader/elf.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <ops/provider.h>
#include <ops_support/error.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__x86_64__)
#define HOST_MACHINE EM_X86_64
#define HOST_MACHINE_NAME "x86-64"
#elif defined(__aarch64__)
#define HOST_MACHINE EM_AARCH64
#define HOST_MACHINE_NAME "aarch64"
#else
#error "version 1 runs on x86-64 and aarch64"
#endif

typedef struct view {
  const unsigned char *data;
  uint64_t size;
} view;

// The bytes [offset, offset + size) of the file, or NULL if they do not lie in it.
static const void *bytes_at(view file, uint64_t offset, uint64_t size) {
  if (offset > file.size || size > file.size - offset) return NULL;
  return file.data + offset;
}

static int32_t check_header(view file, const char *path, Elf64_Ehdr *out, ops_error *error) {
  if (file.size < sizeof *out || memcmp(file.data, ELFMAG, SELFMAG) != 0)
    return ops_error_set_cause(
        error, OPS_ERROR_INVALID_ARGUMENT, OPS_CAUSE_NOT_A_PROVIDER,
        "%s: not a shared object (no ELF header); expected a provider built "
        "with -shared",
        path);
  memcpy(out, file.data, sizeof *out);
  if (out->e_ident[EI_CLASS] != ELFCLASS64 || out->e_machine != HOST_MACHINE)
    return ops_error_set_cause(
        error, OPS_ERROR_INVALID_ARGUMENT, OPS_CAUSE_NOT_A_PROVIDER,
        "%s: built for another machine (ELF machine %u, %s-bit), expected %s", path,
        out->e_machine, out->e_ident[EI_CLASS] == ELFCLASS64 ? "64" : "32", HOST_MACHINE_NAME);
  if (out->e_type != ET_DYN)
    return ops_error_set_cause(error, OPS_ERROR_INVALID_ARGUMENT, OPS_CAUSE_NOT_A_PROVIDER,
                               "%s: an ELF file of type %u, expected a shared object (type %u)",
                               path, out->e_type, ET_DYN);
  return OPS_OK;
}

// The sanitizer whose runtime defines `name`; 0 for any other symbol.
static uint32_t sanitizer_of(const char *name) {
  if (strcmp(name, "__asan_init") == 0) return OPS_SANITIZER_ADDRESS;
  if (strcmp(name, "__tsan_init") == 0) return OPS_SANITIZER_THREAD;
  if (strcmp(name, "__msan_init") == 0) return OPS_SANITIZER_MEMORY;
  return 0;
}

static void note_symbol(const Elf64_Sym *symbol, const char *name, ops_elf_facts *facts) {
  const int binding = ELF64_ST_BIND(symbol->st_info);
  const int visibility = ELF64_ST_VISIBILITY(symbol->st_other);
  if (symbol->st_shndx == SHN_UNDEF) {
    facts->sanitizer |= sanitizer_of(name);
  } else if ((binding == STB_GLOBAL || binding == STB_WEAK || binding == STB_GNU_UNIQUE) &&
             (visibility == STV_DEFAULT || visibility == STV_PROTECTED) &&
             symbol->st_shndx != SHN_ABS) {
    if (strcmp(name, "ops_provider_query") == 0) {
      facts->exports_query = 1;
    } else if (facts->extra_exports++ == 0) {
      snprintf(facts->extra_export, sizeof facts->extra_export, "%s", name);
    }
  }
}

static int32_t read_symbols(view file, const Elf64_Shdr *table, const Elf64_Shdr *names,
                            ops_elf_facts *facts) {
  const char *text = bytes_at(file, names->sh_offset, names->sh_size);
  const unsigned char *symbols = bytes_at(file, table->sh_offset, table->sh_size);
  if (!text || !symbols || names->sh_size == 0 || text[names->sh_size - 1] != '\0') return 0;
  for (uint64_t i = 0; i < table->sh_size / sizeof(Elf64_Sym); ++i) {
    Elf64_Sym symbol;
    memcpy(&symbol, symbols + i * sizeof symbol, sizeof symbol);
    if (symbol.st_name >= names->sh_size) return 0;
    note_symbol(&symbol, text + symbol.st_name, facts);
  }
  return 1;
}

static int32_t section_at(view file, const Elf64_Ehdr *header, uint64_t index,
                          Elf64_Shdr *out) {
  if (index >= header->e_shnum || header->e_shentsize != sizeof *out) return 0;
  if (header->e_shoff > file.size) return 0;
  const void *bytes = bytes_at(file, header->e_shoff + index * sizeof *out, sizeof *out);
  if (!bytes) return 0;
  memcpy(out, bytes, sizeof *out);
  return 1;
}

static int32_t find_symbols(view file, const Elf64_Ehdr *header, ops_elf_facts *facts) {
  // The section headers stand last: a file cut short anywhere has lost some of them.
  if (!bytes_at(file, header->e_shoff, (uint64_t)header->e_shnum * sizeof(Elf64_Shdr)))
    return 0;
  for (uint64_t i = 0; i < header->e_shnum; ++i) {
    Elf64_Shdr table, names;
    if (!section_at(file, header, i, &table)) return 0;
    if (table.sh_type != SHT_DYNSYM) continue;
    return section_at(file, header, table.sh_link, &names) &&
           read_symbols(file, &table, &names, facts);
  }
  return 0;
}

static int32_t inspect(view file, const char *path, ops_elf_facts *facts, ops_error *error) {
  Elf64_Ehdr header;
  OPS_RETURN_IF_ERROR(check_header(file, path, &header, error));
  if (!find_symbols(file, &header, facts))
    return ops_error_set_cause(
        error, OPS_ERROR_INVALID_ARGUMENT, OPS_CAUSE_NOT_A_PROVIDER,
        "%s: damaged shared object: its dynamic symbol table cannot be read; "
        "build or copy it again",
        path);
  return OPS_OK;
}

int32_t ops_elf_inspect(const char *path, ops_elf_facts *out_facts, ops_error *error) {
  memset(out_facts, 0, sizeof *out_facts);
  struct stat status;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &status) != 0) {
    const int reason = errno;
    if (fd >= 0) close(fd);
    return ops_error_set_cause(error, OPS_ERROR_IO, OPS_CAUSE_FILE_UNREADABLE,
                               "%s: cannot be read: %s", path, strerror(reason));
  }
  if (!S_ISREG(status.st_mode) || status.st_size == 0) {
    close(fd);
    return ops_error_set_cause(
        error, OPS_ERROR_INVALID_ARGUMENT, OPS_CAUSE_NOT_A_PROVIDER,
        "%s: not a shared object (%s); expected a provider built with -shared", path,
        S_ISREG(status.st_mode) ? "an empty file" : "not a regular file");
  }
  void *data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  const int reason = errno;
  close(fd);
  if (data == MAP_FAILED)
    return ops_error_set_cause(error, OPS_ERROR_IO, OPS_CAUSE_FILE_UNREADABLE,
                               "%s: cannot be mapped: %s", path, strerror(reason));
  const view file = {data, (uint64_t)status.st_size};
  const int32_t result = inspect(file, path, out_facts, error);
  munmap(data, (size_t)status.st_size);
  return result;
}
