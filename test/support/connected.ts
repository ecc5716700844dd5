/** Clients that are connected without a grid: only their files exist. */
import { placeOf, planConnect, planDisconnect, setupOf } from '../../src/clients/connect.ts'
import type { Connection } from '../../src/clients/connections.ts'
import { applyChanges } from '../../src/clients/files/change.ts'
import type { ClientName } from '../../src/clients/programs.ts'

/** The content that would be written for `@ann`. */
export function planFor(client: ClientName, changes: Partial<Connection> = {}, previous?: Connection) {
  const connection = {
    ...placeOf(client, changes.folder),
    url: 'https://grid.example',
    alias: '@ann',
    key: `grid_agt_${'k'.repeat(49)}`,
    wake: 'auto' as const,
    ...changes,
  }
  const plan = planConnect(client, setupOf(connection), previous)
  return { plan, connection: { ...connection, keyName: 'x', isOwnKey: true, at: '', files: plan.files } }
}

/** Writes a client's files. Returns its connection, which is not saved. */
export function connectFiles(client: ClientName, changes: Partial<Connection> = {}, previous?: Connection): Connection {
  const { plan, connection } = planFor(client, changes, previous)
  applyChanges(plan.changes)
  return connection
}

/** Removes what was written. Returns what remains because it was changed since. */
export function disconnectFiles(connection: Connection): string[] {
  const { changes, left } = planDisconnect(connection)
  applyChanges(changes)
  return left
}
