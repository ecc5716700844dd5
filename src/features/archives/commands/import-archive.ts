/** Reads an archive twice: once to check all of it, and once to send its rows to the grid. */
import { checkNewAlias } from '../../../aliases.ts'
import { printableLine } from '../../../lib/redact.ts'
import { archivedTables } from '../store/tables.ts'
import { archiveFormat, checkArchived, checkArchivedLine, checkVersion, personRecord } from '../store/validators.ts'
import type { ArchiveManifest } from '../store/write-rows.ts'
import { beginImportCommand, endImportCommand, importRowsCommand } from './asked.ts'
import { CommandError, type CommandResult, type StoreCommand, usageError } from '../../../cli/command.ts'
import { table } from '../../../cli/tables.ts'

export type Ask = (command: StoreCommand, args: Record<string, string>) => Promise<CommandResult>

interface ImportOptions {
  /**
   * Calls `onLine` for every line except the last. Resolves to the signed list if the signature covers the complete
   * archive, and fails otherwise.
   */
  read(onLine: (line: string) => void | Promise<void>): Promise<string>
  /** Entries of the form `OLD=NEW`. */
  renames: string[]
  reserved: readonly string[]
  now: number
}

interface ArchivedAgent {
  id: string
  alias: string
  type: string
  remote_url: string | null
  deleted_at: number | null
}

/** The part of an archive that is kept in memory. */
interface Content {
  manifest: ArchiveManifest
  agents: ArchivedAgent[]
  people: unknown[]
  /** Names of guardrails that call a service. Their tokens may have to be entered again. */
  services: string[]
  providers: Set<string>
}

interface Imported extends Record<string, unknown> {
  account_id: string
  left_out: Record<string, number>
  keys: { alias: string; api_key: string }[]
  invitations: { email: string; role: string; url: string }[]
  /** Aliases of agents, and names of guardrails, whose tokens may have to be entered again. */
  paused_agents: string[]
  guardrails: string[]
}

/** Rows are sent in units. A unit is full when it reaches either limit. */
const unitLines = 100
const unitChars = 128 * 1024

/** Records that are stored in the same unit as the record before them, such as a message's deliveries. */
const childRecords = new Set(archivedTables.flatMap(({ children = [] }) => children.map((child) => child.table.record)))

/**
 * Imports an archive. Fails with `names_taken` before it writes anything, and with the errors of `read` and of the
 * grid.
 */
export async function importArchive(ask: Ask, { read, renames, reserved, now }: ImportOptions): Promise<Imported> {
  const { list, content: { manifest, agents, people, services, providers } } = await examine(read, now)
  const renamed = renamedAgents(agents, renames, reserved)
  const aliasOf = ({ id, alias }: ArchivedAgent) => renamed.get(id) ?? alias
  const live = agents.filter((agent) => agent.deleted_at === null)
  if (new Set(live.map(aliasOf)).size < live.length) throw notAnArchive()
  const account = String(manifest.account.id)

  const start = {
    ...{ manifest, list, providers: [...providers] },
    ...{ agents: agents.map(({ id }) => id), aliases: agents.map(aliasOf) },
  }
  const { taken } = await ask(beginImportCommand, { input: JSON.stringify(start) })
  refuseTaken(taken as { kind: string; name: string }[])
  const again = await sendRows(ask, read, account, list)
  if (again !== list) throw new CommandError('archive_changed', 'The archive was changed while it was imported.')
  const end = {
    ...{ account, list, people, renamed: [...renamed] },
    agents: live.map(({ id }) => id),
    withKeys: live.filter(({ type, remote_url }) => type !== 'human' && type !== 'hook' && remote_url === null)
      .map((agent) => [agent.id, aliasOf(agent)]),
  }
  const { keys, invitations } = await ask(endImportCommand, { input: JSON.stringify(end) })
  return {
    account_id: account,
    left_out: manifest.left_out,
    keys: keys as Imported['keys'],
    invitations: invitations as Imported['invitations'],
    paused_agents: live.filter(({ remote_url }) => remote_url !== null).map(aliasOf),
    guardrails: services,
  }
}

