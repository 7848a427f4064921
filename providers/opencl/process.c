// SPDX-License-Identifier: Apache-2.0
#include "process.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void save_variables(opencl_process *process) {
  size_t count = 0;
  while (environ && environ[count]) ++count;
  process->variables = calloc(count + 1, sizeof *process->variables);
  if (!process->variables) return;
  for (size_t i = 0; i < count; ++i) process->variables[i] = environ[i];
  process->variable_count = count;
}

void opencl_process_save(opencl_process *process) {
  memset(process, 0, sizeof *process);
  for (int i = 1; i < kOpenclSignals; ++i) sigaction(i, NULL, &process->actions[i]);
  save_variables(process);
}

// The C library adds SA_RESTORER to the flags, which its own header does not name.
static int same_action(const struct sigaction *a, const struct sigaction *b) {
  return a->sa_sigaction == b->sa_sigaction && ((a->sa_flags ^ b->sa_flags) & ~0x04000000) == 0;
}

// Length of the name if the variable at `text` was not there before; else 0.
static size_t is_new(const opencl_process *process, const char *text) {
  const size_t size = strcspn(text, "=");
  for (size_t i = 0; i < process->variable_count; ++i)
    if (strncmp(process->variables[i], text, size + 1) == 0) return 0;
  return size;
}

static void remove_variables(const opencl_process *process) {
  char name[128];
  for (size_t i = 0; environ && environ[i];) {
    const size_t size = is_new(process, environ[i]);
    if (size == 0 || size >= sizeof name) {
      ++i;
      continue;
    }
    memcpy(name, environ[i], size);
    name[size] = '\0';
    unsetenv(name);
  }
}

void opencl_process_restore(opencl_process *process) {
  for (int i = 1; i < kOpenclSignals; ++i) {
    struct sigaction now;
    if (sigaction(i, NULL, &now) == 0 && !same_action(&now, &process->actions[i]))
      sigaction(i, &process->actions[i], NULL);
  }
  if (process->variables) remove_variables(process);
  free(process->variables);
  process->variables = NULL;
}
