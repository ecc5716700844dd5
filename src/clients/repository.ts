/**
 * The git repository around a folder. It determines the space and the file names of reservations. See
 * docs/protocol/reservations.md, "On the command line".
 */
import { existsSync, readFileSync, type Stats, statSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { normaliseSpace } from '../lib/name-patterns.ts'

/** The root of the git repository around a folder. */
export function repositoryRoot(folder: string): string | undefined {
  if (existsSync(join(folder, '.git'))) return folder
  const parent = dirname(folder)
  return parent === folder ? undefined : repositoryRoot(parent)
}

/** Host and path of the remote `origin`, otherwise of the first remote. Undefined without a repository or a remote. */
export function spaceOf(folder: string): string | undefined {
  const root = repositoryRoot(folder)
  if (root === undefined) return undefined
  const urls = remotesOf(readConfig(root))
  const url = urls.get('origin') ?? [...urls.values()][0]
  if (url === undefined) return undefined
  const isPath = /^(?:[a-z]:[\\/]|[^:]*$|[^:/]*\/)/i.test(url)
  return normaliseSpace(isPath ? resolve(root, url) : url) || undefined
}

/**
 * Converts a name or pattern that is relative to `folder` into one that is relative to the repository. A folder name
 * stands for all files in the folder. Other names (files outside the repository, tickets, URLs) are unchanged.
 */
export function nameInRepository(given: string, folder: string): string {
  const root = repositoryRoot(folder)
  const path = resolve(folder, given.replaceAll('\\', '/'))
  const found = entryAt(path)
  if (root === undefined || /^\w+:\/\//.test(given) || (!found && !/[/\\.*?]/.test(given))) return given
  const name = relative(root, path).replaceAll(sep, '/')
  if (/^(?:\.\.(?:\/|$)|\/|[a-z]:\/)/i.test(name)) return given
  return found?.isDirectory() ? `${name}/**`.replace(/^\//, '') : name
}

/** The file or folder at a path. Undefined also if the system refuses the path, such as one inside a file. */
function entryAt(path: string): Stats | undefined {
  try {
    return statSync(path)
  } catch {
    return undefined
  }
}

/** In a worktree or submodule, `.git` is a file. A worktree uses the configuration of its repository. */
function readConfig(root: string): string {
  try {
    const path = join(root, '.git')
    const isFolder = statSync(path).isDirectory()
    const folder = isFolder ? path : resolve(root, /^gitdir: *(.+)$/m.exec(readFileSync(path, 'utf8'))![1].trim())
    const common = join(folder, 'commondir')
    const shared = existsSync(common) ? resolve(folder, readFileSync(common, 'utf8').trim()) : folder
    return readFileSync(join(shared, 'config'), 'utf8')
  } catch {
    return ''
  }
}

/** Each remote's first URL, by name. @see https://git-scm.com/docs/git-config#_configuration_file */
function remotesOf(config: string): Map<string, string> {
  const urls = new Map<string, string>()
  let remote: string | undefined
  for (const text of config.split(/\r?\n/)) {
    const [, header, section, name] = /^\s*(\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\])/.exec(text) ?? []
    if (header !== undefined) remote = section.toLowerCase() === 'remote' ? name : undefined
    const [, value] = /^\s*(?:\[.*\]\s*)?url\s*=(.*)$/i.exec(text) ?? []
    if (remote !== undefined && value !== undefined && !urls.has(remote)) urls.set(remote, plainValue(value))
  }
  return urls
}

/** A value without quotes, escapes and comment. */
function plainValue(text: string): string {
  const parts = /"((?:[^"\\]|\\.)*)"|[#;].*$|\\(.)/g
  return text.replace(parts, (_, quoted = '', escaped = '') => quoted.replace(/\\(.)/g, '$1') + escaped).trim()
}
