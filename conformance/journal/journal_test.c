// SPDX-License-Identifier: Apache-2.0
//
// Journals written, cut, resumed, merged. What is expected are the results that the test itself
// gave to the writer.
#include "journal/journal.h"

#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "ops_support/error.h"

#define CASES 7

typedef struct fixture {
  char folder[32];
  char path[64];
  oc_contract contracts[2];
  oc_case items[CASES];
  oc_cases cases;
  uint32_t indices[CASES];
  oc_result results[CASES];
  oc_journal_header header;
} fixture;

static void make_results(fixture *f) {
  for (uint32_t i = 0; i < CASES; ++i) {
    f->results[i] = (oc_result){.case_index = i,
                                .status = OC_STATUS_PASS,
                                .phase = OC_PHASE_DESTROY,
                                .attempts = 1,
                                .seconds = 0.1 / (i + 1),
                                .output = -1,
                                .element = -1,
                                .measured = 1,
                                .error = 1.0 / 3,
                                .limit = 2,
                                .metric = "ulp",
                                .inputs = "float[2, 3]"};
  }
  f->results[1].checks = 5;
  f->results[2].error = INFINITY;
  f->results[2].element = (int64_t)1 << 40;
  f->results[2].output = 1;
  oc_result_end(&f->results[2], OC_STATUS_FAIL, "values", "\"quoted\" \\ and \xc3\xa9");
  f->results[4].error = NAN;
  f->results[4].died = 1;
  f->results[4].attempts = 2;
  oc_result_end(&f->results[4], OC_STATUS_CRASH, "process", "killed");
}

static int setup(void **state) {
  static const char *const ids[CASES] = {
      "Abs-13/float/2/x", "Abs-13/float/3/x",   "Abs-13/double/1/x",   "Gelu-1/float/2x3/x",
      "Gelu-1/float/5/x", "Gelu-1/float/7x1/x", "Gelu-1/float16/2x3/x"};
  fixture *f = calloc(1, sizeof *f);
  snprintf(f->folder, sizeof f->folder, "/dev/shm/oc_journal_XXXXXX");
  if (!mkdtemp(f->folder)) return -1;
  snprintf(f->path, sizeof f->path, "%s/j", f->folder);
  static const int32_t types[] = {OPS_TYPE_FLOAT, OPS_TYPE_FLOAT16};
  f->contracts[0] = (oc_contract){.domain = "ai.onnx", .op = "Abs", .type_var_count = 1};
  f->contracts[1] = (oc_contract){.domain = "com.microsoft", .op = "Gelu", .type_var_count = 1};
  for (uint32_t i = 0; i < CASES; ++i) {
    f->items[i] = (oc_case){.id = ids[i],
                            .contract = &f->contracts[i > 2],
                            .types = &types[i == 3],
                            .seed = UINT64_MAX - 1000 * i};
    f->indices[i] = i;
  }
  f->items[CASES - 1].provider_case = 7;
  f->cases = (oc_cases){.items = f->items, .count = CASES};
  oc_journal_header_init(&f->header, "9.8.7");
  f->header.setup = (oc_report_setup){.provider = "./libx.so",
                                      .contracts = "contracts",
                                      .profile = OC_PROFILE_STANDARD,
                                      .tier = OC_TIER_MERGE,
                                      .seed = UINT64_MAX,
                                      .jobs = 2,
                                      .timeout = 0.1};
  f->header.shard_index = f->header.shard_count = 1;
  snprintf(f->header.candidate_hash, 65, "aa");
  snprintf(f->header.oracle_hash, 65, "bb");
  snprintf(f->header.hello.candidate.name, 64, "x");
  snprintf(f->header.hello.oracle.name, 64, "reference");
  oc_journal_header_select(&f->header, &f->cases, f->indices, CASES);
  make_results(f);
  *state = f;
  return 0;
}

static int teardown(void **state) {
  fixture *f = *state;
  char command[80];
  snprintf(command, sizeof command, "rm -rf '%s'", f->folder);
  const int left = system(command);
  free(f);
  return left;
}

// ---- Helpers --------------------------------------------------------------------------------

