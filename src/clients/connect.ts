/** Changes a client's files for `connect` and `disconnect`. */
import { join, sep } from 'node:path'
import process from 'node:process'
import { pathToFileURL } from 'node:url'
import { type HookCommand, shellLine } from './client-program.ts'
import {
  type Connection,
  type ConnectionPlace,
  isSamePlace,
  readConnections,
  type Scope,
  type Wake,
} from './connections.ts'
import { type FileChange, isChange, planRemoval, planWanted } from './files/change.ts'
import { type Json, leavesOf, type WantedEntries, type WantedFile, type WrittenFile } from './files/written-file.ts'
import { checkInside } from './files/disk.ts'
import { installedProgram } from './installed-program.ts'
import { serverName, skill } from './primer.ts'
import { type ClientName, programs } from './programs.ts'
import { configFolder } from './state/paths.ts'

export interface Plan {
  /** The new records of the client's files, which replace the previous records. */
  files: WrittenFile[]
  /** The changes to make. Omits changes that would leave their file as it is. */
  changes: FileChange[]
  /** Entries that could not be added or removed because of others' changes, as `path: key`. */
  left: string[]
}

export function setupOf(
  { client, url, alias, key, wake, folder, allowedTools, editWarnings }: Pick<Connection, 'client' | keyof Connected>,
): Setup {
  const keyFile = join(configFolder(), 'keys', client)
  return { url, alias, key, wake, folder, allowedTools, editWarnings, ...installedProgram(), keyFile }
}

/**
 * Computes the changes that connect a client, without making them. `previous` is the client's current connection. Fails
 * with `FileRefusedError` if a file cannot be edited.
 */
export function planConnect(client: ClientName, setup: Setup, previous: Connection | undefined): Plan {
  const wanted = wantedFiles(client, setup)
  if (setup.folder !== undefined) { for (const { path } of wanted) checkInside(path, setup.folder) }
  const written = previous?.files ?? []
  const obsolete = written.filter(({ path }) => !wanted.some((file) => file.path === path))
  const removals = obsolete.filter((file) => !isSharedWithOthers(file, previous!)).map(planRemoval)
  const all = [
    ...removals,
    ...wanted.map((file) => planWanted(file, written.find(({ path }) => path === file.path))),
  ]
  return {
    files: all.flatMap(({ written }) => written ? [withShared(written)] : []),
    changes: all.filter(isChange),
    left: leftOf(all),
  }
}

/** Computes the changes that remove a client's entries, without making them. Fails with `FileRefusedError`. */
export function planDisconnect(connection: Connection): Plan {
  const all = connection.files.filter((file) => !isSharedWithOthers(file, connection)).toReversed().map(planRemoval)
  return { files: [], changes: all.filter(isChange), left: leftOf(all) }
}

export function connectionAt(place: ConnectionPlace): Connection | undefined {
  return readConnections().find((connection) => isSamePlace(connection, place))
}

export function placeOf(client: ClientName, folder: string | undefined): ConnectionPlace {
  return { client, scope: scopeOf({ folder }), ...(folder !== undefined && { folder }) }
}

/** Whether another connection uses this file. Clients that read the same skills share a file. */
function isSharedWithOthers({ path, format }: WrittenFile, connection: Connection): boolean {
  return format === 'own' &&
    readConnections().some((other) => !isSamePlace(other, connection) && other.files.some((file) => file.path === path))
}

/** Adds to a file's record all that other connections created for it, so that the last connection can remove it all. */
function withShared(file: WrittenFile): WrittenFile {
  const files = readConnections().flatMap(({ files }) => files)
  const made = new Set(files.flatMap(({ folders }) => folders))
  const shared = [...made].filter((folder) => file.path.startsWith(folder + sep) && !file.folders.includes(folder))
  const same = files.filter(({ path, format }) => path === file.path && format !== 'own')
  return {
    ...file,
    folders: [...file.folders, ...shared].toSorted((a, b) => a.length - b.length),
    before: same.some(({ before }) => before === null) ? null : file.before,
    made: [...file.made ?? [], ...same.flatMap(({ made = [] }) => made)],
  }
}

function leftOf(changes: readonly FileChange[]): string[] {
  return changes.flatMap(({ path, left }) => left.map((place) => `${path}: ${place}`))
}

