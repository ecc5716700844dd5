/** Commands' terminal output. All output passes through here, because it may contain texts from other machines. */
import process from 'node:process'
import { printable } from '../lib/redact.ts'

export function print(text: string): void {
  console.log(printable(text))
}

export function printError(text: string): void {
  console.error(printable(text))
}

/** Resolves when the text has been written to standard output. */
export function printTaken(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.once('error', reject)
    process.stdout.write(`${printable(text)}\n`, (error) => error ? reject(error) : resolve())
  })
}
