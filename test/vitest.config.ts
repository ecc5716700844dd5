/** How `npm test` runs the tests. Each file also runs by itself, with `npx vitest run FILE`. */
import process from 'node:process'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

// A loaded machine takes several times as long as ours; what hangs is still found.
const patienceMs = 120_000

/** What takes longest. At the end one of them would keep one of two processors idle. */
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
    // `npm run lab -- mutants` chooses its tests.
    include: process.env.MUTANT_TESTS?.split(' ') ?? ['test/**/*.test.{ts,tsx}'],
    // A few processes run all files, so what these import is loaded a few times, and not once for each. No file may leave
    // anything behind in its process. One more than there are processors in CI: many tests wait for a child.
    isolate: false,
    maxWorkers: 3,
    testTimeout: patienceMs,
    hookTimeout: patienceMs,
    teardownTimeout: patienceMs,
    setupFiles: 'test/support/each-file.ts',
    // Some tests compare a measured time with a bound, which a busy machine may exceed once.
    retry: { count: 2, condition: /^expected [\d.]+ to be less than/ },
    sequence: { sequencer: LongestFirst },
  },
})