type Connected = Pick<Connection, 'url' | 'alias' | 'key' | 'wake' | 'folder' | 'allowedTools' | 'editWarnings'>

export interface Setup extends Connected {
  /** The arguments that start the client program. */
  command: readonly string[]
  /** The path of a single file that starts the client program. */
  launcher: string
  openCodePlugin: string
  /** The path of a separate file for the key, for clients that read one. */
  keyFile: string
}

/** The scope: user or project. A project's files are shared with others, so they get no key. */
function scopeOf({ folder }: Pick<Setup, 'folder'>): Scope {
  return folder === undefined ? 'user' : 'project'
}

/** A client's files, in the order in which they are written. */
function wantedFiles(name: ClientName, setup: Setup): WantedFile[] {
  const { folder, keyFile, key, url, allowedTools = [] } = setup
  const { folder: ofUser, projectFolder, server, hooks, plugin, sharedFolder } = programs[name]
  const own = folder === undefined ? ofUser() : join(folder, projectFolder)
  const shared = sharedFolder === undefined
    ? own
    : folder === undefined
    ? sharedFolder.user()
    : join(folder, sharedFolder.project)
  const hasKey = server.key === 'always' || folder === undefined
  const authorization = server.key === 'file' ? `Bearer {file:${keyFile}}` : `Bearer ${key}`
  const table = [...server.container(folder), serverName]
  const tools: WantedEntries = {
    path: server.file(own, folder),
    format: server.format ?? 'json',
    entries: [
      ...leavesOf(table, serverEntry(name, url, hasKey ? authorization : undefined)),
      ...(server.options ?? []).map((entry) => ({ ...entry, isOptional: true as const })),
    ],
    table,
    ...(hasKey && server.key !== 'file' && { hasKey }),
  }
  const files: WantedFile[] = [tools]
  const add = (more: WantedEntries) => {
    const same = files.find((file): file is WantedEntries => file.path === more.path && file.format !== 'own')
    if (same) same.entries.push(...more.entries)
    else files.push(more)
  }
  if (hasKey && server.key === 'file') files.unshift({ path: keyFile, format: 'own', text: key, hasKey })
  const values = hooks ? hookValues(name, setup, (hook) => hookCommand(name, setup, hook)) : []
  if (hooks && values.length > 0) {
    const path = hooks.file(shared, folder)
    if (hooks.ownFile) {
      const lists = Object.fromEntries(values.map(([event, value]) => [event, [value]]))
      files.push({ path, format: 'own', text: `${JSON.stringify({ ...hooks.ownFile, hooks: lists }, null, 2)}\n` })
    } else {
      const entries = values.map(([event, value]) => ({ container: ['hooks', event], value }))
      add({ path, format: 'json', entries, ...(hooks.base && { base: hooks.base }) })
    }
  }
  if (plugin !== undefined && setup.wake !== 'off') {
    files.push({ path: join(own, plugin), format: 'own', text: pluginText(setup) })
  }
  if (allowedTools.length > 0 && mayWritePermissions(name, folder)) {
    const { file, entry, text } = programs[name].permissions!
    const path = file(own, folder)
    if (text) files.push({ path, format: 'own', text: text(allowedTools) })
    else {
      const entries = allowedTools.map((tool) => ({ ...entry!(tool), isOptional: true as const }))
      add({ path, format: path === tools.path ? tools.format : 'json', entries })
    }
  }
  return [...files, { path: join(shared, 'skills', serverName, 'SKILL.md'), format: 'own', text: skill() }]
}

/**
 * Whether `connect` can allow the tools. It does not do so in a file that other people read, because the file would
 * allow the tools for them too.
 */
export function mayWritePermissions(name: ClientName, folder: string | undefined): boolean {
  const { permissions } = programs[name]
  return permissions !== undefined && (folder === undefined || permissions.isOwnInProject === true)
}

/** Whether a client can be warned before it edits a file. */
export function canWarnOfEdits(name: ClientName): boolean {
  return Object.values(programs[name].hooks?.events ?? {}).some((hooks) => hooks.includes('edit'))
}

