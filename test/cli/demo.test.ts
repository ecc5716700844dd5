import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isLong } from '../support/long.ts'
import { runCommand, startProgram, temporaryDatabase } from '../support/process.ts'

test('the demo shows a conversation over REST, A2A and MCP, and leaves no files behind', async () => {
  const database = temporaryDatabase()
  const tmp = join(database.folder, 'tmp')
  mkdirSync(tmp)

  const { code, stdout, stderr } = await runCommand('node', ['demo'], { TMPDIR: tmp })

  const left = readdirSync(tmp).filter((name) => name.startsWith('agent-grid'))
  database.remove()
  expect({ code, stderr, left }).toEqual({ code: 0, stderr: '', left: [] })
  expect(stdout).toMatch(/REST +signup +@ada/)
  expect(stdout).toMatch(
    /A2A +message\/send +@ada to @charles\n +"What is 6 times 7\?"\n +Message delivered to @charles/,
  )
  expect(stdout).toMatch(/MCP +read_messages +@charles\n +@ada: What is 6 times 7\?/)
  expect(stdout).toMatch(/MCP +read_messages +@ada\n +@charles: 6 times 7 is 42\./)
  expect(stdout).toContain('All 3 messages arrived.')
  for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
})

test.runIf(isLong)(
  "people can sign in to the demo's example grid, which leaves no files behind",
  { timeout: 60_000 },
  async () => {
    const { folder, remove } = temporaryDatabase()
    const grid = await startProgram('src/main.ts', ['demo', '--serve'], { TMPDIR: folder })
    const [email, password] = ['Email', 'Password'].map((name) =>
      grid.stdout().match(new RegExp(`^ *${name} +(.+?)( \\(.*)?$`, 'm'))![1]
    )
    expect(password).toMatch(/^[a-z2-9]{4}(-[a-z2-9]{4}){3}$/)
    const origin = `http://localhost:${grid.port}`
    const page = await fetch(`${origin}/sign-in`)
    const csrf = (await page.text()).match(/name="csrf" value="([^"]+)"/)![1]
    const headers = { Origin: origin, Cookie: page.headers.get('Set-Cookie')!.split(';')[0] }
    const body = new URLSearchParams({ email, password, csrf })
    const signedIn = await fetch(`${origin}/sign-in`, { method: 'POST', headers, body, redirect: 'manual' })
    const { code } = await grid.stop()

    const left = readdirSync(folder).filter((name) => name.startsWith('agent-grid-demo'))
    remove()
    expect({ status: signedIn.status, code, left }).toEqual({ status: 303, code: 0, left: [] })
  },
)
