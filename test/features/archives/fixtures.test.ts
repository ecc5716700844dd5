/**
 * Archives of earlier builds are imported without loss. `npm run lab -- archive-fixture` creates one for the current
 * version.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { archiveVersion } from '../../../src/features/archives/store/validators.ts'
import { readSealedFile } from '../../../src/store/backup/sealed-file.ts'
import { type Fixture, fixturePhrase, fixturesFolder, summaryOf } from '../../support/archived-account.ts'
import { type Archive, archiveOf, importInto, linesOf, textOf } from '../../support/archives.ts'
import { emptyGrid, type TestGrid } from '../../support/grid.ts'
import { acceptAs } from '../../support/people.ts'

const pathOf = (version: string, kind: string) => fileURLToPath(new URL(`archive-${version}.${kind}`, fixturesFolder))
const versions = readdirSync(fixturesFolder).flatMap((name) => /^archive-(\d+)\.json$/.exec(name)?.[1] ?? [])
const fixtureOf = (version: string): Fixture => JSON.parse(readFileSync(pathOf(version, 'json'), 'utf8'))

const readers = {
  plain: (version: string) => Promise.resolve(readFileSync(pathOf(version, 'plain'), 'utf8')),
  encrypted: (version: string) => textOf(readSealedFile(pathOf(version, 'sealed'), { passphrase: fixturePhrase })),
}

/** Opens a grid that contains only an archive's account. The grid's clock shows the time of the export. */
async function gridOf(archive: Archive) {
  const grid = await emptyGrid()
  grid.clock.now = Date.parse(JSON.parse(archive.text.split('\n')[0]).made_at)
  return { grid: grid as TestGrid, imported: await importInto(grid.store, archive) }
}

test('every version of the archive format has a fixture', () => {
  expect(versions.map(Number).sort((a, b) => a - b)).toEqual(Array.from({ length: archiveVersion }, (_, n) => n + 1))
})

test.for(versions.flatMap((version) => (['plain', 'encrypted'] as const).map((kind) => [version, kind] as const)))(
  'an import restores the agents, messages, tasks and files of an archive of version %s (%s)',
  async ([version, kind]) => {
    const { account, fingerprint, people, summary } = fixtureOf(version)
    const { grid, imported } = await gridOf({ text: await readers[kind](version), fingerprint })

    expect(imported.invitations.map(({ email, role }) => ({ email, role }))).toEqual(people)
    expect(imported.keys.map(({ alias }) => alias).sort()).toEqual(['acme-desk', 'alice', 'bob'])
    await acceptAs(grid, imported.invitations.find(({ role }) => role === 'owner')!)
    expect(await summaryOf(grid, account)).toEqual(summary)
    const limits = await grid.store.account(account, { type: 'system', job: 'test' }).read.turns.limits()
    expect(limits.perHour).toBe(500)
  },
)

test('exporting an imported account gives the lines of its archive', async () => {
  const version = String(archiveVersion)
  const { account, fingerprint } = fixtureOf(version)
  const archive = { text: await readers.plain(version), fingerprint }
  const { grid } = await gridOf(archive)

  const again = linesOf(await archiveOf(grid.store, account)).filter((line) => !line.includes('"import-account"'))

  // Not compared: people's lines, because people are invited, and the manifest, because other accounts are missing.
  const isKept = (line: string) => !/^(\{|\["person")/.test(line)
  expect(again.filter(isKept)).toEqual(linesOf(archive).filter(isKept))
  const [before, after] = [archive.text, again[0]].map((text) => JSON.parse(text.split('\n')[0]))
  expect(after).toEqual({ ...before, program: after.program, made_at: after.made_at, left_out: after.left_out })
})