/** What a person still has to do before the connection works, in complete sentences. */
export function stepsOf(name: ClientName, { folder, wake }: Pick<Setup, 'folder' | 'wake'>): string[] {
  const { login, approval } = programs[name]
  return [...(folder !== undefined && login ? [login] : []), ...(wake !== 'off' && approval ? [approval] : [])]
}

/** A sentence on how a client is notified of messages. */
export function wakeSentence(name: ClientName, wake: Wake): string {
  if (wake === 'auto') return programs[name].wakes
  return wake === 'start'
    ? 'It is notified of unread messages when a session begins.'
    : 'It is not notified of messages.'
}

/** The content below each event in a client's hooks. */
export function hookValues(
  name: ClientName,
  { wake, editWarnings = false }: Pick<Setup, 'wake' | 'editWarnings'>,
  commandOf: (hook: string) => HookCommand,
): [event: string, value: Json][] {
  const { events, isGrouped, matchers = {}, value } = programs[name].hooks!
  const runs = (hook: string) => {
    if (hook === 'edit') return editWarnings
    return wake === 'auto' || (wake === 'start' && (hook === 'start' || hook === 'end'))
  }
  return Object.entries(events).flatMap(([event, all]): [string, Json][] => {
    const values = all.filter(runs).map((hook) => value(commandOf(hook), hook))
    const matcher = matchers[event] && { matcher: matchers[event] }
    if (values.length === 0) return []
    return isGrouped ? [[event, { ...matcher, hooks: values }]] : values.map((value) => [event, value])
  })
}

/** The grid's entry in a client's configuration. */
export function serverEntry(name: ClientName, url: string, authorization: string | undefined): Json {
  const headers = authorization === undefined ? {} : { headers: { Authorization: authorization } }
  return programs[name].server.value(`${url}/mcp/v1/grid`, headers)
}

/** Builds a hook's command. Its text never changes, because some clients ask their user again when it does. */
function hookCommand(name: ClientName, { command, launcher, alias, url, folder }: Setup, hook: string): HookCommand {
  if (folder === undefined) {
    const words = [...command, 'hook', name, hook, '--as', alias, '--url', url]
    const line = shellLine(words)
    return { words, line, exec: `exec ${line}` }
  }
  // A project's files are also read by other people, whose machines may not have the program.
  const rest = ['hook', name, hook, '--project']
  if (process.platform === 'win32') {
    const words = ['cmd', '/d', '/c', portable(launcher, (variable) => `%${variable}%`).path, ...rest]
    return { words, line: shellLine(words), exec: '' }
  }
  const { variable, path } = portable(launcher, (variable) => `$${variable}`)
  const program = `"${path}"`
  // If the variable is empty, the command does nothing: the path would name another file, perhaps another user's.
  const isSet = variable === undefined ? '' : `test -n "$${variable}" && `
  const exec = `${isSet}test -x ${program} && exec ${program} ${rest.join(' ')}`
  return { words: ['sh', '-c', exec], line: `${exec}; exit 0`, exec }
}

/** Makes a path relative to a folder that an environment variable names. Other paths are unchanged. */
function portable(path: string, nameOf: (variable: string) => string): { variable: string | undefined; path: string } {
  const variables = ['AGENT_GRID_HOME', 'XDG_DATA_HOME', 'LOCALAPPDATA', 'USERPROFILE', 'HOME']
  const variable = variables.find((name) => process.env[name] && path.startsWith(process.env[name] + sep))
  const portablePath = variable === undefined ? path : nameOf(variable) + path.slice(process.env[variable]!.length)
  return { variable, path: portablePath }
}

/** The plugin file's text. It refers only to the installed plugin, so that the text never changes. */
function pluginText({ openCodePlugin, folder }: Setup): string {
  if (folder === undefined) return `export * from ${JSON.stringify(pathToFileURL(openCodePlugin).href)}\n`
  const { variable, path } = portable(openCodePlugin, (variable) => `\${process.env.${variable}}`)
  const isSet = variable === undefined ? '' : `process.env.${variable} && `
  return `import { existsSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

const path = \`${path.replaceAll('\\', '/')}\`
const plugin = ${isSet}existsSync(path) ? await import(pathToFileURL(path).href) : {}
export const AgentGrid = plugin.AgentGrid ?? (() => Promise.resolve({}))
`
}
