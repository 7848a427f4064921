// SPDX-License-Identifier: Apache-2.0
//
// State of the process. Each kind of it is a row: how it is compared, what it is called.
#include "runner/process.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

extern char **environ;

// FNV-1a, 64 bits.
static uint64_t hash_environment(void) {
  uint64_t hash = 14695981039346656037u;
  for (char **entry = environ; entry && *entry; ++entry) {
    for (const char *at = *entry; *at; ++at) {
      hash = (hash ^ (unsigned char)*at) * 1099511628211u;
    }
    hash = (hash ^ '\n') * 1099511628211u;
  }
  return hash;
}

static int count_timers(void) {
  static const int kinds[] = {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF};
  int count = 0;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
    struct itimerval timer;
    if (getitimer(kinds[i], &timer) != 0) continue;
    count += timer.it_value.tv_sec != 0 || timer.it_value.tv_usec != 0;
  }
  return count;
}

void oc_process_take(oc_process *process) {
  struct stat about;
  struct rlimit files = {0, 0};
  memset(process, 0, sizeof *process);
  for (int number = 1; number < OC_PROCESS_SIGNALS; ++number) {
    sigaction(number, NULL, &process->handlers[number]);
  }
  if (stat(".", &about) == 0) {
    process->folder_device = about.st_dev;
    process->folder_inode = about.st_ino;
  }
  process->environment = hash_environment();
  process->mask = umask(0);
  umask(process->mask);
  snprintf(process->locale, sizeof process->locale, "%s", setlocale(LC_ALL, NULL));
  process->timers = count_timers();
  getrlimit(RLIMIT_NOFILE, &files);
  process->files = files.rlim_cur;
  for (int fd = 0; fd < 3; ++fd) {
    oc_process_stream *stream = &process->streams[fd];
    stream->open = fstat(fd, &about) == 0;
    if (!stream->open) continue;
    stream->device = about.st_dev;
    stream->inode = about.st_ino;
  }
}

// ---- What changed ---------------------------------------------------------------------------

// The C library adds SA_RESTORER to the flags of each handler that it sets, so a provider that
// puts back what it found leaves the flag behind.
#define OWN_FLAGS (~0x04000000)

static bool same_handlers(const oc_process *a, const oc_process *b) {
  for (int number = 1; number < OC_PROCESS_SIGNALS; ++number) {
    const struct sigaction *x = &a->handlers[number], *y = &b->handlers[number];
    if (x->sa_sigaction != y->sa_sigaction ||
        (x->sa_flags & OWN_FLAGS) != (y->sa_flags & OWN_FLAGS))
      return false;
  }
  return true;
}

static bool same_folder(const oc_process *a, const oc_process *b) {
  return a->folder_device == b->folder_device && a->folder_inode == b->folder_inode;
}

static bool same_environment(const oc_process *a, const oc_process *b) {
  return a->environment == b->environment;
}

static bool same_mask(const oc_process *a, const oc_process *b) {
  return a->mask == b->mask;
}

static bool same_locale(const oc_process *a, const oc_process *b) {
  return strcmp(a->locale, b->locale) == 0;
}

static bool same_timers(const oc_process *a, const oc_process *b) {
  return a->timers == b->timers;
}

static bool same_limit(const oc_process *a, const oc_process *b) {
  return b->files >= a->files;
}

static bool same_streams(const oc_process *a, const oc_process *b) {
  for (int fd = 0; fd < 3; ++fd) {
    const oc_process_stream *x = &a->streams[fd], *y = &b->streams[fd];
    if (x->open != y->open || x->device != y->device || x->inode != y->inode) return false;
  }
  return true;
}

static const struct {
  const char *what;
  bool (*same)(const oc_process *a, const oc_process *b);
} kRows[] = {{"what the process does on a signal (sigaction)", same_handlers},
             {"the working directory (chdir)", same_folder},
             {"the environment (setenv)", same_environment},
             {"the mask of new files (umask)", same_mask},
             {"the locale (setlocale)", same_locale},
             {"a timer runs that will send a signal (setitimer, alarm)", same_timers},
             {"the number of files that may be open (setrlimit)", same_limit},
             {"a standard stream was closed or redirected", same_streams}};

static void put_back(const oc_process *known, const oc_process *now) {
  for (int number = 1; number < OC_PROCESS_SIGNALS; ++number) {
    if (number == SIGKILL || number == SIGSTOP) continue;
    if (known->handlers[number].sa_sigaction == now->handlers[number].sa_sigaction) continue;
    sigaction(number, &known->handlers[number], NULL);
  }
  umask(known->mask);
  const struct itimerval none = {{0, 0}, {0, 0}};
  if (known->timers == 0 && now->timers > 0) {
    setitimer(ITIMER_REAL, &none, NULL);
    setitimer(ITIMER_VIRTUAL, &none, NULL);
    setitimer(ITIMER_PROF, &none, NULL);
  }
}

const char *oc_process_settle(oc_process *known) {
  oc_process now;
  oc_process_take(&now);
  for (size_t i = 0; i < sizeof kRows / sizeof *kRows; ++i) {
    if (kRows[i].same(known, &now)) continue;
    put_back(known, &now);
    oc_process_take(known);
    return kRows[i].what;
  }
  return NULL;
}
