/** `agent-grid connect`: its questions, stored record and output. See docs/clients.md. */
import {
  canWarnOfEdits,
  connectionAt,
  mayWritePermissions,
  placeOf,
  planConnect,
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
import { differenceOf } from '../clients/files/difference.ts'
import { isInstalled } from '../clients/find-program.ts'
import { isCredentialGone } from '../clients/grid-call.ts'
import { GridClient } from '../clients/grid-client.ts'
import { installProgram, isOnPath, linkFolder, linkProgram } from '../clients/installed-program.ts'
import { type FetchKey, findGrid, login, machineName } from '../clients/login.ts'
import { type ClientName, clientNames, conversationTools, newTools, programs } from '../clients/programs.ts'
import { clientCommand } from '../clients/snippets.ts'
import { once } from '../lib/lazy.ts'
import { agrees, ask, confirm, isAttended, openBrowser } from './ask.ts'
import { type CommandArguments, CommandError, usageError } from './command.ts'
import { end, folderOf, revoke, sayer } from './disconnect-client.ts'
import { personNeeded } from './grid-access.ts'

/** Runs `connect`. Resolves to its exit code. */
export async function connectClients(json: boolean, args: CommandArguments): Promise<number> {
  const isDryRun = args['dry-run'] !== undefined
  const isSure = args.yes !== undefined
  const clients = await clientsOf(args.client, isSure)
  if (args['edit-warnings'] === 'on' && !clients.some(canWarnOfEdits)) {
    throw usageError('Only Claude Code can be warned before an edit.')
  }
  const address = args.url === undefined ? onlyKnownGrid() : checkUrl(args.url)
  if (!isDryRun && !isSure && !isAttended()) {
    throw personNeeded(
      'not_confirmed',
      'Nothing was changed. There is no terminal to ask at: run the command again with --yes, and with ' +
        '--tools allow if it may call the tools of the grid without asking. Without --key-file it opens the browser.',
    )
  }
  const url = await findGrid(address)
  const say = sayer(json)
  if (/^http:/.test(url) && !isLoopback(url)) say(`${url} is not encrypted: others on the network can read the key.`)
  const mayAsk = !isDryRun && !isSure
  const answers = mayAsk && args.tools === undefined ? await askForTools(clients, folderOf(args)) : new Map()
  const editWarnings = args['edit-warnings'] !== undefined
    ? args['edit-warnings'] === 'on'
    : mayAsk
    ? await askForEditWarnings(clients, folderOf(args))
    : undefined
  const alias = args.as && withAt(args.as)
  // One sign-in covers all clients.
  const signIn = once(() => {
    const titles = clients.map((client) => programs[client].title).join(', ')
    const open = (address: string) => {
      say(`Sign in at the grid, and choose ${alias ?? 'the agent'} for ${titles}. If no browser opens:\n${address}`)
      openBrowser(address)
    }
    return login({ url, alias, open })
  })
  const requests = clients.map((client): ConnectRequest => ({
    client,
    url,
    alias,
    key: args.key?.trim(),
    folder: folderOf(args),
    wake: (args.wake ?? 'auto') as Wake,
    isAllowed: args.tools === undefined ? answers.get(client) : args.tools === 'allow',
    isForAllTools: args.tools !== undefined,
    editWarnings,
    isSure,
    isDryRun,
    signIn,
    say,
  }))
  // Fails before anyone signs in if a file cannot be edited.
  requests.forEach(draftOf)
  const results: ConnectResult[] = []
  for (const request of requests) results.push(await connectClient(request))
  if (!isDryRun && !isOnPath()) await offerPath(isSure, say)
  if (!isDryRun) {
    const command = (words: string) => isOnPath() ? `agent-grid ${words}` : clientCommand({ appUrl: url }, words)
    say(`To check the connection: ${command('doctor --client')}`)
    say(`To remove it: ${command(`disconnect ${clients.length === 1 ? clients[0] : 'CLIENT'}`)}`)
  }
  return end(json, { connections: results, isDryRun }, results.flatMap(({ steps }) => steps))
}

/** The client that was named, all clients of this machine, or the user's choice. */
async function clientsOf(named: string | undefined, isSure: boolean): Promise<ClientName[]> {
  if (named !== undefined && named !== 'all') return [named as ClientName]
  const found = clientNames.filter(isInstalled)
  if (found.length === 0) throw usageError(`No client was found on this machine. Name one: ${clientNames.join(', ')}.`)
  if (named === 'all') return found
  if (!isAttended() || isSure) {
    throw usageError(`Name the client to connect, or all. Found on this machine: ${found.join(', ')}.`)
  }
  const titles = found.map((name) => `  ${name.padEnd(10)}${programs[name].title}`).join('\n')
  const answer = await ask(`Found on this machine:\n${titles}\nConnect which? (names, or all) `)
  const chosen = answer === 'all' ? found : answer.split(/[\s,]+/).filter(Boolean)
  const wrong = chosen.find((name) => !clientNames.includes(name as ClientName))
  if (wrong !== undefined) throw usageError(`There is no client "${wrong}".`)
  if (chosen.length === 0) throw usageError('No client was chosen.')
  return chosen as ClientName[]
}

/** Asks about tools that the user has not been asked about. Clients with the same new tools share one question. */
async function askForTools(
  clients: readonly ClientName[],
  folder: string | undefined,
): Promise<Map<ClientName, boolean>> {
  const toolsOf = (client: ClientName) => newTools(connectionAt(placeOf(client, folder))).join(', ')
  const unasked = clients.filter((client) => mayWritePermissions(client, folder) && toolsOf(client) !== '')
  const answers = new Map<ClientName, boolean>()
  for (const tools of new Set(unasked.map(toolsOf))) {
    const same = unasked.filter((client) => toolsOf(client) === tools)
    const titles = same.map((client) => programs[client].title).join(', ')
    const isAllowed = await agrees(
      `May ${titles} call these tools of the grid without asking you each time?\n  ${tools}`,
    )
    for (const client of same) answers.set(client, isAllowed)
  }
  return answers
}

/** Asks once for all clients. Resolves to undefined if no client can be warned, or if the answer is known. */
async function askForEditWarnings(
  clients: readonly ClientName[],
  folder: string | undefined,
): Promise<boolean | undefined> {
  const isUnasked = (client: ClientName) => connectionAt(placeOf(client, folder))?.editWarnings === undefined
  const unasked = clients.filter((client) => canWarnOfEdits(client) && isUnasked(client))
  if (unasked.length === 0) return undefined
  const titles = unasked.map((client) => programs[client].title).join(', ')
  return await agrees(`Shall ${titles} be warned before it edits a file that another agent has reserved?`)
}

async function offerPath(isSure: boolean, say: (text: string) => void): Promise<void> {
  const folder = linkFolder()
  if (folder === undefined || isSure) return
  if (!await agrees(`agent-grid is not in your PATH. Create a link to it in ${folder}?`)) return
  linkProgram(folder)
  say(`${folder} has agent-grid now.`)
}

function onlyKnownGrid(): string {
  const urls = [...new Set(readConnections().map(({ url }) => url))]
  if (urls.length === 1) return urls[0]
  const known = urls.length === 0 ? '' : ` Known are ${urls.join(' and ')}.`
  throw usageError(`connect needs --url with the address of the grid.${known}`)
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

export interface ConnectRequest {
  client: ClientName
  /** The grid's canonical URL. */
  url: string
  /** With `@`. */
  alias?: string
  /** An existing key. */
  key?: string
  folder?: string
  wake: Wake
  /** The answer about the tools; undefined if the user gave no new answer. */
  isAllowed: boolean | undefined
  /** Whether the answer covers all tools. If false, it covers only tools that the user had not yet been asked about. */
  isForAllTools: boolean
  /** The answer about edit warnings; undefined if the user gave no new answer. */
  editWarnings: boolean | undefined
  isSure: boolean
  /** Whether the person has seen the changes. */
  isShown?: boolean
  isDryRun: boolean
  /** Asks the person to sign in on the first call. */
  signIn(): Promise<FetchKey>
  say(text: string): void
}

type Connected = Pick<Connection, 'url' | 'folder' | 'allowedTools'>

export interface ConnectResult {
  client: string
  /** With `@`. */
  agent: string
  url: string
  changed: string[]
  /** Remaining steps for the person. */
  steps: string[]
}

interface Credential extends Pick<Connection, 'alias' | 'key' | 'keyName' | 'isOwnKey'> {
  /** Whether the key was created for this connection. */
  isNew: boolean
}

/** Placeholders for an agent that is not chosen yet. */
const unknownAgent = '@…'
const unknownKey = 'grid_agt_…'

/** The planned changes for a client, as far as they are known before signing in. Fails with `FileRefusedError`. */
export function draftOf(request: ConnectRequest) {
  const { client, url, wake, folder } = request
  const place = placeOf(client, folder)
  const previous = connectionAt(place)
  const known = request.key ?? (previous?.url === url ? previous.key : undefined)
  const alias = request.alias ?? previous?.alias ?? unknownAgent
  const answers = answersOf(request, previous)
  const setup = setupOf({ ...place, ...answers, url, wake, alias, key: known ?? unknownKey })
  return { previous, known, alias, changes: planConnect(client, setup, previous).changes }
}

/** Connects one client. Fails with `CommandError` or `ClientError`. */
export async function connectClient(request: ConnectRequest): Promise<ConnectResult> {
  const { client, url, say } = request
  const { previous, known, alias, changes } = draftOf(request)
  if (request.isDryRun) {
    say(changes.length === 0 ? 'Nothing would change.' : differenceOf(changes, [known ?? '']))
    return { client, agent: alias, url, changed: changes.map(({ path }) => path), steps: [] }
  }
  const credential = await credentialFor(request, previous)
  try {
    return await writeConnection(request, previous, credential)
  } catch (error) {
    if (credential.isNew) await revoke(url, credential.key)
    throw error
  }
}

/** The user's answers, from this request or from the client's previous connection. */
export function answersOf(
  { client, isAllowed, isForAllTools, ...request }: Pick<
    ConnectRequest,
    'client' | 'isAllowed' | 'isForAllTools' | 'editWarnings'
  >,
  previous: Connection | undefined,
): Pick<Connection, 'askedTools' | 'allowedTools' | 'editWarnings'> {
  const { askedTools, allowedTools = [] } = previous ?? {}
  const editWarnings = canWarnOfEdits(client) ? request.editWarnings ?? previous?.editWarnings : undefined
  if (isAllowed === undefined) return { askedTools, allowedTools: previous?.allowedTools, editWarnings }
  const asked = isForAllTools ? conversationTools : newTools(previous)
  const isNowAllowed = (tool: string) => asked.includes(tool) ? isAllowed : allowedTools.includes(tool)
  return { askedTools: conversationTools, allowedTools: conversationTools.filter(isNowAllowed), editWarnings }
}

async function writeConnection(
  request: ConnectRequest,
  previous: Connection | undefined,
  { alias, key, keyName, isOwnKey }: Credential,
): Promise<ConnectResult> {
  const { client, url, wake, folder, isSure, isShown, say } = request
  const { title } = programs[client]
  const place = placeOf(client, folder)
  const setup = { ...place, ...answersOf(request, previous), url, alias, key, wake }
  const { files, changes, left } = planConnect(client, setupOf(setup), previous)
  const isSame = previous?.key === key && previous.wake === wake && previous.askedTools === setup.askedTools &&
    previous.editWarnings === setup.editWarnings
  if (changes.length === 0 && isSame) {
    installProgram()
    say(`${title} is connected as ${alias}. Nothing changed.`)
  } else {
    if (changes.length > 0) {
      if (!isShown) say(differenceOf(changes, [key, previous?.key ?? '']))
      await confirm(`Write this to connect ${title} as ${alias}?`, isSure)
    }
    installProgram()
    // The connection is recorded before files are written, so that a crash leaves no unrecorded change.
    const at = new Date().toISOString()
    await saveConnection({ ...setup, keyName, isOwnKey, files, at })
    try {
      applyChanges(changes)
    } catch (error) {
      if (previous) await saveConnection(previous)
      else await removeConnection(place)
      throw error
    }
    if (previous?.isOwnKey && previous.key !== key) await revoke(previous.url, previous.key)
    say(`${title} is connected as ${alias}. ${wakeSentence(client, wake)}`)
    for (const place of left) say(`Left unchanged, because another program wrote it: ${place}`)
  }
  for (const sentence of whatItAsks(client, setup)) say(sentence)
  const steps = stepsOf(client, { folder, wake })
  return { client, agent: alias, url, changed: changes.map(({ path }) => path), steps }
}

/** Sentences on what the client still asks its user, and on how long it waits for an unresponsive grid. */
function whatItAsks(client: ClientName, { url, folder, allowedTools = [] }: Connected): string[] {
  const { title, asks, allowing, server: { limit } } = programs[client]
  const isWritten = mayWritePermissions(client, folder)
  const asked = conversationTools.filter((tool) => !isWritten || !allowedTools.includes(tool))
  const command = clientCommand({ appUrl: url }, `connect ${client} --tools allow`)
  const how = isWritten ? `run ${command}, or ${allowing}` : allowing
  return [
    `${title} asks everybody ${asks}.`,
    ...(asked.length === 0 ? [] : [`It also asks before calls of ${asked.join(', ')}. To allow them, ${how}`]),
    ...(limit === undefined ? [] : [limit]),
  ]
}

/** The key that was given, the connection's existing key, or a new key. */
async function credentialFor(
  { client, url, alias, key, signIn }: ConnectRequest,
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
  const made = await (await signIn())(keyName)
  const chosen = withAt(made.alias)
  if (alias !== undefined && chosen !== alias) {
    await revoke(url, made.key)
    throw new CommandError('wrong_agent', `You chose ${chosen}, not ${alias}. Nothing was changed; run it again.`)
  }
  return { alias: chosen, key: made.key, keyName, isOwnKey: true, isNew: true }
}

/** Whether the grid accepts a connection's key. Fails if the grid is unreachable. */
async function isAlive({ url, key }: Connection): Promise<boolean> {
  try {
    await new GridClient({ url, key }).me()
    return true
  } catch (error) {
    if (isCredentialGone(error)) return false
    throw error
  }
}
