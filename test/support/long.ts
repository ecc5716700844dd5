/** Tests with a long form, which `LONG_TESTS=1 npm test` runs in place of the short one. */
import process from 'node:process'
import { type Runtime, runtimes } from '../../scripts/runtime.ts'

export const isLong = process.env.LONG_TESTS !== undefined

/**
 * For tests that hardly depend on the runtime: the long form covers all runtimes, the suite the one that starts
 * fastest.
 */
export const someRuntimes: readonly Runtime[] = isLong ? runtimes : ['bun']