// Runs what of `indices` has no result yet, as a resumed run does; stops after `most` results.
static void run(fixture *f, const char *path, const oc_journal_header *header,
                const uint32_t *indices, size_t count, size_t most) {
  ops_error error = OPS_ERROR_INIT;
  oc_journal *before = NULL;
  oc_journal_writer *writer = NULL;
  bool done[CASES] = {false};
  assert_int_equal(oc_journal_writer_open(path, &writer, &before, &error), OPS_OK);
  for (size_t i = 0; i < before->count; ++i) {
    if (before->results[i].case_index != OC_NO_CASE) done[before->results[i].case_index] = true;
  }
  assert_int_equal(oc_journal_writer_begin(writer, header, &f->cases, indices, count, &error),
                   OPS_OK);
  size_t given = 0;
  for (size_t i = 0; i < count && given < most; ++i) {
    if (done[i]) continue;
    assert_int_equal(oc_journal_writer_add(writer, &f->results[indices[i]], &error), OPS_OK);
    ++given;
  }
  if (given < most) assert_int_equal(oc_journal_writer_end(writer, 1.5, &error), OPS_OK);
  oc_journal_writer_close(writer);
  oc_journal_destroy(before);
}

static void assert_same_double(double a, double b) {
  assert_true((isnan(a) && isnan(b)) || a == b);
}

static void assert_same_result(const oc_result *a, const oc_result *b) {
  assert_int_equal(a->status, b->status);
  assert_true(a->checks == b->checks);
  assert_int_equal(a->phase, b->phase);
  assert_int_equal(a->attempts, b->attempts);
  assert_int_equal(a->died, b->died);
  assert_int_equal(a->measured, b->measured);
  assert_int_equal(a->output, b->output);
  assert_true(a->element == b->element);
  assert_same_double(a->seconds, b->seconds);
  assert_same_double(a->error, b->error);
  assert_same_double(a->limit, b->limit);
  assert_string_equal(a->check, b->check);
  assert_string_equal(a->metric, b->metric);
  assert_string_equal(a->inputs, b->inputs);
  assert_string_equal(a->message, b->message);
}

static void assert_whole(const fixture *f, const oc_journal *journal) {
  assert_true(journal->planned);
  assert_true(journal->ended);
  assert_int_equal(journal->cases.count, CASES);
  assert_int_equal(journal->count, CASES);
  for (uint32_t i = 0; i < CASES; ++i) {
    const oc_case *item = &journal->cases.items[i];
    assert_string_equal(item->id, f->items[i].id);
    assert_string_equal(item->contract->op, f->items[i].contract->op);
    assert_string_equal(item->contract->domain, f->items[i].contract->domain);
    assert_true(item->seed == f->items[i].seed);
    assert_int_equal(oc_case_main_type(item), i == 3 ? OPS_TYPE_FLOAT16 : OPS_TYPE_FLOAT);
    assert_int_equal(item->provider_case, f->items[i].provider_case);
    assert_int_equal(journal->results[i].case_index, i);
    assert_same_result(&journal->results[i], &f->results[i]);
  }
}

static char *read_bytes(const char *path, size_t *out_size) {
  struct stat about;
  const int fd = open(path, O_RDONLY);
  assert_true(fd >= 0);
  assert_int_equal(fstat(fd, &about), 0);
  char *bytes = malloc((size_t)about.st_size + 1);
  assert_int_equal(read(fd, bytes, (size_t)about.st_size), about.st_size);
  close(fd);
  *out_size = (size_t)about.st_size;
  return bytes;
}

static void write_bytes(const char *path, const char *bytes, size_t size) {
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, bytes, size), size);
  close(fd);
}

static oc_journal *read_journal(const char *path) {
  ops_error error = OPS_ERROR_INIT;
  oc_journal *journal = NULL;
  if (oc_journal_read(path, &journal, &error) != OPS_OK) fail_msg("%s", error.message);
  return journal;
}

// ---- Tests ----------------------------------------------------------------------------------

static void test_round_trip(void **state) {
  fixture *f = *state;
  run(f, f->path, &f->header, f->indices, CASES, CASES + 1);
  oc_journal *journal = read_journal(f->path);
  assert_whole(f, journal);
  const oc_journal_header *header = &journal->header;
  assert_string_equal(header->harness_version, "9.8.7");
  assert_string_equal(header->setup.provider, "./libx.so");
  assert_null(header->setup.require);
  assert_int_equal(header->setup.tier, OC_TIER_MERGE);
  assert_true(header->setup.seed == UINT64_MAX);
  assert_true(header->setup.timeout == 0.1);
  assert_string_equal(header->hello.oracle.name, "reference");
  assert_int_equal(header->selected, CASES);
  assert_true(journal->seconds == 1.5);
  oc_journal_destroy(journal);
}

// The ids and a newline after each, by sha256sum.
static void test_selection(void **state) {
  fixture *f = *state;
  assert_string_equal(f->header.selection_hash,
                      "057bf12ca0bfe2a026d2e171b88fbf5ab8e881109db6cfdccbd9c2fc3c7c5951");
}

