/** Connected clients without a grid. Only the clients' files exist. */
import { placeOf, planConnect, planDisconnect, setupOf } from '../../src/clients/connect.ts'
import type { Connection } from '../../src/clients/connections.ts'
import { applyChanges } from '../../src/clients/files/change.ts'
import type { ClientName } from '../../src/clients/programs.ts'

/** Plans the changes that connect a client as `@ann`. */
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

/** Writes a client's files. Returns the connection without saving it. */
export function connectFiles(client: ClientName, changes: Partial<Connection> = {}, previous?: Connection): Connection {
  const { plan, connection } = planFor(client, changes, previous)
  applyChanges(plan.changes)
  return connection
}

/** Removes a client's entries. Returns the entries that stay because they were changed. */
export function disconnectFiles(connection: Connection): string[] {
  const { changes, left } = planDisconnect(connection)
  applyChanges(changes)
  return left
}
