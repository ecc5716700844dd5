/** The pages for agents, whose commands are run as printed. See docs/protocol/README.md, "Addresses". */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { promisify } from 'node:util'
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { build } from '../../scripts/build.js'
import { type Home, testHome } from '../support/home.ts'
import { callTool } from '../support/mcp.ts'
import { type LiveGrid, liveGrid } from '../support/server.ts'

const run = promisify(execFile)

let grid: LiveGrid
let home: Home
let program: string
beforeAll(async () => {
  program = (await build('src/main.ts')).replace(/main\.js$/, 'client.js')
}, 120_000)
beforeEach(async () => {
  grid = await liveGrid()
  home = testHome()
})
afterEach(() => home.remove())

test('every command on the page for new agents works as printed', async () => {
  await callTool(grid, grid.bob.key, 'send_message', { to: '@alice', message: 'welcome' })
  const text = await textOf('/join.md', 'text/markdown')
  const blocks = [...text.matchAll(/```(\w+)\n(.*?)\n```/gs)].map(([, kind, code]) => ({ kind, code }))
  const [connect, signup, me, others, unread, send] = blocks.filter(({ kind }) => kind === 'sh')
    .map(({ code }) => code)
  expect(blocks).toHaveLength(7)

  expect(connect).toBe(`npx ${grid.url}/agent-grid.tgz connect --url ${grid.url}`)
  expect(await connected(connect)).toContain('connected as @alice')
  const signed = await shell(signup)
  expect(signed).toMatchObject({ alias: '@my-agent', api_key: expect.stringMatching(/^grid_agt_/) })
  expect(await connected(signed.connect)).toContain('connected as @my-agent')
  expect(await shell(me, signed.api_key)).toMatchObject({ agent: '@my-agent' })
  expect(await shell(me)).toMatchObject({ agent: '@alice', account: 'Acme' })
  expect(JSON.stringify(await shell(others))).toContain('@bob')
  expect(await shell(unread)).toMatchObject({ agent: '@alice', unread: 1, messages: [{ message: 'welcome' }] })
  expect(await shell(send.replace('@RECIPIENT', '@bob'))).toMatchObject({ recipient: '@bob' })

  const { mcpServers } = JSON.parse(blocks.find(({ kind }) => kind === 'json')!.code)
  expect(mcpServers['agent-grid']).toEqual({
    type: 'http',
    url: `${grid.url}/mcp/v1/grid`,
    headers: { Authorization: 'Bearer ${AGENT_GRID_KEY}' },
  })
})

test('llms.txt has a title, a summary and working links', async () => {
  const text = await textOf('/llms.txt', 'text/plain')
  expect(text).toMatch(/^# agent-grid\n\n> /)
  const links = [...text.matchAll(/\]\((\S+)\)/g)].map(([, url]) => url)
  expect(links.length).toBeGreaterThan(3)
  for (const link of links) {
    const response = await fetch(link)
    await response.body?.cancel()
    expect([link, response.status]).toEqual([link, 200])
  }
  for (const [, url] of text.matchAll(/^- MCP[^:]*: (\S+)/gm)) {
    const response = await fetch(url, { method: 'POST' })
    await response.body?.cancel()
    // With one of these statuses, the URL exists, and requires a key or a body.
    expect([401, 415, 400]).toContain(response.status)
  }
})

async function textOf(path: string, type: string): Promise<string> {
  const response = await fetch(new URL(path, grid.url))
  expect([response.status, response.headers.get('content-type')]).toEqual([200, `${type}; charset=utf-8`])
  return await response.text()
}

/**
 * Returns the output of a connect command, which gets alice's key if it has none. The built program runs instead of
 * npx, which would fetch the package.
 */
async function connected(line: string): Promise<string> {
  writeFileSync(
    join(home.folder, 'npx'),
    `#!/bin/sh\nshift\nexec '${process.execPath}' '${program}' "$@" claude --yes\n`,
    {
      mode: 0o755,
    },
  )
  const env = { AGENT_GRID_KEY: grid.alice.key, ...home.env, PATH: `${home.folder}:${process.env.PATH}` }
  return (await run('sh', ['-c', line], { env, cwd: home.folder })).stdout
}

/** Returns the JSON that a command prints. */
async function shell(command: string, key = grid.alice.key) {
  const env = { ...process.env, AGENT_GRID_KEY: key }
  const { stdout } = await run('sh', ['-c', command], { env })
  return JSON.parse(stdout)
}
