/** Tests with a long form, which `LONG_TESTS=1 npm test` runs in place of the short one. */
import process from 'node:process'
import { type Runtime, runtimes } from '../../scripts/runtime.ts'

export const isLong = process.env.LONG_TESTS !== undefined

/** Where the runtime hardly matters: all of them in the long form, in the suite the one that starts fastest. */
export const someRuntimes: readonly Runtime[] = isLong ? runtimes : ['bun']
