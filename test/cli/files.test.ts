/**
 * `send --file` and `read --save`, also with files from a hostile grid. See docs/operating/reference.md, "Commands".
 */
import { Buffer } from 'node:buffer'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { partOfFile, saveParts } from '../../src/cli/files.ts'
import { GridClient } from '../../src/clients/grid-client.ts'
import { type LiveGrid, liveGrid } from '../support/server.ts'

let home: string
let folder: string
let grid: LiveGrid
beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'agent-grid-files-'))
  folder = join(home, 'in')
  mkdirSync(folder)
  grid = await liveGrid()
})
afterEach(async () => {
  await grid.close()
  rmSync(home, { recursive: true })
})

const clientOf = ({ key }: { key: string }) => new GridClient({ url: grid.url, key })

test('a small file and a file of three pieces arrive unchanged, and a second file with the same name is saved under a new name', async () => {
  const large = Buffer.from(Array.from({ length: 2 * 2 ** 20 + 3 }, (_, n) => n * 7 % 256))
  const files = { 'note.md': Buffer.from('\ufeff# Größe\n'), 'blob.bin': large }
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(home, name), content)
    const parts = [await partOfFile(clientOf(grid.alice), join(home, name))]
    for (const key of ['1', '2']) {
      const sending = clientOf(grid.alice).send({ to: '@bob', message: 'see', parts }, name + key)
      if (name === 'note.md' || key === '1') await sending
      else await expect(sending).rejects.toMatchObject({ code: 'part_not_found' })
    }
  }
  const { messages } = await clientOf(grid.bob).peek({ summary: false })

  const saved = await saveParts(clientOf(grid.bob), folder, messages)

  expect(saved).toEqual(['note.md', 'note (2).md', 'blob.bin'].map((name) => join(folder, name)))
  expect(readFileSync(saved[1]).equals(files['note.md'])).toBe(true)
  expect(readFileSync(saved[2]).equals(large)).toBe(true)
})

const emoji = '📎'.repeat(63)
test.each([
  ['../../x', 'x'],
  ['/etc/passwd', 'passwd'],
  ['..\\..\\x.txt', 'x.txt'],
  ['.', 'part.txt'],
  ['..', 'part.txt'],
  ['', 'part.txt'],
  [undefined, 'part.txt'],
  ['.bashrc', 'bashrc'],
  ['a\0b\r\nc\x1b[2J\u202etxt.exe', 'ab_c[2Jtxt.exe'],
  ['C:\\x:y.txt', 'x_y.txt'],
  ['nul.txt', '_nul.txt'],
  [`${emoji}.md`, `${emoji}.md`],
  [`${'📎'.repeat(70)}.md`, `${emoji}.md`],
  [`a.${'b'.repeat(300)}`, 'part.txt'],
  ['taken.txt', 'taken (2).txt'],
  ['link.txt', 'link (2).txt'],
])('a file that a hostile grid names %j is saved in the folder as %j', async (filename, name) => {
  writeFileSync(join(folder, 'taken.txt'), 'mine')
  symlinkSync(join(home, 'outside'), join(folder, 'link.txt'))
  const part = { filename, text: 'theirs', bytes: 6 }

  const [path] = await saveParts(clientOf(grid.bob), folder, [{ message_id: 'm', user: '@eve', parts: [part] }])

  expect(path).toBe(join(folder, name))
  expect(readFileSync(path, 'utf8')).toBe('theirs')
  expect(readdirSync(home)).toEqual(['in'])
  expect(readFileSync(join(folder, 'taken.txt'), 'utf8')).toBe('mine')
})
