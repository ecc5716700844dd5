/** A program that throws an error (`throw`) or rejects a promise (`reject`) shortly after its start. */
import process from 'node:process'
import { setImmediate, setTimeout } from 'node:timers'
import { exitOnUncaughtError } from '../../src/cli/process.ts'
import { createLog } from '../../src/log.ts'

exitOnUncaughtError(createLog('info'))
setImmediate(() => {
  const error = new Error('a fault of ours')
  if (process.argv[2] === 'throw') throw error
  void Promise.reject(error)
})
// Prints only if the fault has not ended the process.
setTimeout(() => console.log('still running'), 300)
