/** How `backup`, `restore` and other commands report that a file or grid is missing. */
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { afterEach, expect, test, vi } from 'vitest'
import { newFileKey } from '../../src/cli/backup-files.ts'
import { backup } from '../../src/cli/backup.ts'
import { emptyGrid } from '../support/grid.ts'
import { runCommand } from '../support/process.ts'
import { useDatabase } from '../support/use-database.ts'

const database = useDatabase()
afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
})

/** Runs the command on Bun, which starts fastest. Resolves to the error. */
async function refusal(...words: string[]) {
  const { stdout } = await runCommand('bun', [...words, '--json'], { DATABASE_URL: database.url })
  return JSON.parse(stdout).error
}

test('restore reports that the file is missing or is a folder', async () => {
  expect(await refusal('restore', join(database.folder, 'none'))).toEqual({
    code: 'no_file',
    message: `There is no file ${database.folder}/none. Give the path of a backup file.`,
  })
  expect(await refusal('restore', database.folder)).toMatchObject({
    code: 'no_file',
    message: expect.stringContaining('is a folder'),
  })
})

test('a new backup needs a passphrase of 12 characters, or --plain', () => {
  const keyOf = (key?: string) => () => newFileKey({ key })

  expect(keyOf()).toThrow('Give a passphrase in BACKUP_KEY')
  expect(keyOf('eleven char')).toThrow('The passphrase of a backup has at least 12 characters.')
  expect(keyOf(' twelve chars ')()).toEqual({ passphrase: 'twelve chars' })
  expect(newFileKey({ plain: 'yes' })).toBe('plain')
})

test('backup reports a problem with its path before it opens the database', async () => {
  const closed = join(database.folder, 'closed')
  mkdirSync(closed)
  chmodSync(closed, 0o500)

  expect(await refusal('backup', join(database.folder, 'no', 'b'), '--plain')).toEqual({
    code: 'no_folder',
    message: `There is no folder ${database.folder}/no. Create it first, or write the backup elsewhere.`,
  })
  expect(await refusal('backup', database.folder, '--plain')).toMatchObject({ code: 'backup_exists' })
  // This check is skipped for root, which can write everywhere.
  if (process.getuid?.() !== 0) {
    expect(await refusal('backup', join(closed, 'b'), '--plain')).toMatchObject({ code: 'not_writable' })
  }
})

test('backup --verify says whether a backup is complete and can be decrypted, and leaves no files behind', async () => {
  await (await emptyGrid({ url: database.url })).close()
  const [file, cut, temporary] = ['b', 'cut', 'tmp'].map((name) => join(database.folder, name))
  mkdirSync(temporary)
  vi.stubEnv('DATABASE_URL', database.url)
  vi.stubEnv('TMPDIR', temporary)
  vi.stubEnv('BASE_URL', undefined)
  const printed = vi.spyOn(console, 'log').mockReturnValue()
  const run = (args: Record<string, string>) => backup.start(true, args, [])

  await run({ file, key: 'a long passphrase' })
  vi.stubEnv('DATABASE_URL', undefined)
  await run({ file, key: 'a long passphrase', verify: 'yes' })
  writeFileSync(cut, readFileSync(file).subarray(0, -1))

  const [made, verified] = printed.mock.calls.map(([json]) => JSON.parse(json))
  expect(verified).toEqual(made)
  expect(verified).toMatchObject({ file, encrypted: true, messages: 0 })
  await expect(run({ file, key: 'another passphrase', verify: 'yes' })).rejects.toMatchObject({ code: 'wrong_key' })
  await expect(run({ file: cut, key: 'a long passphrase', verify: 'yes' })).rejects.toMatchObject({
    code: 'backup_damaged',
  })
  expect(readdirSync(temporary)).toEqual([])
})

test.each([
  ['list-accounts'],
  ['create-account', '--name', 'Acme', '--owner-email', 'ann@acme.example'],
  ['create-link', '--email', 'ann@acme.example'],
  ['backup', 'b', '--plain'],
])(
  'if there is no grid, %s says where it looked, and creates no grid',
  async (...words) => {
    expect(await refusal(...words)).toMatchObject({
      code: 'no_database',
      message: expect.stringMatching(/^There is no database at .+\/grid\.db\. .*set DATABASE_URL/),
    })
    expect(readdirSync(database.folder)).toEqual([])
  },
)
