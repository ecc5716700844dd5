/** What marks a database that is being copied, and refuses a start on it. */
import type { Client } from '@libsql/client'
import { existsSync } from 'node:fs'
import { copyingFile, restoringFile } from '../driver/local-file.ts'
import { StartError } from '../start-error.ts'

/** What is in a database while it is filled. A start refuses it then. */
export const unfinishedFact = 'copy_unfinished'
/** What is in a remote database while it is copied: until when no start may write to it, in milliseconds. */
export const copyingFact = 'copying_until'
/** Facts that no copy has. */
export const copyFacts = [unfinishedFact, copyingFact]

/** Fails with a `StartError` if the database is the target of a copy that did not end, or the source of one that runs. */
export async function requireNoCopy(client: Client, name: string, now: number): Promise<void> {
  const facts = await client.execute({
    sql: 'SELECT key, value FROM store_facts WHERE key IN (?, ?)',
    args: [unfinishedFact, copyingFact],
  }).then(({ rows }) => new Map(rows.map(({ key, value }) => [key, value])), (error) => {
    // A new database.
    if (/no such table/.test(String(error))) return new Map()
    throw error
  })
  if (facts.has(unfinishedFact)) {
    throw new StartError(
      'copy_unfinished',
      `${name} was not copied to its end. Empty it, and run "agent-grid copy" or "agent-grid restore" again.`,
    )
  }
  if (Number(facts.get(copyingFact) ?? 0) > now) {
    throw new StartError(
      'copy_running',
      `${name} is being copied to another database and takes no writes meanwhile. Wait a minute, and start again.`,
    )
  }
}

/**
 * Fails with a `StartError` if there is no file at `path`, and one is being made by a restore or a copy, or was when it was
 * killed: a start would begin an empty grid in its place.
 */
export function requireNoRestore(path: string): void {
  if (existsSync(path)) return
  const unfinished = [restoringFile(path), copyingFile(path)].find((file) => existsSync(file))
  if (unfinished === undefined) return
  throw new StartError(
    'copy_unfinished',
    `${path} is being restored or copied, or that was interrupted: there is ${unfinished}. Wait for its end, or run it ` +
      'again; or remove that file, and the next start makes a new grid.',
  )
}
