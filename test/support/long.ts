/** Tests with a long form, which `LONG_TESTS=1 npm test` runs instead of the short form. */
import process from 'node:process'
import { type Runtime, runtimes } from '../../scripts/runtime.ts'

export const isLong = process.env.LONG_TESTS !== undefined

/**
 * Runtimes for tests that hardly depend on the runtime: all of them in the long form, otherwise the one that starts
 * fastest.
 */
export const someRuntimes: readonly Runtime[] = isLong ? runtimes : ['bun']
