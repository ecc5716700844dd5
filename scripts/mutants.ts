/**
 * `npm run lab -- mutants FILES [--tests 'GLOB GLOB']`: changes each statement in these files in turn, and lists the
 * changes that no test finds. Runs the tests in the folder of `test/` that mirrors each file's, or those of `--tests`.
 */
import { Stryker } from '@stryker-mutator/core'
import { dirname } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'

const { positionals: files, values } = parseArgs({ allowPositionals: true, options: { tests: { type: 'string' } } })
if (files.length === 0) throw new Error("Usage: npm run lab -- mutants FILES [--tests 'GLOB GLOB']")
const mirrored = files.map((file) => `${dirname(file).replace(/^src/, 'test')}/**/*.test.{ts,tsx}`)
// Read by test/vitest.config.ts in the processes that Stryker starts.
process.env.MUTANT_TESTS = values.tests ?? [...new Set(mirrored)].join(' ')

await new Stryker({
  mutate: files,
  plugins: ['@stryker-mutator/vitest-runner'],
  testRunner: 'vitest',
  vitest: { configFile: 'test/vitest.config.ts', related: true },
  coverageAnalysis: 'perTest',
  // Error texts are not pinned by tests.
  mutator: { excludedMutations: ['StringLiteral'] },
  ignorePatterns: ['data', 'dist', 'screenshots', 'docs'],
  tempDirName: '.mutants',
  concurrency: 2,
  timeoutMS: 30_000,
  reporters: ['clear-text', 'progress'],
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
}).runMutationTest()
