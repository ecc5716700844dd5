/** The steps that connect one client: a key, the changes, the question, the record, the check. */
import { connectionAt, placeOf, planConnect, setupOf } from '../clients/connect.ts'
import { applyChanges } from '../clients/files/change.ts'
import { type Connection, removeConnection, saveConnection, type Wake, withAt } from '../clients/connections.ts'
import { differenceOf } from '../clients/difference.ts'
import { GridCallError, isCredentialGone } from '../clients/grid-call.ts'
import { GridClient } from '../clients/grid-client.ts'
import { installProgram } from '../clients/installed-program.ts'
import { login, machineName } from '../clients/login.ts'
import { type ClientName, programs } from '../clients/programs.ts'
import { stepsOf, wakeSentence } from '../clients/wanted-files.ts'
import { confirm, openBrowser } from './ask.ts'
import { CommandError } from './command.ts'

export interface ConnectRequest {
  /** The address of the grid, as it calls itself. */
  url: string
  /** With `@`. */
  alias?: string
  /** A key that the person has. */
  key?: string
  folder?: string
  wake: Wake
  isSure: boolean
  isDryRun: boolean
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

/** Stand for an agent that is not known before a person has chosen it. */
const unknownAgent = '@…'
const unknownKey = 'grid_agt_…'

/** Connect one client. Fails with `CommandError` or `ClientError`. */
export async function connectClient(client: ClientName, request: ConnectRequest): Promise<ConnectResult> {
  const { url, wake, folder, say } = request
  const place = placeOf(client, folder)
  const previous = connectionAt(place)
  const known = request.key ?? (previous?.url === url ? previous.key : undefined)
  const alias = request.alias ?? previous?.alias ?? unknownAgent
  // Before anyone signs in: a file that cannot be edited is refused.
  const draft = planConnect(client, setupOf({ ...place, url, wake, alias, key: known ?? unknownKey }), previous)
  if (request.isDryRun) {
    say(draft.changes.length === 0 ? 'Nothing would change.' : differenceOf(draft.changes, [known ?? '']))
    return { client, agent: alias, url, changed: draft.changes.map(({ path }) => path), steps: [] }
  }
  const credential = await credentialFor(client, request, previous)
  try {
    return await writeConnection(client, request, previous, credential)
  } catch (error) {
    if (credential.isNew) await revoke(url, credential.key)
    throw error
  }
}

async function writeConnection(
  client: ClientName,
  { url, wake, folder, isSure, say }: ConnectRequest,
  previous: Connection | undefined,
  { alias, key, keyName, isOwnKey }: Credential,
): Promise<ConnectResult> {
  const { title } = programs[client]
  const place = placeOf(client, folder)
  const { files, changes, left } = planConnect(client, setupOf({ ...place, url, alias, key, wake }), previous)
  if (changes.length === 0 && previous?.key === key && previous.wake === wake) {
    installProgram()
    say(`${title} is connected as ${alias}. Nothing changed.`)
  } else {
    if (changes.length > 0) {
      say(differenceOf(changes, [key, previous?.key ?? '']))
      await confirm(`Write this, so that ${title} is ${alias}?`, isSure)
    }
    installProgram()
    // First, so that a crash leaves nothing that is not recorded.
    const at = new Date().toISOString()
    await saveConnection({ ...place, url, alias, key, wake, keyName, isOwnKey, files, at })
    try {
      applyChanges(changes)
    } catch (error) {
      if (previous) await saveConnection(previous)
      else await removeConnection(place)
      throw error
    }
    if (previous?.isOwnKey && previous.key !== key) await revoke(previous.url, previous.key)
    say(`${title} is connected as ${alias}. ${wakeSentence(client, wake)}`)
    for (const place of left) say(`Left as it is, because it was changed since: ${place}`)
  }
  const steps = stepsOf(client, { folder, wake })
  return { client, agent: alias, url, changed: changes.map(({ path }) => path), steps }
}

/** A key that was given, the one that the connection has, or a new one. */
async function credentialFor(
  client: ClientName,
  { url, alias, key, say }: ConnectRequest,
  previous: Connection | undefined,
): Promise<Credential> {
  if (key !== undefined) {
    const { agent, key: { name } } = await new GridClient({ url, key }).me()
    if (alias !== undefined && agent !== alias) {
      throw new CommandError('wrong_agent', `The key is for ${agent}, not for ${alias}.`)
    }
    return { alias: agent, key, keyName: name ?? '', isOwnKey: false, isNew: false }
  }
  if (previous?.url === url && (alias === undefined || alias === previous.alias) && await isAlive(previous)) {
    return { ...previous, isNew: false }
  }
  const keyName = `${client} on ${machineName()}`
  const open = (address: string) => {
    const choice = `choose ${alias ?? 'the agent'} for ${programs[client].title}`
    say(`Sign in at the grid, and ${choice}. If no browser opens:\n${address}`)
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
    if (isCredentialGone(error)) return false
    throw error
  }
}

export async function revoke(url: string, key: string): Promise<boolean> {
  try {
    await new GridClient({ url, key, timeoutMs: 10_000 }).revokeKey()
    return true
  } catch (error) {
    return error instanceof GridCallError && error.status === 401
  }
}
