import { existsSync } from 'node:fs'
import type { Config } from '../../config.ts'
import { type DatabaseHealth, inspectDatabase } from '../../store/health.ts'
import { StartError } from '../../store/start-error.ts'
import { CommandError } from '../command.ts'
import { askHolder, isInUse } from '../run-store-command.ts'
import { broken, type Finding, ok, skipped, warning } from './finding.ts'
import { build, type InsideFacts, lookInside } from './inside.ts'

/** What was found of the database, and of the server that has it. */
export interface LookedAt {
  findings: Finding[]
  /** Undefined if it could not be read. */
  health?: DatabaseHealth
  server?: Pick<InsideFacts, 'build' | 'keyIds'>
}

/** Whether the database can be opened, has the schema of this program, and is whole. */
export async function checkDatabase(config: Config, path: string | undefined, isFull: boolean): Promise<LookedAt> {
  if (path !== undefined && !existsSync(path)) {
    const action = 'Start the grid, which makes it; or restore a backup; or set DATABASE_URL to the one that you mean.'
    return { findings: [warning('database', `There is no database at ${path} yet.`, action)] }
  }
  try {
    return await inspectDatabase(config, Date.now, async ({ plan, health }): Promise<LookedAt> => {
      const { version, newest, missing } = await plan()
      if (missing.length === 0) return judge(await health(isFull))
      // The queries are those of the newest schema.
      return {
        findings: [warning(
          'database',
          `The database has schema ${version}, and this program ${newest}.`,
          'The next start migrates it. Make a backup; "agent-grid migrate --check" names the steps.',
        )],
      }
    })
  } catch (error) {
    if (isInUse(error)) return await askServer(config, error as Error)
    if (!(error instanceof StartError)) throw error
    // The first sentence says what is wrong, the others what to do.
    const [, found, action] = error.message.match(/^(.+?\.) ([A-Z].*)$/s) ?? [, error.message, 'See the log.']
    return { findings: [broken('database', found, action)] }
  }
}

/** A server holds the local file. */
async function askServer(config: Config, inUse: Error): Promise<LookedAt> {
  const server = await askHolder(config, inUse, lookInside, {}).catch((error) => {
    if (isInUse(error)) return undefined
    if (error instanceof CommandError) return { build: 'of another version' }
    throw error
  }) as InsideFacts | undefined
  if (!server) {
    const found = `${inUse.message.split('. ')[0]}. It answers no commands.`
    const action = 'If it is no server of this grid, end it. Then run the doctor again to see the database itself.'
    return { findings: [broken('database', found, action)] }
  }
  if (server.build === build) return { ...judge(server.database), server }
  return { findings: [skipped('database', 'A server of another version has the database.')], server }
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
      'The database has the schema of this program. It is too large to be read whole on the way.',
      'Stop the grid, and run "agent-grid doctor --full"; backups are checked whole when they are made.',
    )
  }
  if (damage.length > 0) return broken('database', `The database is damaged: ${damage[0]}`, restore)
  if (danglingRows! > 0) return broken('database', `References to missing rows: ${danglingRows}.`, restore)
  return ok('database', 'The database has the schema of this program, and is whole.')
}
