import { existsSync, readFileSync } from 'node:fs'
import process from 'node:process'
import type { Config } from '../../config.ts'
import { createKeyRing, isKeyRing, wrongKeys } from '../../lib/key-ring.ts'
import { day, hour, second } from '../../lib/time.ts'
import { fullVersion } from '../../lib/version.ts'
import { backupsIn, mayBeFolder } from '../../store/backup/files.ts'
import { localPath } from '../../store/driver/local-file.ts'
import { type DatabaseHealth, inspectDatabase } from '../../store/health.ts'
import { restoreKeyRing, StartError } from '../../store/start-error.ts'
import { CommandError, storeCommand } from '../command.ts'
import { askHolder, isInUse } from '../database-holder.ts'
import { checkAddresses, checkEmail, checkSettings, isPublic } from './settings.ts'
import { broken, type Finding, ok, skipped, warning } from './finding.ts'

interface InsideFacts {
  build: string
  database: DatabaseHealth
  settings: Pick<Config, 'host' | 'port' | 'durability' | 'minFreeMegabytes'>
  /** Findings about the server's settings. Most settings are not sent, because they may contain secrets. */
  findings: Finding[]
}

/** The facts that `agent-grid doctor` requests from a running server. */
export const lookInside = storeCommand({
  name: 'doctor',
  summary: 'Report what only the process that holds the database can see.',
  options: {},
  async run(store): Promise<{ [Fact in keyof InsideFacts]: InsideFacts[Fact] }> {
    const { config } = store.deps
    const { host, port, durability, minFreeMegabytes } = config
    const database = await store.health()
    return {
      build: fullVersion,
      database,
      settings: { host, port, durability, minFreeMegabytes },
      findings: await judgeSettings(config, process.env, database, store.keyRing.ids),
    }
  },
  print: JSON.stringify,
})

/** Makes the checks that only the process with these settings can make. `inUse`: the ids of the server's keys. */
export async function judgeSettings(
  config: Config,
  env: Record<string, string | undefined>,
  health: DatabaseHealth | undefined,
  inUse?: readonly string[],
): Promise<Finding[]> {
  return [
    ...checkSettings(env).findings,
    checkAddresses(config),
    ...(health ? [await checkKeyRing(config, health, inUse)] : []),
    await checkEmail(config),
    await checkBackups(config),
  ]
}

export interface LookedAt {
  findings: Finding[]
  health?: DatabaseHealth
  /** A server of another version reports only its build. */
  server?: Pick<InsideFacts, 'build'> & Partial<Pick<InsideFacts, 'settings' | 'findings'>>
}

export async function checkDatabase(config: Config, path: string | undefined, isFull: boolean): Promise<LookedAt> {
  if (path !== undefined && !existsSync(path)) {
    const action =
      'Start the grid, which creates the database. Or restore a backup, or set DATABASE_URL to the right database.'
    return { findings: [warning('database', `There is no database at ${path} yet.`, action)] }
  }
  try {
    return await inspectDatabase(config, Date.now, async ({ plan, health }): Promise<LookedAt> => {
      const { version, newest, missing } = await plan()
      if (missing.length === 0) return judge(await health(isFull))
      // The health queries require the newest schema.
      return {
        findings: [warning(
          'database',
          `The database has schema ${version}, and this program needs ${newest}.`,
          'The next start migrates it. Make a backup first. "agent-grid migrate --check" lists the steps.',
        )],
      }
    })
  } catch (error) {
    if (isInUse(error)) return await askServer(config, error as Error)
    if (!(error instanceof StartError)) throw error
    // The first sentence of the message names the problem. The others name the remedy.
    const [, found, action] = error.message.match(/^(.+?\.) ([A-Z].*)$/s) ?? [, error.message, 'See the log.']
    return { findings: [broken('database', found, action)] }
  }
}

/** Requests the checks from the server that holds the local file. */
async function askServer(config: Config, inUse: Error): Promise<LookedAt> {
  const server = await askHolder(config, inUse, lookInside, {}).catch((error) => {
    if (isInUse(error)) return undefined
    if (error instanceof CommandError) return { build: 'of another version' }
    throw error
  }) as InsideFacts | undefined
  if (!server) {
    const found = `${inUse.message.split('. ')[0]}. It does not accept commands.`
    const action = 'If it is not a server of this grid, stop it. Then run the doctor again to see the database itself.'
    return { findings: [broken('database', found, action)] }
  }
  if (server.build === fullVersion) return { ...judge(server.database), server }
  const { build } = server
  return { findings: [skipped('database', 'A server of another version holds the database.')], server: { build } }
}