static void test_cut_anywhere(void **state) {
  fixture *f = *state;
  size_t size = 0;
  run(f, f->path, &f->header, f->indices, CASES, 5);
  run(f, f->path, &f->header, f->indices, CASES, CASES);
  char *bytes = read_bytes(f->path, &size);
  for (size_t cut = 0; cut <= size; ++cut) {
    write_bytes(f->path, bytes, cut);
    run(f, f->path, &f->header, f->indices, CASES, CASES + 1);
    oc_journal *journal = read_journal(f->path);
    assert_whole(f, journal);
    oc_journal_destroy(journal);
  }
  free(bytes);
}

// Any byte changed is noticed: refused, or dropped as the torn end.
static void test_changed_anywhere(void **state) {
  fixture *f = *state;
  size_t size = 0;
  run(f, f->path, &f->header, f->indices, CASES, CASES + 1);
  char *bytes = read_bytes(f->path, &size);
  size_t last = size - 1;
  while (bytes[last - 1] != '\n') --last;
  for (size_t at = 0; at < size; ++at) {
    ops_error error = OPS_ERROR_INIT;
    oc_journal *journal = NULL;
    bytes[at] ^= 1;
    const int32_t status = oc_journal_parse("j", bytes, size, &journal, &error);
    if (at + 1 < last) {
      assert_int_equal(status, OPS_ERROR_INVALID_MODEL);
    } else {
      assert_int_equal(status, OPS_OK);
      assert_false(journal->ended);
      assert_true(journal->whole <= last);
    }
    oc_journal_destroy(journal);
    bytes[at] ^= 1;
  }
  free(bytes);
}

// A line that is taken away, and one that is there twice.
static void test_lines_moved(void **state) {
  fixture *f = *state;
  size_t size = 0;
  run(f, f->path, &f->header, f->indices, CASES, CASES + 1);
  char *bytes = read_bytes(f->path, &size);
  size_t starts[CASES + 4], lines = 0;
  for (size_t at = 0; at < size; ++at) {
    if (at == 0 || bytes[at - 1] == '\n') starts[lines++] = at;
  }
  assert_int_equal(lines, CASES + 3);  // run, plan, end
  starts[lines] = size;
  char *copy = malloc(2 * size);
  for (size_t i = 0; i + 1 < lines; ++i) {
    for (int twice = 0; twice < 2; ++twice) {
      const size_t head = starts[i + (size_t)twice], from = starts[i + !twice];
      oc_journal *journal = NULL;
      ops_error error = OPS_ERROR_INIT;
      memcpy(copy, bytes, head);
      memcpy(copy + head, bytes + from, size - from);
      const int32_t status = oc_journal_parse("j", copy, head + size - from, &journal, &error);
      if (twice || i + 2 < lines) {
        assert_int_equal(status, OPS_ERROR_INVALID_MODEL);
        assert_non_null(strstr(error.message, "j:"));
      } else {  // then the last line alone does not fit
        assert_int_equal(status, OPS_OK);
        assert_false(journal->ended);
      }
      oc_journal_destroy(journal);
    }
  }
  free(copy);
  free(bytes);
}

static void test_mismatch(void **state) {
  fixture *f = *state;
  ops_error error = OPS_ERROR_INIT;
  oc_journal_header other = f->header;
  const oc_journal_use use = OC_JOURNAL_RESUME;
  assert_int_equal(oc_journal_header_match(&f->header, "j", &other, use, &error), OPS_OK);
  other.setup.jobs = 7;
  other.cpus = 99;
  snprintf(other.started, sizeof other.started, "later");
  assert_int_equal(oc_journal_header_match(&f->header, "j", &other, use, &error), OPS_OK);
  other.setup.seed = 5;
  assert_int_equal(oc_journal_header_match(&f->header, "j", &other, use, &error),
                   OPS_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "seed is '18446744073709551615', expected '5'"));
  other = f->header;
  snprintf(other.candidate_hash, 65, "cc");
  assert_int_equal(oc_journal_header_match(&f->header, "j", &other, use, &error),
                   OPS_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "provider.sha256 is 'aa', expected 'cc'"));
  memset(&other.hello, 0, sizeof other.hello);
  other.candidate_hash[0] = other.oracle_hash[0] = 0;
  assert_int_equal(oc_journal_header_match(&f->header, "j", &other, use, &error), OPS_OK);
  const char *options[] = {"a=1", "b=2"};
  other = f->header;
  other.setup.options = options;
  other.setup.option_count = 2;
  assert_int_equal(oc_journal_header_match(&f->header, "j", &other, use, &error),
                   OPS_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "options is '', expected 'a=1 b=2'"));
}

