/** What a client is to have in its files, made from its row. */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Connection, Scope, Wake } from './connections.ts'
import type { Entry, Json, WantedFile } from './files/written-file.ts'
import { serverName, skill } from './primer.ts'
import { type ClientName, type HookCommand, programs, shellLine } from './programs.ts'

export interface Setup extends Pick<Connection, 'url' | 'alias' | 'key' | 'wake' | 'folder'> {
  /** What runs the client program, before its words. */
  command: readonly string[]
  openCodePlugin: string
  /** Where a key can be kept in a file of its own, for clients that read one. */
  keyFile: string
}

/** For the user or for a project. A project's files are shared with others, so they get no key. */
export function scopeOf({ folder }: Pick<Setup, 'folder'>): Scope {
  return folder === undefined ? 'user' : 'project'
}

/** The files of a client, in the order in which they are written. */
export function wantedFiles(name: ClientName, setup: Setup): WantedFile[] {
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
