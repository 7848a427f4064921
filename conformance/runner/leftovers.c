// SPDX-License-Identifier: Apache-2.0
//
// Children by /proc: all that has this process as its parent. proc(5): in /proc/PID/stat the
// name stands in parentheses and may hold any character, the state and the parent behind it.
#include "runner/leftovers.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_ROUNDS 64  // of ending what the end of others has set free

// Whether the process is a child of this one; *out_dead: it has ended and waits to be reaped.
static bool is_child(const char *number, bool *out_dead) {
  char path[64], text[512];
  char state = 0;
  int parent = 0;
  snprintf(path, sizeof path, "/proc/%.20s/stat", number);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t got = read(fd, text, sizeof text - 1);
  close(fd);
  text[got < 0 ? 0 : got] = 0;
  const char *behind = strrchr(text, ')');
  if (!behind || sscanf(behind + 1, " %c %d", &state, &parent) != 2) return false;
  *out_dead = state == 'Z' || state == 'X';
  return parent == getpid();
}

static bool is_among(pid_t pid, const pid_t *list, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (list[i] == pid) return true;
  }
  return false;
}

// The children that `leftovers` does not know and nobody spares, dead ones too.
static size_t find(const oc_leftovers *leftovers, const pid_t *spared, size_t count,
                   pid_t out_pids[OC_LEFTOVERS_MAX], size_t *out_running) {
  size_t found = 0;
  const struct dirent *entry;
  DIR *folder = opendir("/proc");
  *out_running = 0;
  while (folder && found < OC_LEFTOVERS_MAX && (entry = readdir(folder))) {
    bool dead = false;
    if (!isdigit((unsigned char)entry->d_name[0]) || !is_child(entry->d_name, &dead)) continue;
    const pid_t pid = (pid_t)atoi(entry->d_name);
    if (is_among(pid, leftovers->known, leftovers->known_count) ||
        is_among(pid, spared, count)) {
      continue;
    }
    out_pids[found++] = pid;
    if (!dead) ++*out_running;
  }
  if (folder) closedir(folder);
  return found;
}

void oc_leftovers_begin(oc_leftovers *leftovers) {
  static const oc_leftovers none;
  size_t running;
  leftovers->subreaper = 0;
  prctl(PR_GET_CHILD_SUBREAPER, &leftovers->subreaper);
  leftovers->known_count = find(&none, NULL, 0, leftovers->known, &running);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void oc_leftovers_finish(const oc_leftovers *leftovers) {
  prctl(PR_SET_CHILD_SUBREAPER, leftovers->subreaper);
}

int32_t oc_leftovers_count(const oc_leftovers *leftovers, const pid_t *spared, size_t count) {
  pid_t pids[OC_LEFTOVERS_MAX];
  size_t running;
  find(leftovers, spared, count, pids, &running);
  return (int32_t)running;
}

void oc_leftovers_end(const oc_leftovers *leftovers, const pid_t *spared, size_t count) {
  pid_t pids[OC_LEFTOVERS_MAX];
  size_t running;
  for (int round = 0; round < MAX_ROUNDS; ++round) {
    const size_t found = find(leftovers, spared, count, pids, &running);
    for (size_t i = 0; i < found; ++i) kill(pids[i], SIGKILL);
    for (size_t i = 0; i < found; ++i) {
      while (waitpid(pids[i], NULL, 0) < 0 && errno == EINTR) continue;
    }
    if (found == 0) return;
  }
}
