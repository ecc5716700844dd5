/** What marks a database that is being copied, and refuses a start on it. */
import type { Client } from '@libsql/client'
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
