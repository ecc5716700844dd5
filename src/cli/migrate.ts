import { storeCommand } from './command.ts'
import { table } from './table.ts'

/** Opening the database migrates it. A running server did so at its start, and reports what it applied then. */
export const migrate = storeCommand({
  name: 'migrate',
  summary: 'Migrate the database to the newest schema. Every start does this too.',
  options: {},
  run: (store) => Promise.resolve({ applied: store.migrated, schema_version: store.schemaVersion }),
  print: (result) =>
    table([['Schema', result.schema_version], ['Applied', result.applied.join(' ') || 'nothing; it was up to date']]),
})