// What another process is told that opens the journal.
static int32_t open_elsewhere(const char *path) {
  int how = 0;
  const pid_t pid = fork();
  if (pid == 0) {
    oc_journal_writer *writer = NULL;
    oc_journal *journal = NULL;
    _exit(oc_journal_writer_open(path, &writer, &journal, NULL));
  }
  assert_int_equal(waitpid(pid, &how, 0), pid);
  assert_true(WIFEXITED(how));
  return WEXITSTATUS(how);
}

static void test_locked(void **state) {
  fixture *f = *state;
  ops_error error = OPS_ERROR_INIT;
  oc_journal_writer *writer = NULL;
  oc_journal *journal = NULL;
  assert_int_equal(oc_journal_writer_open(f->path, &writer, &journal, &error), OPS_OK);
  assert_int_equal(journal->runs, 0);
  oc_journal_destroy(journal);
  assert_int_equal(open_elsewhere(f->path), OPS_ERROR_PRECONDITION);
  oc_journal_writer_begin(writer, &f->header, &f->cases, f->indices, CASES, &error);
  assert_int_equal(open_elsewhere(f->path), OPS_ERROR_PRECONDITION);
  oc_journal_writer_close(writer);
  assert_int_equal(open_elsewhere(f->path), OPS_OK);
  unlink(f->path);
  assert_int_equal(oc_journal_writer_open(f->path, &writer, &journal, &error), OPS_OK);
  oc_journal_destroy(journal);
  oc_journal_writer_close(writer);
  assert_int_equal(access(f->path, F_OK), -1);  // what was not begun leaves no file
  assert_int_equal(oc_journal_writer_open(f->folder, &writer, &journal, &error), OPS_ERROR_IO);
}

// What was not run may be run later; what has a result may not have another.
static void test_second_results(void **state) {
  fixture *f = *state;
  ops_error error = OPS_ERROR_INIT;
  oc_journal_writer *writer = NULL;
  oc_journal *journal = NULL;
  oc_result not_run = f->results[0];
  oc_result_end(&not_run, OC_STATUS_NOT_RUN, "lifecycle", "lost");
  oc_result lost = not_run;
  lost.case_index = OC_NO_CASE;
  assert_int_equal(oc_journal_writer_open(f->path, &writer, &journal, &error), OPS_OK);
  oc_journal_destroy(journal);
  oc_journal_writer_begin(writer, &f->header, &f->cases, f->indices, CASES, &error);
  oc_journal_writer_add(writer, &not_run, &error);
  oc_journal_writer_add(writer, &lost, &error);
  oc_journal_writer_close(writer);
  journal = read_journal(f->path);
  assert_int_equal(journal->count, 2);
  assert_int_equal(journal->results[1].case_index, OC_NO_CASE);
  oc_journal_destroy(journal);
  assert_int_equal(oc_journal_writer_open(f->path, &writer, &journal, &error), OPS_OK);
  oc_journal_destroy(journal);
  oc_journal_writer_begin(writer, &f->header, &f->cases, f->indices, CASES, &error);
  for (int i = 0; i < CASES; ++i) oc_journal_writer_add(writer, &f->results[i], &error);
  oc_journal_writer_end(writer, 1, &error);
  journal = read_journal(f->path);
  assert_whole(f, journal);
  oc_journal_destroy(journal);
  oc_journal_writer_add(writer, &f->results[3], &error);
  oc_journal_writer_close(writer);
  assert_int_equal(oc_journal_read(f->path, &journal, &error), OPS_ERROR_INVALID_MODEL);
  assert_non_null(strstr(error.message, "a second result: Gelu-1/float/2x3/x"));
}

// ---- Merging --------------------------------------------------------------------------------

#define SHARDS 3
typedef struct shards {
  char paths[SHARDS][64];
  const oc_journal *journals[SHARDS];
  const char *names[SHARDS];
} shards;

static void run_shards(fixture *f, shards *s, size_t most_of_last) {
  static char marks[SHARDS][8];
  for (uint32_t i = 0; i < SHARDS; ++i) {
    uint32_t indices[CASES];
    size_t count = 0;
    for (uint32_t k = i; k < CASES; k += SHARDS) indices[count++] = k;
    oc_journal_header header = f->header;
    header.shard_index = i + 1;
    header.shard_count = SHARDS;
    snprintf(marks[i], sizeof marks[i], "%u/%u", i + 1, SHARDS);
    header.setup.shard = marks[i];
    snprintf(s->paths[i], sizeof s->paths[i], "%s/%u", f->folder, i);
    run(f, s->paths[i], &header, indices, count, i + 1 < SHARDS ? CASES : most_of_last);
    s->journals[i] = read_journal(s->paths[i]);
    s->names[i] = s->paths[i];
  }
}

