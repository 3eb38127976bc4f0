#include "interpose/libraries/loader_name.h"

namespace rdmacheck {

const char* CopyLoaderName(const char* name, char* buffer, size_t size) {
  size_t i = 0;
  for (; name != nullptr && i + 1 < size && name[i] != '\0'; ++i) buffer[i] = name[i];
  buffer[i] = '\0';
  return buffer;
}

const char* CopyLoaderBaseName(const char* name, char* buffer, size_t size) {
  const char* base = name;
  for (const char* at = name; at != nullptr && *at != '\0'; ++at) {
    if (*at == '/') base = at + 1;
  }
  return CopyLoaderName(base, buffer, size);
}

}  // namespace rdmacheck