function judge(health: DatabaseHealth): LookedAt {
  return { findings: [judgeIntegrity(health)], health }
}

function judgeIntegrity({ damage, danglingRows, writeMode }: DatabaseHealth): Finding {
  const restore = 'Stop the grid, keep a copy of the files, and restore a backup.'
  if (writeMode === null) return ok('database', 'The database has the schema of this program.')
  if (damage === null) {
    return skipped(
      'database',
      'The database has the schema of this program. It is too large to check completely here.',
      'Stop the grid, and run "agent-grid doctor --full"; which checks it completely. Every new backup is checked completely too.',
    )
  }
  if (damage.length > 0) return broken('database', `The database is damaged: ${damage[0]}`, restore)
  if (danglingRows! > 0) return broken('database', `References to missing rows: ${danglingRows}.`, restore)
  return ok('database', 'The database has the schema of this program, and is intact.')
}

export function checkConversations({ leftOut }: Pick<DatabaseHealth, 'leftOut'>): Finding {
  if (leftOut === 0) return ok('conversations', 'No message is missing from conversations, search and Network.')
  return warning(
    'conversations',
    `Rows missing from conversations, search or Network because of errors: ${leftOut}.`,
    'Run "agent-grid doctor --repair rebuild-conversations".',
  )
}

/** Checks whether the key ring (from the settings or next to the local file) has the keys of all stored tokens. */
export async function checkKeyRing(
  { gridKeys, databaseUrl }: Config,
  { keys, keyChecks }: Pick<DatabaseHealth, 'keys' | 'keyChecks'>,
  inUse?: readonly string[],
): Promise<Finding> {
  const path = localPath(databaseUrl)
  const keep = restoreKeyRing(gridKeys === undefined ? path && `${path}.keys` : undefined)
  const ring = gridKeys ?? (path && readRing(`${path}.keys`))
  if (ring !== undefined && !isKeyRing(ring)) {
    return broken('key_ring', 'The file next to the database is not a key ring.', keep)
  }
  const keyRing = createKeyRing(ring)
  const { ids } = keyRing
  const wrong = await wrongKeys(keyRing, keyChecks)
  if (wrong.length > 0) {
    return broken(
      'key_ring',
      `The key ring has different keys under ids that encrypted stored tokens: ${wrong.join(', ')}.`,
      keep,
    )
  }
  const missing = keys.filter(({ key }) => !ids.includes(key))
  if (missing.length > 0) {
    const names = missing.map(({ key, tokens }) => `${key} (stored tokens: ${tokens})`).join(', ')
    return broken('key_ring', `The key ring lacks keys: ${names}.`, keep)
  }
  if (inUse && inUse.join() !== ids.join()) {
    return warning('key_ring', 'The server uses a different key ring than the settings do.', 'Restart the grid.')
  }
  return ok('key_ring', 'The key ring has the keys of all stored tokens.')
}

/** Undefined if this user cannot read the file, which the file checks report. */
function readRing(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return undefined
  }
}

export async function checkBackups(config: Config): Promise<Finding> {
  if (config.backupDir === undefined) {
    const found = 'No backups are made here.'
    const action = 'Set BACKUP_DIR to a folder on another disk; see docs/operating/backups.md, "Backup and restore".'
    return isPublic(config) ? warning('backups', found, action) : ok('backups', found)
  }
  if (!mayBeFolder(config.backupDir)) {
    return broken('backups', `BACKUP_DIR is the file ${config.backupDir}.`, 'Set BACKUP_DIR to a folder.')
  }
  const [newest] = await backupsIn(config.backupDir)
  if (!newest) {
    const action = 'Check that the folder is right, and look for a failed backup in the log.'
    return warning('backups', 'BACKUP_DIR has no backup.', action)
  }
  const age = Date.now() - newest.at
  const found = `The newest backup is ${newest.path}, ${Math.floor(age / hour)} hours old.`
  return age > Math.max(2 * config.backupEverySeconds * second, day)
    ? warning('backups', found, 'Look for failed backups in the log.')
    : ok('backups', found)
}
