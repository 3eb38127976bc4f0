// Handles that were never seen being made: adopted without a finding, and their destroys as well (B38, T9); only that
// the context's inline verbs are not watched is reported, once.
// RUN: on=fake options="strict=1" exit=0
// EXPECT: TOLD a context was opened where rdmacheck does not look
// LINK: nothing
#include <dlfcn.h>
#include <link.h>

#include <infiniband/verbs.h>
#include <stdio.h>
#include <string.h>

// Finds a symbol in the library's own table, as a program that reads ELF files itself might: no dlsym is called.
static void* own_lookup(const char* path_part, const char* name);
static const char* wanted_path;
static const char* wanted_name;
static void* found;

static int look(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size;
  (void)data;
  if (strstr(info->dlpi_name, wanted_path) == NULL) return 0;
  const ElfW(Sym)* symbols = NULL;
  const char* strings = NULL;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    for (const ElfW(Dyn)* d = (const ElfW(Dyn)*)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr); d->d_tag != DT_NULL; ++d) {
      if (d->d_tag == DT_SYMTAB) symbols = (const ElfW(Sym)*)d->d_un.d_ptr;
      if (d->d_tag == DT_STRTAB) strings = (const char*)d->d_un.d_ptr;
    }
  }
  // The string table lies behind the symbols.
  for (const ElfW(Sym)* s = symbols; (const char*)s < strings; ++s) {
    if (s->st_shndx == SHN_UNDEF || s->st_value == 0 || strcmp(strings + s->st_name, wanted_name) != 0) continue;
    found = (void*)(info->dlpi_addr + s->st_value);
  }
  return 1;
}

static void* own_lookup(const char* path_part, const char* name) {
  wanted_path = path_part;
  wanted_name = name;
  found = NULL;
  dl_iterate_phdr(look, NULL);
  return found;
}

int main(void) {
  void* library = dlopen("libibverbs.so.1", RTLD_NOW);
  if (library == NULL) return 97;
  typedef struct ibv_device** (*list_fn)(int*);
  typedef void (*free_fn)(struct ibv_device**);
  typedef struct ibv_context* (*open_fn)(struct ibv_device*);
  typedef struct ibv_pd* (*alloc_fn)(struct ibv_context*);
  typedef int (*dealloc_fn)(struct ibv_pd*);
  typedef int (*close_fn)(struct ibv_context*);
  typedef struct ibv_mr* (*reg_fn)(struct ibv_pd*, void*, size_t, int);
  typedef int (*dereg_fn)(struct ibv_mr*);
  list_fn list = (list_fn)dlsym(library, "ibv_get_device_list");
  free_fn give_back = (free_fn)dlsym(library, "ibv_free_device_list");
  open_fn open_past_us = (open_fn)own_lookup("libibverbs", "verbs_open_device");
  alloc_fn alloc = (alloc_fn)dlsym(library, "ibv_alloc_pd");
  reg_fn reg = (reg_fn)dlsym(library, "ibv_reg_mr");
  dereg_fn dereg = (dereg_fn)dlsym(library, "ibv_dereg_mr");
  dealloc_fn dealloc = (dealloc_fn)dlsym(library, "ibv_dealloc_pd");
  close_fn shut = (close_fn)dlsym(library, "ibv_close_device");
  if (!list || !open_past_us || !alloc || !reg) return 96;
  struct ibv_device** devices = list(NULL);
  struct ibv_context* context = open_past_us(devices[0]);
  give_back(devices);
  if (context == NULL) return 95;
  struct ibv_pd* pd = alloc(context);
  static char buffer[64];
  struct ibv_mr* mr = reg(pd, buffer, sizeof(buffer), 0);
  if (mr == NULL || dereg(mr) != 0 || dealloc(pd) != 0 || shut(context) != 0) return 94;
  return 0;
}
