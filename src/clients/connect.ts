/** What `connect` and `disconnect` do to the files of a client. */
import { join, sep } from 'node:path'
import { type Connection, type ConnectionPlace, isSamePlace, readConnections } from './connections.ts'
import { type FileChange, isChange, planRemoval, planWanted } from './files/change.ts'
import { checkInside } from './files/disk.ts'
import type { WrittenFile } from './files/written-file.ts'
import { installedProgram } from './installed-program.ts'
import type { ClientName } from './programs.ts'
import { configFolder } from './state/paths.ts'
import { scopeOf, type Setup, wantedFiles } from './wanted-files.ts'

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
