/** A program with a fault: `throw` or `reject`, a moment after it began. */
import process from 'node:process'
import { endOnFault } from '../../src/cli/process.ts'
import { createLog } from '../../src/log.ts'

endOnFault(createLog('info'))
setTimeout(() => {
  const error = new Error('a fault of ours')
  if (process.argv[2] === 'throw') throw error
  void Promise.reject(error)
}, 10)
setTimeout(() => console.log('still running'), 300)
