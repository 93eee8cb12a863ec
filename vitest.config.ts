import { fileURLToPath } from 'node:url'
import { BaseSequencer } from 'vitest/node'
import type { TestSpecification } from 'vitest/node'
import { defineConfig } from 'vitest/config'

const ALL = ['src/**/*.test.ts', 'test/**/*.test.ts']

/**
 * Tests that need a process of their own: they put other modules in the place of real ones, go to
 * another folder, count what is called beneath them, or kill. All others share four processes, in which each module is loaded once.
 */
const OF_THEIR_OWN = [
  'test/faults/damage/**/*.test.ts',
  'test/golden-directories/**/*.test.ts',
  'test/faults/crash/**/*.test.ts',
  'test/scenarios/isolation/**/*.test.ts',
  'test/scenarios/pipelines/isolation.test.ts',
  'src/log/disk/owner.test.ts',
  'test/scenarios/work-per-job.test.ts',
]

/** By how long they take. Begun last, one of them would go on for a minute when all others are over. */
const LONGEST = [
  'test/model/explorer/worlds.test.ts',
  'test/repo/examples/examples.test.ts',
  'test/scenarios/presence/kills.test.ts',
  'test/scenarios/presence/postgres.test.ts',
  'test/sql/verify/history.test.ts',
  'test/model/explorer/guards.test.ts',
  'test/repo/docs/snippets.test.ts',
  'test/scenarios/waiting/kills.test.ts',
  'test/conformance/stories.test.ts',
  'test/sql/proof/losses.test.ts',
  'test/repo/examples/orders/service.test.ts',
  'test/sql/proof/kills.test.ts',
  'test/model/properties/agreement.test.ts',
]

/**
 * Those of their own FIRST: a process that is shared ends when one of them comes between. Then the
 * longest.
 */
class OwnFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- it is no array that is sorted
    const sorted = await super.sort(files)
    return sorted.toSorted((a, b) => placeOf(a) - placeOf(b))
  }
}

function placeOf({ project, moduleId }: TestSpecification): number {
  if (project.config.isolate) return 0
  const at = LONGEST.findIndex((path) => moduleId.endsWith(path))
  return at === -1 ? LONGEST.length + 1 : at + 1
}

/** Threads begin with what was compiled for the run, instead of TypeScript that each must read. */
const THREAD_FILE = {
  find: /^.*\/log\/disk\/thread-file\.ts$|^\.\/thread-file\.ts$/,
  replacement: fileURLToPath(new URL('test/support/thread-file.ts', import.meta.url)),
}

export default defineConfig({
  resolve: { alias: [THREAD_FILE] },
  test: {
    globalSetup: ['test/support/postgres-run.ts', 'test/support/threads-run.ts'],
    setupFiles: ['test/support/after-each-file.ts'],
    testTimeout: 300_000,
    // What is waited for comes in its time, also on a busy machine.
    expect: { poll: { timeout: 30_000 } },
    // Two more than cores: a test often waits, for a process, a lease, a browser or a server.
    maxWorkers: 4,
    sequence: { sequencer: OwnFirst },
    projects: [
      { extends: true, test: { name: 'own', include: OF_THEIR_OWN, isolate: true } },
      {
        extends: true,
        test: { name: 'shared', include: ALL, exclude: OF_THEIR_OWN, isolate: false },
      },
    ],
    coverage: {
      provider: 'v8',
      include: ['src/kernel/**'],
      exclude: ['**/*.test.ts'],
      reporter: ['text', 'html'],
      thresholds: { branches: 100, functions: 100, lines: 100, statements: 100 },
    },
  },
})
