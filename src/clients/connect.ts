/** What `connect` and `disconnect` do to the files of a client. */
import { homedir } from 'node:os'
import { join, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import {
  type Connection,
  type ConnectionPlace,
  isSamePlace,
  readConnections,
  type Scope,
  type Wake,
} from './connections.ts'
import { type FileChange, isChange, planRemoval, planWanted } from './files/change.ts'
import type { Entry, Insertion, Json, WantedFile, WrittenFile } from './files/written-file.ts'
import { checkInside } from './files/disk.ts'
import { installedProgram } from './installed-program.ts'
import { serverName, skill } from './primer.ts'
import { type ClientName, type HookCommand, programs, shellLine } from './programs.ts'
import { configFolder } from './state/paths.ts'

export interface Plan {
  /** What will be recorded in place of what was. */
  files: WrittenFile[]
  /** Only those that change something. */
  changes: FileChange[]
  /** What others changed since it was written, and what stays therefore. */
  left: string[]
}

export function setupOf(connection: Pick<Connection, 'client' | 'url' | 'alias' | 'key' | 'wake' | 'folder'>): Setup {
  const { client, url, alias, key, wake, folder } = connection
  const place = folder === undefined ? client : `${client}${folder.replace(/[^\w-]+/g, '-')}`
  return { url, alias, key, wake, folder, ...installedProgram(), keyFile: join(configFolder(), 'keys', place) }
}

/**
 * The changes that connect a client. `previous` is the connection that it has. Changes nothing. Fails with
 * `FileRefusedError` if a file cannot be edited.
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
    files: all.flatMap(({ written }) => written ? [withSharedFolders(written)] : []),
    changes: all.filter(isChange),
    left: leftOf(removals),
  }
}

/** The changes that take out what was written for a client. Changes nothing. Fails with `FileRefusedError`. */
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

/** Some clients read the same skills. The file goes with the last connection that has it. */
function isSharedWithOthers({ path, format }: WrittenFile, connection: Connection): boolean {
  return format === 'own' &&
    readConnections().some((other) => !isSamePlace(other, connection) && other.files.some((file) => file.path === path))
}

/** Folders that were made for another client too are removed with the last file in them. */
function withSharedFolders(file: WrittenFile): WrittenFile {
  const made = new Set(readConnections().flatMap(({ files }) => files.flatMap(({ folders }) => folders)))
  const shared = [...made].filter((folder) => file.path.startsWith(folder + sep) && !file.folders.includes(folder))
  return { ...file, folders: [...file.folders, ...shared].toSorted((a, b) => a.length - b.length) }
}

function leftOf(changes: readonly FileChange[]): string[] {
  return changes.flatMap(({ path, left }) => left.map((place) => `${path}: ${place}`))
}

export interface Setup extends Pick<Connection, 'url' | 'alias' | 'key' | 'wake' | 'folder'> {
  /** What runs the client program, before its words. */
  command: readonly string[]
  openCodePlugin: string
  /** Where a key can be kept in a file of its own, for clients that read one. */
  keyFile: string
}

/** For the user or for a project. A project's files are shared with others, so they get no key. */
function scopeOf({ folder }: Pick<Setup, 'folder'>): Scope {
  return folder === undefined ? 'user' : 'project'
}

/** The files of a client, in the order in which they are written. */
function wantedFiles(name: ClientName, setup: Setup): WantedFile[] {
  const { folder, keyFile, key } = setup
  const { folder: ofUser, projectFolder, server, hooks, plugin, sharedFolder } = programs[name]
  const own = folder === undefined ? ofUser() : join(folder, projectFolder)
  const shared = sharedFolder === undefined
    ? own
    : folder === undefined
    ? sharedFolder.user()
    : join(folder, sharedFolder.project)
  const files: WantedFile[] = server.key === 'file' ? [{ path: keyFile, format: 'own', text: key, hasKey: true }] : []
  const tools = serverFile(name, setup, own)
  files.push(tools)
  if (hooks && setup.wake !== 'off') {
    const path = hooks.file(shared, folder)
    const values = hookValues(name, setup.wake, (hook) => hookCommand(name, setup, hook))
    const entries = values.map(([event, value]) => ({ container: ['hooks', event], value }))
    if (hooks.ownFile) {
      const lists = Object.fromEntries(values.map(([event, value]) => [event, [value]]))
      files.push({ path, format: 'own', text: `${JSON.stringify({ ...hooks.ownFile, hooks: lists }, null, 2)}\n` })
    } else if (tools.path === path) tools.entries.push(...entries)
    else files.push({ path, format: 'json', entries, ...(hooks.base && { base: hooks.base }) })
  }
  if (plugin !== undefined && setup.wake !== 'off') {
    // It only names the installed one, so that it never changes.
    const text = `export * from ${JSON.stringify(pathToFileURL(setup.openCodePlugin).href)}\n`
    files.push({ path: join(own, plugin), format: 'own', text })
  }
  return [...files, { path: join(shared, 'skills', serverName, 'SKILL.md'), format: 'own', text: skill() }]
}

/** What is left for a person; it does not work before. In whole sentences. */
export function stepsOf(name: ClientName, { folder, wake }: Pick<Setup, 'folder' | 'wake'>): string[] {
  const { login, approval } = programs[name]
  return [...(folder !== undefined && login ? [login] : []), ...(wake !== 'off' && approval ? [approval] : [])]
}

/** How a client is told of messages, in one sentence. */
export function wakeSentence(name: ClientName, wake: Wake): string {
  if (wake === 'auto') return programs[name].wakes
  return wake === 'start' ? 'It is told of unread messages when a session begins.' : 'It is not told of messages.'
}

/** What stands below each event in the hooks of a client. */
export function hookValues(
  name: ClientName,
  wake: Wake,
  commandOf: (hook: string) => HookCommand,
): [event: string, value: Json][] {
  const { events, isGrouped, value } = programs[name].hooks!
  return Object.entries(events).flatMap(([event, all]): [string, Json][] => {
    const hooks = all.filter((hook) => wake === 'auto' || hook === 'start' || hook === 'end')
    const values = hooks.map((hook) => value(commandOf(hook), hook))
    if (values.length === 0) return []
    return isGrouped ? [[event, { hooks: values }]] : values.map((value) => [event, value])
  })
}

/** The entry of the grid in the configuration of a client. */
export function serverEntry(name: ClientName, url: string, authorization: string | undefined): Json {
  const headers = authorization === undefined ? {} : { headers: { Authorization: authorization } }
  return programs[name].server.value(`${url}/mcp/v1/grid`, headers)
}

function serverFile(
  name: ClientName,
  { url, key, keyFile, folder }: Setup,
  own: string,
): WantedFile & { entries: Entry[] } {
  const { server } = programs[name]
  const hasKey = server.key === 'always' || server.key === 'user' && folder === undefined
  const authorization = server.key === 'file' ? `Bearer {file:${keyFile}}` : hasKey ? `Bearer ${key}` : undefined
  const entry: Entry = {
    container: server.container(folder),
    name: serverName,
    value: serverEntry(name, url, authorization),
  }
  return {
    path: server.file(own, folder),
    format: server.format ?? 'json',
    entries: [entry],
    ...(hasKey && { hasKey }),
  }
}

/** The words are the same every time, because some clients ask their user again when they change. */
function hookCommand(name: ClientName, { command, alias, url }: Setup, hook: string): HookCommand {
  const words = [...command, 'hook', name, hook, '--as', alias, '--url', url]
  return { words, line: shellLine(words) }
}

/** Of a file that is new or removed as a whole, no more is shown. */
const shownLines = 12

export function differenceOf(changes: readonly FileChange[], secrets: readonly string[]): string {
  const text = changes.map(fileDifference).join('\n\n')
  return secrets.filter(Boolean).reduce((shown, secret) => shown.replaceAll(secret, masked(secret)), text)
}

function shortPath(path: string): string {
  const home = homedir()
  return path.startsWith(home + sep) ? `~${path.slice(home.length)}` : path
}

function fileDifference(change: FileChange): string {
  const { path, current, next, mode, oldMode, written, removed } = change
  if (!isChange(change)) return `${shortPath(path)} stays as it is`
  const what = next === undefined ? 'is removed' : current === undefined ? 'is new' : 'is changed'
  const narrowed = oldMode !== undefined && mode !== undefined
    ? `; only you can read it from now on, because it has a key (${octal(oldMode)} becomes ${octal(mode)})`
    : ''
  const taken = removed ? marked('-', current ?? '', removed) : []
  const put = written && next !== current ? marked('+', next ?? '', written) : []
  return [`${shortPath(path)} ${what}${narrowed}`, ...taken, ...put].join('\n')
}

function marked(sign: '+' | '-', whole: string, { format, insertions }: WrittenFile): string[] {
  const texts = format === 'own' ? [whole] : inserted(insertions)
  const lines = texts.flatMap((text) => text.split(/\r?\n/)).filter((line) => !/^\s*,?\s*$/.test(line))
  const more = format === 'own' && lines.length > shownLines ? lines.length - shownLines : 0
  const shown = more === 0 ? lines : lines.slice(0, shownLines)
  return [...shown.map((line) => `  ${sign} ${line}`), ...(more === 0 ? [] : [`  ${sign} … ${more} more lines`])]
}

/** The pieces of a file that were put in, in its order. An insertion may stand within one before it. */
function inserted(insertions: readonly Insertion[]): string[] {
  let pieces: Insertion[] = []
  for (const { at, text } of insertions) {
    const isAround = (piece: Insertion) => piece.at < at && at <= piece.at + piece.text.length
    const around = pieces.find(isAround)
    pieces = pieces.map((piece) =>
      piece === around
        ? { at: piece.at, text: piece.text.slice(0, at - piece.at) + text + piece.text.slice(at - piece.at) }
        : piece.at < at
        ? piece
        : { at: piece.at + text.length, text: piece.text }
    )
    if (around === undefined) pieces.push({ at, text })
  }
  return pieces.sort((a, b) => a.at - b.at).map(({ text }) => text)
}

function masked(secret: string): string {
  return `${secret.match(/^[a-z]+_[a-z]+_/)?.[0] ?? ''}…${secret.slice(-4)}`
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, '0')
}
