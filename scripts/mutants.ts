/**
 * `npm run lab -- mutants FILES [--tests 'GLOB GLOB']`: changes each statement in these files in turn, and lists the
 * changes that no test detects. By default, runs the tests in the folders of `test/` that mirror the files' folders.
 */
import { Stryker } from '@stryker-mutator/core'
import { dirname } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'

const { positionals: files, values } = parseArgs({ allowPositionals: true, options: { tests: { type: 'string' } } })
if (files.length === 0) throw new Error("Usage: npm run lab -- mutants FILES [--tests 'GLOB GLOB']")
const mirrored = files.map((file) => `${dirname(file).replace(/^src/, 'test')}/**/*.test.{ts,tsx}`)
// test/vitest.config.ts reads this variable in the processes that Stryker starts.
process.env.MUTANT_TESTS = values.tests ?? [...new Set(mirrored)].join(' ')

await new Stryker({
  mutate: files,
  plugins: ['@stryker-mutator/vitest-runner'],
  testRunner: 'vitest',
  vitest: { configFile: 'test/vitest.config.ts', related: true },
  coverageAnalysis: 'perTest',
  // String literals are excluded, because tests do not check error texts.
  mutator: { excludedMutations: ['StringLiteral'] },
  ignorePatterns: ['data', 'dist', 'screenshots', 'docs'],
  tempDirName: '.mutants',
  concurrency: 2,
  timeoutMS: 30_000,
  reporters: ['clear-text', 'progress'],
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
}).runMutationTest()
