/** The output of `npm run lab -- cluster`. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import process from 'node:process'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { freePort } from '../../src/lib/free-port.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/process.ts'

let database: TemporaryDatabase
beforeEach(() => {
  database = temporaryDatabase()
})
afterEach(() => database.remove())

test('the cluster listens on PORT, and prints a working setup link', async () => {
  const port = await freePort()
  const words = ['--import', 'tsx', 'scripts/cluster.ts', '--instances', '2', '--folder', database.folder]
  const cluster = spawn(process.execPath, words, {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, TMPDIR: process.env.TMPDIR, PORT: `${port}` },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    const link = await new Promise<string>((resolve, reject) => {
      let stdout = ''
      cluster.stdout.setEncoding('utf8').on('data', (text) => {
        stdout += text
        const found = stdout.match(/http:\S+\/set-up\/\w+(?=\n)/)?.[0]
        if (found) resolve(found)
      })
      cluster.once('close', () => reject(new Error(stdout)))
    })
    const page = await fetch(link)

    expect(new URL(link).port).toBe(`${port}`)
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('Set up the grid')])
  } finally {
    const closed = once(cluster, 'close')
    cluster.kill('SIGTERM')
    await closed
  }
})
