/** Questions to the person at the terminal, and the person's browser. */
import { spawn } from 'node:child_process'
import process from 'node:process'
import { createInterface } from 'node:readline/promises'
import { printable } from '../lib/redact.ts'
import { attentionExitCode, CommandError } from './command.ts'

/** Whether a person can answer questions. */
export function isAttended(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true
}

/** Resolves to the person's answer. The question goes to standard error, because standard output may be JSON. */
export async function ask(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return (await terminal.question(printable(question))).trim()
  } finally {
    terminal.close()
  }
}

/** Resolves to whether the person answers yes. */
export async function agrees(question: string): Promise<boolean> {
  return /^y(es)?$/i.test(await ask(`${question} [y/N] `))
}

/** Fails with `not_confirmed` (exit code 3) unless the person answers yes or `isSure` is set. */
export async function confirm(question: string, isSure: boolean): Promise<void> {
  if (isSure) return
  if (!isAttended()) {
    throw new CommandError(
      'not_confirmed',
      'Nothing was changed. There is no terminal to ask at: run the command again with --yes.',
      attentionExitCode,
    )
  }
  if (!await agrees(question)) {
    throw new CommandError('not_confirmed', 'Nothing was changed.', attentionExitCode)
  }
}

/** Opens a URL in the person's browser, if there is one. */
export function openBrowser(address: string): void {
  const [command, ...args] = process.platform === 'darwin' ? ['open', address] : process.platform === 'win32'
    // `rundll32` is used because `start` would interpret `&`.
    ? ['rundll32', 'url.dll,FileProtocolHandler', address]
    : ['xdg-open', address]
  const child = spawn(command, args, { stdio: 'ignore', detached: true })
  child.on('error', () => {})
  child.unref()
}
