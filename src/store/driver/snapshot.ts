/** Reads a whole database as of one commit. */
import type { Client, Config, InValue, Value } from '@libsql/client'
import { openHttp, openWs, parseLibsqlUrl, type Stream } from '@libsql/hrana-client'

/** Runs a query. All queries see the same commit. */
export interface Snapshot {
  query(sql: string, args?: InValue[]): Promise<Value[][]>
  close(): void
}

interface SnapshotSettings {
  url: string
  authToken?: string
  /** Replaces `fetch` for requests to a remote database. */
  fetch?: Config['fetch']
}

/** A snapshot of a local file without other writers, so that every query sees the same commit. */
export function snapshotOf(client: Pick<Client, 'execute'>): Snapshot {
  return {
    query: async (sql, args = []) =>
      (await client.execute({ sql, args })).rows.map((row) => Array.from(row as ArrayLike<Value>)),
    close() {},
  }
}

/** A snapshot of a remote database: a read transaction on a separate stream. */
export async function openSnapshot(settings: SnapshotSettings): Promise<Snapshot> {
  const { hranaHttpUrl, hranaWsUrl, authToken = settings.authToken } = parseLibsqlUrl(settings.url)
  const client = hranaHttpUrl === undefined
    ? openWs(hranaWsUrl!, authToken)
    : openHttp(hranaHttpUrl, authToken, settings.fetch)
  client.intMode = 'number'
  const stream: Stream = client.openStream()
  const query = async (sql: string, args: InValue[] = []) => {
    const { rows } = await stream.query([sql, args as Value[]])
    return rows.map((row) => Array.from(row, (value) => value as Value))
  }
  await query('BEGIN')
  // A transaction sees the state of its first query.
  await query('SELECT count(*) FROM sqlite_master')
  return { query, close: () => client.close() }
}
