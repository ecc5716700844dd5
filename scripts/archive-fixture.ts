/**
 * `npm run lab -- archive-fixture`: writes an account's archive, plain and encrypted, into `test/fixtures/`. The files
 * are named after the format's version. Every later build imports them (`test/features/archives/fixtures.test.ts`). Run
 * it once per version, because a committed archive is never regenerated.
 */
import { existsSync, writeFileSync } from 'node:fs'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { writeNewFile, writeSealedFile } from '../src/store/backup/sealed-file.ts'
import { archiveVersion } from '../src/features/archives/store/validators.ts'
import {
  fillAccount,
  type Fixture,
  fixturePhrase,
  fixturesFolder,
  summaryOf,
} from '../test/support/archived-account.ts'
import { archiveOf, rowsOf } from '../test/support/archives.ts'
import { testGrid } from '../test/support/grid.ts'

const pathOf = (name: string) => fileURLToPath(new URL(`archive-${archiveVersion}${name}`, fixturesFolder))
if (existsSync(pathOf('.json'))) throw new Error(`There is an archive of version ${archiveVersion} already`)
const grid = await testGrid()
await fillAccount(grid)
const archive = await archiveOf(grid.store, grid.acme.id)
const people = rowsOf(archive).person.map(({ email, role }) => ({ email: String(email), role: String(role) }))
await writeNewFile(pathOf('.plain'), bytesOf(archive.text))
await writeSealedFile(pathOf('.sealed'), { passphrase: fixturePhrase }, bytesOf(archive.text))
const { fingerprint } = archive
const fixture: Fixture = { account: grid.acme.id, fingerprint, people, summary: await summaryOf(grid, grid.acme.id) }
writeFileSync(pathOf('.json'), `${JSON.stringify(fixture, null, 2)}\n`)
process.exit(0)

async function* bytesOf(text: string): AsyncIterable<Uint8Array<ArrayBuffer>> {
  yield new TextEncoder().encode(text)
}