static void drop_shards(shards *s) {
  for (int i = 0; i < SHARDS; ++i) oc_journal_destroy((oc_journal *)(uintptr_t)s->journals[i]);
}

static void test_merge(void **state) {
  fixture *f = *state;
  shards s;
  ops_error error = OPS_ERROR_INIT;
  oc_journal *whole = NULL;
  run_shards(f, &s, CASES);
  const oc_journal *const mixed[] = {s.journals[2], s.journals[0], s.journals[1]};
  assert_int_equal(oc_journal_merge(mixed, s.names, SHARDS, &whole, &error), OPS_OK);
  assert_whole(f, whole);
  assert_null(whole->header.setup.shard);
  assert_int_equal(whole->header.shard_count, 1);
  oc_report report;
  assert_int_equal(oc_journal_report(whole, &report, &error), OPS_OK);
  assert_int_equal(report.counts[OC_STATUS_PASS], CASES - 2);
  assert_int_equal(report.exit_code, OC_EXIT_NONCONFORMANT);
  oc_report_finish(&report);
  oc_journal_destroy(whole);
  drop_shards(&s);
}

static void test_merge_refused(void **state) {
  fixture *f = *state;
  shards s;
  ops_error error = OPS_ERROR_INIT;
  oc_journal *whole = NULL;
  run_shards(f, &s, 1);
  assert_int_equal(oc_journal_merge(s.journals, s.names, SHARDS, &whole, &error),
                   OPS_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "no result of 1 of its 2 cases: Gelu-1/float/7x1/x"));
  assert_int_equal(oc_journal_merge(s.journals, s.names, SHARDS - 1, &whole, &error),
                   OPS_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "1 of 3 shards are missing: 3/3"));
  const oc_journal *const twice[] = {s.journals[0], s.journals[1], s.journals[1]};
  assert_int_equal(oc_journal_merge(twice, s.names, SHARDS, &whole, &error),
                   OPS_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "shard 2/3 is there twice"));
  oc_journal other = *s.journals[1];
  snprintf(other.header.contracts_hash, 65, "dd");
  const oc_journal *const mixed[] = {s.journals[0], &other, s.journals[2]};
  assert_int_equal(oc_journal_merge(mixed, s.names, SHARDS, &whole, &error),
                   OPS_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "contracts.sha256 is 'dd', expected ''"));
  drop_shards(&s);
}

// A shard whose header tells of another selection than it holds.
static void test_merge_other_cases(void **state) {
  fixture *f = *state;
  shards s;
  ops_error error = OPS_ERROR_INIT;
  oc_journal *whole = NULL;
  f->items[4].id = "Gelu-1/float/6/x";
  run_shards(f, &s, CASES);
  assert_int_equal(oc_journal_merge(s.journals, s.names, SHARDS, &whole, &error),
                   OPS_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "not the selection"));
  drop_shards(&s);
}

static void test_empty(void **state) {
  fixture *f = *state;
  ops_error error = OPS_ERROR_INIT;
  oc_journal *journal = NULL;
  assert_int_equal(oc_journal_read(f->path, &journal, &error), OPS_ERROR_NOT_FOUND);
  write_bytes(f->path, "", 0);
  journal = read_journal(f->path);
  assert_int_equal(journal->runs, 0);
  oc_journal_destroy(journal);
  write_bytes(f->path, "hello\nworld\n", 12);
  assert_int_equal(oc_journal_read(f->path, &journal, &error), OPS_ERROR_INVALID_MODEL);
  oc_journal_header none = f->header;
  unlink(f->path);
  oc_journal_header_select(&none, &f->cases, f->indices, 0);
  run(f, f->path, &none, f->indices, 0, 1);
  journal = read_journal(f->path);
  assert_true(journal->planned && journal->ended);
  assert_int_equal(journal->count, 0);
  oc_journal_destroy(journal);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(test_round_trip),       TEST(test_selection),         TEST(test_cut_anywhere),
      TEST(test_changed_anywhere), TEST(test_lines_moved),       TEST(test_mismatch),
      TEST(test_locked),           TEST(test_second_results),    TEST(test_merge),
      TEST(test_merge_refused),    TEST(test_merge_other_cases), TEST(test_empty),
  };
#undef TEST
  return cmocka_run_group_tests(tests, NULL, NULL);
}
