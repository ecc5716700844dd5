/** Whether a client runs the hooks that were written for it. */
import { spawn } from 'node:child_process'
import { homedir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { createInterface } from 'node:readline'
import type { Connection } from '../../clients/connections.ts'
import { readJsonc } from '../../clients/files/json-edit.ts'
import { programs } from '../../clients/programs.ts'
import { broken, type Finding, ok, skipped } from '../doctor/finding.ts'

interface CodexHook {
  command?: string
  enabled?: boolean
  trustStatus?: string
}

/** Starting Codex takes about a second. */
const codexMs = 10_000

export async function checkHooks({ wake, client, folder }: Connection): Promise<Finding<'hooks'>> {
  if (wake === 'off') return skipped('hooks', 'It was connected with "--wake off", so it has no hooks.')
  if (client === 'claude') return judgeClaude(folder)
  if (client === 'codex') return judgeCodex(await codexHooks(folder ?? homedir()))
  return skipped('hooks', 'This client has no switch for them that could be read.')
}

/** @see https://code.claude.com/docs/en/settings */
function judgeClaude(folder: string | undefined): Finding<'hooks'> {
  const managed = join(managedFolder(), 'managed-settings.json')
  const inProject = (name: string) => folder === undefined ? [] : [join(folder, '.claude', name)]
  const files = [managed, join(programs.claude.folder(), 'settings.json')]
    .concat(inProject('settings.json'), inProject('settings.local.json'))
  const disabled = files.find((file) => readJsonc(file).disableAllHooks === true)
  if (disabled !== undefined) {
    const action = 'Remove it. Until then Claude Code runs no hook at all.'
    return broken('hooks', `${disabled} has "disableAllHooks": true.`, action)
  }
  if (readJsonc(managed).allowManagedHooksOnly === true) {
    const action = 'Ask who manages this machine, or use "agent-grid run".'
    return broken('hooks', `${managed} allows only hooks of your organization.`, action)
  }
  return ok('hooks', 'Claude Code runs hooks.')
}

function managedFolder(): string {
  if (process.platform === 'darwin') return '/Library/Application Support/ClaudeCode'
  return process.platform === 'win32' ? 'C:\\Program Files\\ClaudeCode' : '/etc/claude-code'
}

function judgeCodex(hooks: CodexHook[] | undefined): Finding<'hooks'> {
  if (!hooks) return skipped('hooks', 'Codex did not say which hooks it trusts.')
  const own = hooks.filter(({ command }) => command !== undefined && / hook '?codex'? /.test(command))
  if (own.length === 0) {
    return broken('hooks', 'Codex has no hooks of agent-grid.', 'Connect again: "agent-grid connect codex".')
  }
  const waiting = own.filter(({ trustStatus }) => trustStatus !== 'trusted' && trustStatus !== 'managed')
  if (waiting.length > 0) {
    return broken(
      'hooks',
      `Codex does not trust ${waiting.length} of its ${own.length} hooks of agent-grid yet, and skips them without a word.`,
      'Start codex and approve them: it says "Hooks need review", or type /hooks.',
    )
  }
  if (own.some(({ enabled }) => enabled === false)) {
    return broken('hooks', 'Hooks of agent-grid are switched off in Codex.', 'Switch them on again with /hooks.')
  }
  return ok('hooks', `Codex trusts its ${own.length} hooks of agent-grid.`)
}

/** Ask Codex itself, which alone knows what it trusts. Undefined if it does not answer. */
async function codexHooks(folder: string): Promise<CodexHook[] | undefined> {
  const child = spawn('codex', ['app-server'], { stdio: ['pipe', 'pipe', 'ignore'], windowsHide: true })
  const timer = setTimeout(() => child.kill('SIGKILL'), codexMs)
  child.on('error', () => {})
  child.stdin.on('error', () => {})
  const messages = [
    { id: 1, method: 'initialize', params: { clientInfo: { name: 'agent-grid', version: '1' } } },
    { method: 'initialized' },
    { id: 2, method: 'hooks/list', params: { cwds: [folder] } },
  ]
  for (const message of messages) child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const { id, result } = JSON.parse(line)
      if (id !== 2) continue
      return (result?.data as { hooks?: CodexHook[] }[] | undefined)?.flatMap(({ hooks = [] }) => hooks)
    }
  } catch {
    // An answer is JSON.
  } finally {
    clearTimeout(timer)
    child.kill('SIGKILL')
  }
}
