/** How `npm test` runs the tests. Each file can also run alone, with `npx vitest run FILE`. */
import process from 'node:process'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

// A loaded machine takes several times as long as ours. Hanging tests are still detected.
const patienceMs = 120_000

/** The slowest files, which start first. If one of them ran last, one of two processors would be idle. */
const longest =
  /\/test\/(e2e|cli|docs)\/|\/(every-page|isolation|two-accounts|local-file-lock|flood|scheduling|new-connections)\.test/

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const isLong = ({ moduleId }: TestSpecification) => longest.test(moduleId)
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))]
  }
}

export default defineConfig({
  test: {
    // `npm run lab -- mutants` sets this variable to choose its tests.
    include: process.env.MUTANT_TESTS?.split(' ') ?? ['test/**/*.test.{ts,tsx}'],
    // A few processes run all files, so that each loads its imports only a few times. No file may leave anything behind
    // in its process. There is one process more than the processors in CI, because many tests wait for a child process.
    isolate: false,
    maxWorkers: 3,
    testTimeout: patienceMs,
    hookTimeout: patienceMs,
    teardownTimeout: patienceMs,
    setupFiles: 'test/support/each-file.ts',
    // Some tests compare a measured time with a limit that a busy machine may occasionally exceed.
    retry: { count: 2, condition: /^expected [\d.]+ to be less than/ },
    sequence: { sequencer: LongestFirst },
  },
})
