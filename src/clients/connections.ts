/**
 * The agents that this machine's clients are connected as: `connections.json` in the connections folder. The file
 * contains keys, so only the machine's user may read it. See docs/client-reference.md, "What is kept".
 */
import { existsSync } from 'node:fs'
import { join, resolve, sep } from 'node:path'
import process from 'node:process'
import { clientCommand } from './snippets.ts'
import { ClientError } from './grid-call.ts'
import type { WrittenFile } from './files/written-file.ts'
import type { ClientName } from './programs.ts'
import { repositoryRoot } from './repository.ts'
import { readJson, writeJson } from './state/sessions.ts'
import { withLock } from './state/lock.ts'
import { configFolder } from './state/paths.ts'

/** How a client is notified of messages: `auto` wakes it, `start` notifies it at a session start, `off` never does. */
export type Wake = 'auto' | 'start' | 'off'
export type Scope = 'user' | 'project'

/** A client's connection. Each client has at most one connection per scope, or per folder for scope `project`. */
export interface Connection {
  /** The grid's URL, without a trailing `/`. */
  url: string
  /** With `@`. */
  alias: string
  key: string
  client: ClientName
  scope: Scope
  /** The project's absolute path, for scope `project`. */
  folder?: string
  wake: Wake
  /** `askedTools`: the tools that the user was asked about; `allowedTools`: those that may be called without asking. */
  askedTools?: readonly string[]
  allowedTools?: readonly string[]
  /**
   * Whether the client is warned before it edits a file that another agent has reserved; undefined if the user was not
   * asked.
   */
  editWarnings?: boolean
  /** The key's name on the grid, such as `claude on laptop`. */
  keyName: string
  /** Whether `connect` fetched the key itself. Only then does `disconnect` revoke it. */
  isOwnKey: boolean
  files: WrittenFile[]
  at: string
}

export type ConnectionPlace = Pick<Connection, 'client' | 'scope' | 'folder'>

export interface GridAccess {
  url: string
  key: string
  /** With `@`; undefined if the environment provides only a key. */
  alias?: string
  /** Undefined if the access comes from the environment. */
  connection?: Connection
}

interface ConnectionQuery {
  /** With or without `@`. */
  alias?: string
  url?: string
  /** A client reads project files only in its working folder, and at the root of the repository around that folder. */
  client?: string
  /** Connections of the projects around this folder are preferred, innermost first. */
  cwd?: string
}

interface ConnectionsFile {
  connections: Connection[]
  /** This machine's OAuth client ids, by issuer. */
  oauthClients: Record<string, string>
}

export function connectionsPath(): string {
  return join(configFolder(), 'connections.json')
}

export function readConnections(): Connection[] {
  return readFile().connections
}

/** Stores a connection. Replaces the connection of the same client, scope and folder, if there is one. */
export async function saveConnection(connection: Connection): Promise<void> {
  await change((file) => {
    file.connections = [...file.connections.filter((other) => !isSamePlace(other, connection)), connection]
  })
}

export async function removeConnection(place: ConnectionPlace): Promise<void> {
  await change((file) => {
    file.connections = file.connections.filter((other) => !isSamePlace(other, place))
  })
}

export function readOAuthClient(issuer: string): string | undefined {
  return readFile().oauthClients[issuer]
}

export async function saveOAuthClient(issuer: string, clientId: string): Promise<void> {
  await change((file) => {
    file.oauthClients[issuer] = clientId
  })
}

/**
 * How to call a grid as an agent. `AGENT_GRID_URL` with `AGENT_GRID_KEY` (and `AGENT_GRID_ALIAS`) take precedence over
 * the connections. Undefined if nothing matches. Fails with `ClientError`: `ambiguous_agent` if several agents match,
 * or `invalid_connections`.
 */
export function findConnection(query: ConnectionQuery = {}): GridAccess | undefined {
  const { AGENT_GRID_URL: url, AGENT_GRID_KEY: key, AGENT_GRID_ALIAS: named } = process.env
  if (url && key) {
    const alias = query.alias ?? named
    return { url: bareUrl(url), key, ...(alias && { alias: withAt(alias) }) }
  }
  const connection = nearestConnection(query)
  return connection && { url: connection.url, key: connection.key, alias: connection.alias, connection }
}

/** The connection that a client or command uses in a folder. Fails with the same errors as `findConnection`. */
export function nearestConnection(query: ConnectionQuery): Connection | undefined {
  const matching = readConnections().filter((connection) => matches(connection, query))
  const nearest = nearestOf(matching, query.cwd ?? process.cwd(), query.client !== undefined)
  const agents = new Map(nearest.map((found) => [`${found.alias} of ${found.url}`, found]))
  if (agents.size > 1) {
    const names = [...agents.keys()].join(', ')
    const message = `Several agents are connected: ${names}. Choose one with --as, or with --url.`
    throw new ClientError('ambiguous_agent', message)
  }
  return nearest.at(-1)
}

/** The command that reconnects a client. It works even if `agent-grid` is not in the `PATH`. */
export function connectAgain({ url, alias, client }: Pick<Connection, 'url' | 'alias' | 'client'>): string {
  return clientCommand({ appUrl: url }, `connect ${client} --url ${url} --as ${alias.slice(1)}`)
}

export function isSamePlace(a: ConnectionPlace, b: ConnectionPlace): boolean {
  return a.client === b.client && a.scope === b.scope && a.folder === b.folder
}

/** A URL in the form that connections store. */
export function bareUrl(url: string): string {
  return url.replace(/\/+$/, '')
}

/** An alias in the form that connections store. */
export function withAt(alias: string): string {
  return `@${alias.trim().replace(/^@/, '').toLowerCase()}`
}

function matches(connection: Connection, { alias, url, client }: ConnectionQuery): boolean {
  return (alias === undefined || withAt(alias) === connection.alias) &&
    (url === undefined || bareUrl(url) === connection.url) &&
    (client === undefined || client === connection.client)
}

/** The connections of the innermost project around a folder; otherwise the user's connections. */
function nearestOf(connections: Connection[], cwd: string, isOfClient: boolean): Connection[] {
  const here = resolve(cwd)
  const isAround = (folder: string) =>
    isOfClient ? folder === here || folder === repositoryRoot(here) : isWithin(here, folder)
  const depth = ({ folder }: Connection) => folder === undefined ? 0 : folder.length
  const around = connections.filter(({ scope, folder }) => scope === 'user' || isAround(folder!))
  const deepest = Math.max(0, ...around.map(depth))
  return around.filter((connection) => depth(connection) === deepest)
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep)
}

function readFile(): ConnectionsFile {
  const path = connectionsPath()
  if (!existsSync(path)) return { connections: [], oauthClients: {} }
  const { connections, oauthClients = {} } = (readJson(path) ?? {}) as Partial<ConnectionsFile>
  if (Array.isArray(connections)) return { connections, oauthClients }
  // A damaged file is never overwritten.
  const message = `${path} is not a list of connections. Repair the file, or move it away and connect again.`
  throw new ClientError('invalid_connections', message)
}

async function change(edit: (file: ConnectionsFile) => void): Promise<void> {
  const path = connectionsPath()
  const isDone = await withLock(`${path}.lock`, 5_000, () => {
    const file = readFile()
    edit(file)
    writeJson(path, file)
    return true
  })
  if (!isDone) throw new Error(`Another program has held ${path}.lock for 5 seconds.`)
}
