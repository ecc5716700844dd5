/** A program that throws (`throw`) or rejects (`reject`) shortly after its start. */
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
// Reached only if the fault did not end the process.
setTimeout(() => console.log('still running'), 300)
