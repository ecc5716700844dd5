import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { play } from '../../src/cli/demo.ts'
import { listen } from '../../src/listen.ts'
import { testGrid } from '../support/grid.ts'
import { runCommand, temporaryPlace } from '../support/process.ts'

test('the demo plays a conversation over REST, A2A and MCP, and leaves nothing behind', async () => {
  const place = temporaryPlace()
  const tmp = join(place.folder, 'tmp')
  mkdirSync(tmp)

  const { code, stdout, stderr } = await runCommand('node', ['demo'], { TMPDIR: tmp })

  const left = readdirSync(tmp).filter((name) => name.startsWith('agent-grid'))
  place.remove()
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

test('the demo fails when a message arrives changed', async () => {
  const grid = await testGrid({ env: { BASE_URL: 'http://127.0.0.1' } })
  const garbler = await listen(async (request) => {
    const { pathname } = new URL(request.url)
    const { method, headers } = request
    const answer = await grid.request(pathname, {
      method,
      headers: { ...Object.fromEntries(headers), host: '127.0.0.1' },
      body: await request.text(),
    })
    return new Response((await answer.text()).replaceAll('is 42', 'is 41'), answer)
  }, { port: 0, host: '127.0.0.1' })

  const played = play(`http://127.0.0.1:${garbler.port}`, () => {})

  await expect(played).rejects.toMatchObject({ code: 'demo_failed', message: expect.stringContaining('read_messages') })
  await garbler.stop(1_000)
  await grid.close()
})

test('the demo fails when an agent cannot register', async () => {
  const grid = await testGrid({ env: { RESERVED_ALIASES: 'charles' } })
  const server = await listen((request, connection) => grid.app.fetch(request, connection), {
    port: 0,
    host: '127.0.0.1',
  })

  await expect(play(`http://127.0.0.1:${server.port}`, () => {})).rejects.toMatchObject({ code: 'demo_failed' })
  await server.stop(1_000)
  await grid.close()
})
