/** Commands' terminal output. All of it passes through here, because any of it may contain other machines' texts. */
import process from 'node:process'
import { printable } from '../lib/redact.ts'

export function print(text: string): void {
  console.log(printable(text))
}

export function printError(text: string): void {
  console.error(printable(text))
}

/** Resolves when the output's reader has received the text. */
export function printTaken(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.once('error', reject)
    process.stdout.write(`${printable(text)}\n`, (error) => error ? reject(error) : resolve())
  })
}
