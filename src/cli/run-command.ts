import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import process from 'node:process'
import { printError } from './output.ts'

/** Runs a command, and resolves to its exit code, as in a shell. Forwards signals. */
export function runCommand([file, ...words]: readonly string[], env = process.env): Promise<number> {
  const child = spawn(file, words, { stdio: 'inherit', env })
  for (const signal of ['SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGHUP'] as const) {
    // A terminal also sends these two signals to the command itself, so they are not forwarded.
    const isSent = process.stdin.isTTY && (signal === 'SIGINT' || signal === 'SIGQUIT')
    process.on(signal, () => isSent || child.kill(signal))
  }
  return new Promise((resolve) => {
    child.once('error', ({ message }) => {
      printError(message)
      resolve(127)
    })
    child.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal!]))
  })
}
