/** Asking the person at the terminal. */
import process from 'node:process'
import { createInterface } from 'node:readline/promises'
import { attentionExitCode, CommandError } from './command.ts'

/** Whether somebody can answer. */
export function isAttended(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true
}

/** Resolves to what the person types. The question goes to standard error, because standard output may be JSON. */
export async function ask(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return (await terminal.question(question)).trim()
  } finally {
    terminal.close()
  }
}

/** Fails with `not_confirmed`, exit code 3, unless the person says yes, or `isSure`. */
export async function confirm(question: string, isSure: boolean): Promise<void> {
  if (isSure) return
  if (!isAttended()) {
    throw new CommandError(
      'not_confirmed',
      'Nothing was changed. Nobody is there to ask: run the command again with --yes.',
      attentionExitCode,
    )
  }
  if (!/^y(es)?$/i.test(await ask(`${question} [y/N] `))) {
    throw new CommandError('not_confirmed', 'Nothing was changed.', attentionExitCode)
  }
}
