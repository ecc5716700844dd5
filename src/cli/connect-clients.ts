/** `agent-grid connect` and `disconnect`: the questions, the record, the words. See docs/clients.md. */
import process from 'node:process'
import {
  connectionAt,
  differenceOf,
  placeOf,
  planConnect,
  planDisconnect,
  setupOf,
  stepsOf,
  wakeSentence,
} from '../clients/connect.ts'
import {
  bareUrl,
  type Connection,
  readConnections,
  removeConnection,
  saveConnection,
  type Wake,
  withAt,
} from '../clients/connections.ts'
import { applyChanges } from '../clients/files/change.ts'
import { isInstalled } from '../clients/find-program.ts'
import { GridCallError, isCredentialGone } from '../clients/grid-call.ts'
import { GridClient } from '../clients/grid-client.ts'
import { installProgram } from '../clients/installed-program.ts'
import { findGrid, login, machineName } from '../clients/login.ts'
import { type ClientName, clientNames, programs } from '../clients/programs.ts'
import { ask, confirm, isAttended, openBrowser } from './ask.ts'
import { attentionExitCode, type CommandArguments, CommandError, usageError } from './command.ts'
import { print, printError } from './output.ts'

/** Run `connect`. Resolves to its exit code. */
export async function connectClients(json: boolean, args: CommandArguments): Promise<number> {
  const isDryRun = args['dry-run'] !== undefined
  const clients = args.client === undefined ? await chooseClients(args.yes !== undefined) : [args.client as ClientName]
  const url = await findGrid(args.url === undefined ? onlyKnownGrid() : checkUrl(args.url))
  const say = sayer(json)
  if (/^http:/.test(url) && !isLoopback(url)) say(`${url} is not encrypted: others on the way can read the key.`)
  const results: ConnectResult[] = []
  for (const client of clients) {
    results.push(
      await connectClient(client, {
        url,
        alias: args.as && withAt(args.as),
        key: args.key?.trim(),
        folder: folderOf(args),
        wake: (args.wake ?? 'auto') as Wake,
        isSure: args.yes !== undefined,
        isDryRun,
        say,
      }),
    )
  }
  return end(json, { connections: results, isDryRun }, results.flatMap(({ steps }) => steps))
}

/** Run `disconnect`. Resolves to its exit code. */
export async function disconnectClient(json: boolean, args: CommandArguments): Promise<number> {
  const client = args.client as ClientName
  const { title } = programs[client]
  const connection = connectionAt(placeOf(client, folderOf(args)))
  const say = sayer(json)
  if (!connection) {
    say(`${title} is not connected.`)
    return end(json, { client, changed: [], steps: [] }, [])
  }
  const { changes, left } = planDisconnect(connection)
  const { url, key, alias, isOwnKey, keyName } = connection
  const steps = left.map((place) => `Remove by hand what was changed since it was written: ${place}`)
  if (changes.length > 0) say(differenceOf(changes, [key]))
  if (args['dry-run'] === undefined) {
    await confirm(`Remove this, so that ${title} is no longer ${alias}?`, args.yes !== undefined)
    applyChanges(changes)
    await removeConnection(connection)
    if (isOwnKey && !await revoke(url, key)) {
      steps.push(`The grid could not be reached: revoke the key "${keyName}" on the page of ${alias} at ${url}.`)
    }
    say(`${title} is no longer connected as ${alias}.`)
  }
  return end(json, { client, agent: alias, changed: changes.map(({ path }) => path), steps }, steps)
}

/** With `--json`, standard output has one object only. */
function sayer(json: boolean): (text: string) => void {
  return json ? printError : print
}

/** Print the result, and what is left for a person. Returns the exit code. */
function end(json: boolean, result: Record<string, unknown>, steps: readonly string[]): number {
  if (json) print(JSON.stringify(result))
  else for (const step of steps) print(`Next: ${step}`)
  return steps.length > 0 ? attentionExitCode : 0
}

function folderOf({ scope }: CommandArguments): string | undefined {
  return scope === 'project' ? process.cwd() : undefined
}

/** Ask which of the clients of this machine to connect. */
async function chooseClients(takesAll: boolean): Promise<ClientName[]> {
  const found = clientNames.filter(isInstalled)
  if (found.length === 0) throw usageError(`No client was found here. Name one: ${clientNames.join(', ')}.`)
  if (!isAttended() || takesAll) {
    throw usageError(`Name the client to connect. Found on this machine: ${found.join(', ')}.`)
  }
  const titles = found.map((name) => `  ${name.padEnd(10)}${programs[name].title}`).join('\n')
  const answer = await ask(`Found on this machine:\n${titles}\nConnect which? (names, or all) `)
  const chosen = answer === 'all' ? found : answer.split(/[\s,]+/).filter(Boolean)
  const wrong = chosen.find((name) => !clientNames.includes(name as ClientName))
  if (wrong !== undefined) throw usageError(`There is no client "${wrong}".`)
  if (chosen.length === 0) throw usageError('No client was chosen.')
  return chosen as ClientName[]
}

function onlyKnownGrid(): string {
  const urls = [...new Set(readConnections().map(({ url }) => url))]
  if (urls.length === 1) return urls[0]
  const known = urls.length === 0 ? '' : ` Known are ${urls.join(' and ')}.`
  throw usageError(`connect needs --url, the address of the grid.${known}`)
}

function checkUrl(url: string): string {
  if (!/^https?:\/\//.test(url) || !URL.canParse(url)) {
    throw usageError(`--url must be an address such as https://grid.example.com, not "${url}".`)
  }
  return bareUrl(url).replace(/\/mcp\/v1\/grid$/, '')
}

function isLoopback(url: string): boolean {
  return /^(localhost|127\.\d+\.\d+\.\d+|\[::1\]|.*\.localhost)$/.test(new URL(url).hostname)
}

interface ConnectRequest {
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

interface ConnectResult {
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
async function connectClient(client: ClientName, request: ConnectRequest): Promise<ConnectResult> {
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

async function revoke(url: string, key: string): Promise<boolean> {
  try {
    await new GridClient({ url, key, timeoutMs: 10_000 }).revokeKey()
    return true
  } catch (error) {
    return error instanceof GridCallError && error.status === 401
  }
}