/** Validates every line, because the signature alone does not make the archive trustworthy. */
async function examine(read: ImportOptions['read'], now: number): Promise<{ list: string; content: Content }> {
  const content: Partial<Content> & Omit<Content, 'manifest'> = {
    ...{ agents: [], people: [], services: [], providers: new Set() },
  }
  let fault: unknown
  const list = await read((line) => {
    if (fault !== undefined) return
    try {
      examineLine(line)
    } catch (error) {
      fault = error
    }
  })
  // A signature error takes precedence over invalid content.
  if (fault !== undefined) throw fault
  if (content.manifest === undefined) throw notAnArchive()
  return { list, content: content as Content }

  function examineLine(line: string): void {
    if (content.manifest === undefined) {
      content.manifest = manifestOf(line)
      checkArchived('account', content.manifest.account, now)
      return
    }
    const [record, row] = checkArchivedLine(line, now)
    // Only agents, guardrails and people are kept in memory, because an archive may be larger than the memory.
    if (record === 'agent') {
      const { id, alias, type, remote_url, deleted_at } = row as unknown as ArchivedAgent
      content.agents.push({ id, alias, type, remote_url, deleted_at })
    } else if (record === 'guardrail') {
      if (row.host !== null) content.services.push(String(row.name))
      content.providers.add(String(row.provider))
    } else if (record === personRecord) {
      content.people.push(row)
    }
  }
}

function isPerson(line: string): boolean {
  return line.startsWith(`["${personRecord}",`)
}

/** Parses the manifest. Fails with `not_an_archive`, or like `checkVersion`. */
function manifestOf(line: string): ArchiveManifest {
  let manifest: ArchiveManifest
  try {
    manifest = Object(JSON.parse(line))
  } catch {
    throw notAnArchive()
  }
  // Before version 1, the first line had `agent_grid_archive` instead of `format`.
  if (manifest.format !== archiveFormat && !('agent_grid_archive' in manifest)) throw notAnArchive()
  checkVersion(manifest.version)
  const isCount = ([what, n]: [string, unknown]) => /^[a-z_]{1,80}$/.test(what) && Number.isSafeInteger(n)
  if (!Object.entries(Object(manifest.left_out)).every(isCount)) throw notAnArchive()
  return manifest
}

function notAnArchive(): CommandError {
  return new CommandError('not_an_archive', 'The file is not an archive made by export-account.')
}

/** The new aliases of renamed agents, by agent id. Fails with `usage`. */
function renamedAgents(agents: ArchivedAgent[], renames: string[], reserved: readonly string[]): Map<string, string> {
  const renamed = new Map<string, string>()
  for (const rename of renames) {
    const [old, alias, ...more] = rename.split('=').map((name) => name.trim().replace(/^@/, ''))
    const found = agents.filter((agent) => agent.alias === old)
    if (alias === undefined || more.length > 0 || found.length === 0) {
      throw usageError(`--rename ${rename}: give OLD=NEW, where OLD is an alias in the archive.`)
    }
    for (const { id } of found) renamed.set(id, checkNewAlias(alias, reserved))
  }
  return renamed
}

function refuseTaken(taken: { kind: string; name: string }[]): void {
  if (taken.length === 0) return
  const names = taken.map(({ kind, name }) => kind === 'alias' ? `alias @${name}` : `${kind} ${name}`)
  const isAlias = taken.every(({ kind }) => kind === 'alias')
  const help = isAlias
    ? 'Give these agents other aliases: --rename OLD=NEW for each.'
    : 'An account or agent that already exists on the grid cannot be imported again.'
  throw new CommandError(
    'names_taken',
    `Nothing was imported, because the grid has or reserves: ${names.join(', ')}. ${help}`,
  )
}

async function sendRows(ask: Ask, read: ImportOptions['read'], account: string, list: string): Promise<string> {
  let rows: string[] = []
  let chars = 0
  const send = async () => {
    if (rows.length > 0) await ask(importRowsCommand, { account, list, rows: rows.join(',') })
    rows = []
    chars = 0
  }
  let isManifest = true
  const found = await read(async (line) => {
    if (isManifest || isPerson(line)) {
      isManifest = false
      return
    }
    const isFull = rows.length >= unitLines || chars >= unitChars
    if (isFull && !childRecords.has(line.slice(2, line.indexOf('"', 2)))) await send()
    rows.push(line)
    chars += line.length
  })
  await send()
  return found
}

/** Formats the result as text. The keys and links are shown only this once. */
export function printImported(
  { account_id, keys, invitations, paused_agents, guardrails, left_out }: Imported,
): string {
  const missing = Object.entries(left_out).filter(([, count]) => count > 0)
  return [
    table([['Account', account_id], ...keys.map(({ alias, api_key }) => [`@${alias}`, api_key] as const)]),
    ...invitations.map(({ email, role, url }) => `Invite ${email} as ${role}, within 30 days: ${url}`),
    'Keys and links are not shown again.',
    ...paused_agents.map((alias) => `@${alias} is paused: enter its token, and resume it.`),
    ...guardrails.map((name) =>
      `The guardrail ${printableLine(name, 100)} asks a service: enter its token if it needs one.`
    ),
    ...missing.map(([what, count]) => `Not in the archive: ${count} ${what.replaceAll('_', ' ')}.`),
  ].join('\n')
}
