/** Commands that the program suggests to the operator. */
import { expect, test } from 'vitest'
import { ownCommandLine } from '../../src/cli/own-command.ts'
import { runCommand } from '../support/process.ts'
import { useDatabase } from '../support/use-database.ts'

const database = useDatabase()

test.each([
  ['file:./data/grid.db', 'npm run -s grid -- serve'],
  ['file:/srv/grid.db', 'DATABASE_URL=file:/srv/grid.db npm run -s grid -- serve'],
  ["file:/srv/it's mine.db", "DATABASE_URL='file:/srv/it'\\''s mine.db' npm run -s grid -- serve"],
  ['libsql://ann:secret@grid.example', 'DATABASE_URL=libsql://grid.example npm run -s grid -- serve'],
  [
    'libsql://localhost:8080?authToken=secret&tls=0',
    "DATABASE_URL='libsql://localhost:8080?tls=0' npm run -s grid -- serve",
  ],
])('a suggested command names the database %s, without its credentials', (url, line) => {
  expect(ownCommandLine('serve', url)).toBe(line)
})

test('the command suggested after creating the first account works on the same database', async () => {
  const { stdout } = await runCommand(
    'bun',
    ['create-account', '--name', 'Acme', '--owner-email', 'ann@acme.example', '--new'],
    { DATABASE_URL: database.url },
  )

  expect(stdout).toContain(`Next: DATABASE_URL=${database.url} npm run -s grid -- create-agent --account `)
})
