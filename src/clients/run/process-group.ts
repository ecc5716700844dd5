/** Runs a program in its own process group. The group never outlives this process. */
import { type ChildProcess, spawn } from 'node:child_process'
import process from 'node:process'

interface GroupOptions {
  words: readonly string[]
  input: string
  folder: string
  env: Record<string, string | undefined>
  timeoutMs: number
  /** Delay between asking the group to exit and killing it. */
  graceMs?: number
  signal: AbortSignal
}

interface GroupResult {
  /** Null if a signal terminated the program. */
  code: number | null
  stdout: string
  stderr: string
  /** Why the program was terminated, if it did not exit by itself. */
  ended?: 'timeout' | 'stopped' | 'output'
}

const defaultGraceMs = 10_000
/** Maximum length of the output. It exceeds a model's output in one turn. */
const maxStdout = 32 * 1024 * 1024
const keptStderr = 4_000
/** Time limit for reading the remaining output after a program exits. */
const drainMs = 500

/**
 * The shell starts a second process that waits on a pipe from us, and then replaces itself with the program. When the
 * pipe closes, because we closed it or were killed, the second process kills the group. Until then, it keeps the
 * group's id from being reused.
 */
const lifeline = '(read -r _ || kill -s KILL -- -$$) <&3 >/dev/null 2>&1 & exec "$@" 3<&-'

/**
 * Runs a program until it exits. Every process in its group ends with it. Never rejects: a program that cannot be
 * started has code 127, as in a shell.
 */
export async function runGroup(options: GroupOptions): Promise<GroupResult> {
  const child = start(options)
  let stdout = ''
  let stderr = ''
  let ended: GroupResult['ended']
  let killTimer: NodeJS.Timeout | undefined

  const end = (why: GroupResult['ended']) => {
    if (ended !== undefined) return
    ended = why
    signalGroup(child, 'SIGTERM')
    killTimer = setTimeout(() => signalGroup(child, 'SIGKILL'), options.graceMs ?? defaultGraceMs)
  }
  child.stdout!.setEncoding('utf8').on('data', (text) => {
    if (stdout.length + text.length > maxStdout) end('output')
    else stdout += text
  })
  child.stderr!.setEncoding('utf8').on('data', (text) => stderr = (stderr + text).slice(-keptStderr))
  // A program may exit without reading its input.
  child.stdin!.on('error', () => {})
  child.stdin!.end(options.input)

  const timer = setTimeout(() => end('timeout'), options.timeoutMs)
  const onAbort = () => end('stopped')
  if (options.signal.aborted) onAbort()
  else options.signal.addEventListener('abort', onAbort, { once: true })
  const code = await new Promise<number | null>((resolve) => {
    child.once('exit', resolve)
    child.once('error', (error) => {
      stderr += error.message
      resolve(127)
    })
  })
  clearTimeout(timer)
  clearTimeout(killTimer)
  options.signal.removeEventListener('abort', onAbort)
  await drained(child)
  return { code, stdout, stderr, ...(ended && { ended }) }
}

/** Kills the rest of the group, after the last output is read. */
async function drained(child: ChildProcess): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    child.stdout!.once('close', resolve)
    if (child.stdout!.closed) resolve()
  })
  let timer: NodeJS.Timeout | undefined
  await Promise.race([closed, new Promise<void>((resolve) => timer = setTimeout(resolve, drainMs))])
  clearTimeout(timer)
  if (process.platform === 'win32') signalGroup(child, 'SIGKILL')
  child.stdio[3]?.destroy()
  child.stdout!.destroy()
  child.stderr!.destroy()
}

function start({ words, folder, env }: GroupOptions): ChildProcess {
  if (process.platform === 'win32') {
    return spawn(words[0], words.slice(1), { cwd: folder, env, stdio: ['pipe', 'pipe', 'pipe'], windowsHide: true })
  }
  return spawn('/bin/sh', ['-c', lifeline, 'sh', ...words], {
    cwd: folder,
    env,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
  })
}

function signalGroup(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): void {
  if (child.pid === undefined) return
  if (process.platform === 'win32') {
    spawn('taskkill', ['/T', '/F', '/PID', String(child.pid)], { stdio: 'ignore', windowsHide: true })
    return
  }
  try {
    process.kill(-child.pid, signal)
  } catch {
    // The group no longer exists.
  }
}
