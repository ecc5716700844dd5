/** The steps that connect one client: a key, the changes, the question, the record, the check. */
import { applyPlan, connectionAt, placeOf, type Plan, planConnect, setupOf } from '../clients/connect.ts'
import { type Connection, removeConnection, saveConnection, type Wake, withAt } from '../clients/connections.ts'
import { differenceOf } from '../clients/difference.ts'
import { GridCallError, GridClient } from '../clients/grid-client.ts'
import { installProgram } from '../clients/installed-program.ts'
import { login, machineName } from '../clients/login.ts'
import type { ClientProgram, Setup } from '../clients/programs/program.ts'
import { confirm } from './ask.ts'
import { attentionExitCode, CommandError } from './command.ts'
import { openBrowser } from './open-browser.ts'

export interface ConnectRequest {
  /** The address of the grid, as it calls itself. */
  url: string
  /** With `@`. */
  alias?: string
  /** A key that the person has. */
  key?: string
  /** Of a project. */
  folder?: string
  wake: Wake
  isSure: boolean
  isDryRun: boolean
  /** Says something to the person. */
  say(text: string): void
}

export interface ConnectResult {
  client: string
  /** With `@`. */
  agent: string
  url: string
  changed: string[]
  /** What is left for a person. */
  steps: string[]
}

interface Credential extends Pick<Connection, 'alias' | 'key' | 'keyName' | 'isOwnKey'> {
  /** It was made for this connection now. */
  isNew: boolean
}

/** Stands for an agent that is not known before a person has chosen it. */
const unknownAgent = '@…'
const unknownKey = 'grid_agt_…'

/** Connect one client. Fails with `CommandError`, `FileRefusedError`, `LoginError`, `GridCallError`. */
export async function connectClient(program: ClientProgram, request: ConnectRequest): Promise<ConnectResult> {
  const { url, wake, folder, say } = request
  const place = placeOf(program.name, folder)
  const previous = connectionAt(place)
  // Before anybody signs in: a file that cannot be edited is refused.
  const draft = { ...place, url, wake, alias: request.alias ?? previous?.alias ?? unknownAgent, key: unknownKey }
  const draftPlan = planConnect(program, setupOf(draft), previous)
  if (request.isDryRun) {
    const known = request.key ?? (previous?.url === url ? previous.key : undefined)
    const plan = known ? planConnect(program, setupOf({ ...draft, key: known }), previous) : draftPlan
    say(plan.changes.length === 0 ? 'Nothing would change.' : differenceOf(plan.changes, [known ?? '']))
    return { client: program.name, agent: draft.alias, url, changed: pathsOf(plan), steps: [] }
  }
  const credential = await credentialFor(program, request, previous)
  try {
    return await writeConnection(program, request, previous, credential)
  } catch (error) {
    if (credential.isNew) await revoke(url, credential.key)
    throw error
  }
}

async function writeConnection(
  program: ClientProgram,
  { url, wake, folder, isSure, say }: ConnectRequest,
  previous: Connection | undefined,
  { alias, key, keyName, isOwnKey }: Credential,
): Promise<ConnectResult> {
  const place = placeOf(program.name, folder)
  const setup: Setup = setupOf({ ...place, url, alias, key, wake })
  const plan = planConnect(program, setup, previous)
  const isSame = plan.changes.length === 0 && previous?.key === key && previous.wake === wake
  if (isSame) {
    installProgram()
    say(`${program.title} is connected as ${alias}. Nothing changed.`)
  } else {
    if (plan.changes.length > 0) {
      say(differenceOf(plan.changes, [key, previous?.key ?? '']))
      await confirm(`Write this, so that ${program.title} is ${alias}?`, isSure)
    }
    installProgram()
    const at = new Date().toISOString()
    // First, so that a crash leaves nothing that nobody knows of.
    await saveConnection({ ...place, url, alias, key, wake, keyName, isOwnKey, files: plan.files, at })
    try {
      applyPlan(plan)
    } catch (error) {
      await restoreRecord(previous, place)
      throw error
    }
    if (previous?.isOwnKey && previous.key !== key) await revoke(previous.url, previous.key)
    say(`${program.title} is connected as ${alias}. ${program.wakes[wake]}`)
    for (const left of plan.left) say(`Left as it is, because it was changed since: ${left}`)
  }
  const steps = program.steps(setup)
  return { client: program.name, agent: alias, url, changed: pathsOf(plan), steps }
}

/** A key that was given, the one that the connection has, or a new one. */
async function credentialFor(
  program: ClientProgram,
  { url, alias, key, say }: ConnectRequest,
  previous: Connection | undefined,
): Promise<Credential> {
  if (key !== undefined) {
    const { agent, key: { name } } = await new GridClient({ url, key }).me()
    if (alias !== undefined && withAt(agent) !== alias) {
      throw new CommandError('wrong_agent', `The key is that of ${withAt(agent)}, not of ${alias}.`)
    }
    return { alias: withAt(agent), key, keyName: name ?? '', isOwnKey: false, isNew: false }
  }
  if (previous?.url === url && (alias === undefined || alias === previous.alias) && await isAlive(previous)) {
    const { alias, key, keyName, isOwnKey } = previous
    return { alias, key, keyName, isOwnKey, isNew: false }
  }
  const keyName = `${program.name} on ${machineName()}`
  const open = (address: string) => {
    say(
      `Sign in at the grid, and choose ${alias ?? 'the agent'} for ${program.title}. If no browser opens:\n${address}`,
    )
    openBrowser(address)
  }
  const made = await login({ url, alias, keyName, open })
  const chosen = withAt(made.alias)
  if (alias !== undefined && chosen !== alias) {
    await revoke(url, made.key)
    throw new CommandError('wrong_agent', `You chose ${chosen}, not ${alias}. Nothing was changed; run it again.`)
  }
  return { alias: chosen, key: made.key, keyName, isOwnKey: true, isNew: true }
}

/** Whether the grid takes the key of a connection. Fails if the grid cannot be asked. */
async function isAlive({ url, key }: Connection): Promise<boolean> {
  try {
    await new GridClient({ url, key }).me()
    return true
  } catch (error) {
    if (error instanceof GridCallError && (error.status === 401 || error.status === 403)) return false
    throw error
  }
}

/** Resolves to whether the key is revoked now. */
export async function revoke(url: string, key: string): Promise<boolean> {
  try {
    await new GridClient({ url, key, timeoutMs: 10_000 }).revokeKey()
    return true
  } catch (error) {
    return error instanceof GridCallError && error.status === 401
  }
}

async function restoreRecord(previous: Connection | undefined, place: Pick<Connection, 'client' | 'scope' | 'folder'>) {
  if (previous) await saveConnection(previous)
  else await removeConnection(place)
}

function pathsOf({ changes }: Plan): string[] {
  return changes.map(({ path }) => path)
}

/** 3 if something is left for a person. */
export function exitCodeOf(results: readonly { steps: readonly string[] }[]): number {
  return results.some(({ steps }) => steps.length > 0) ? attentionExitCode : 0
}
