// SPDX-License-Identifier: Apache-2.0
//
// Multiply and fold, after wyhash (Wang Yi): the two halves of a 128-bit product of words that
// are mixed with the secret. Every word enters two of the four lanes, each time with another
// partner, so that a difference leaves 128 bits of trace.
#include "loader/content_hash.h"

#include <string.h>
#include <sys/random.h>
#include <time.h>

#define STRIPE 32u  // bytes that go into the lanes at once

static uint64_t fold(uint64_t a, uint64_t b) {
  const unsigned __int128 product = (unsigned __int128)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

void ops_content_secret_draw(ops_content_secret *out_secret) {
  struct timespec now = {0};
  if (getrandom(out_secret, sizeof *out_secret, GRND_NONBLOCK) == (ssize_t)sizeof *out_secret)
    return;
  clock_gettime(CLOCK_REALTIME, &now);
  uint64_t seed = (uint64_t)now.tv_nsec ^ (uint64_t)now.tv_sec << 32 ^ (uintptr_t)out_secret;
  for (int i = 0; i < 4; ++i)
    out_secret->words[i] = seed = fold(seed + 0x9e3779b97f4a7c15, 0xd6e8feb86659fd93);
}

void ops_content_hasher_init(ops_content_hasher *hasher, const ops_content_secret *secret) {
  hasher->secret = *secret;
  for (int i = 0; i < 4; ++i) hasher->lanes[i] = ~secret->words[3 - i];
}

static void mix(uint64_t *lanes, const uint64_t *secret, const void *stripe) {
  uint64_t w[4];
  memcpy(w, stripe, sizeof w);
  lanes[0] = fold(w[0] ^ secret[0], w[1] ^ lanes[0]);
  lanes[1] = fold(w[2] ^ secret[1], w[3] ^ lanes[1]);
  lanes[2] = fold(w[3] ^ secret[2], w[0] ^ lanes[2]);
  lanes[3] = fold(w[1] ^ secret[3], w[2] ^ lanes[3]);
}

void ops_content_hasher_add(ops_content_hasher *hasher, const void *data, uint64_t size) {
  const unsigned char *bytes = data;
  uint64_t lanes[4], at = 0;
  memcpy(lanes, hasher->lanes, sizeof lanes);
  for (; size - at >= STRIPE; at += STRIPE) mix(lanes, hasher->secret.words, bytes + at);
  unsigned char last[STRIPE] = {0};
  if (size > at) memcpy(last, bytes + at, size - at);
  mix(lanes, hasher->secret.words, last);
  const uint64_t length[4] = {size, ~size, size, ~size};
  mix(lanes, hasher->secret.words, length);
  memcpy(hasher->lanes, lanes, sizeof lanes);
}

ops_content_hash ops_content_hasher_finish(const ops_content_hasher *hasher) {
  const uint64_t *lanes = hasher->lanes, *secret = hasher->secret.words;
  const uint64_t left = fold(lanes[0] ^ secret[2], lanes[1] ^ secret[3]);
  const uint64_t right = fold(lanes[2] ^ secret[0], lanes[3] ^ secret[1]);
  return (ops_content_hash){fold(left ^ secret[1], lanes[2] ^ secret[2]) ^ lanes[0],
                            fold(right ^ secret[3], lanes[1] ^ secret[0]) ^ lanes[3]};
}
