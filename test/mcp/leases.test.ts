import { createClient, type InStatement } from '@libsql/client'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import type { Connection } from '../../src/listen.ts'
import { connect as connectDatabase } from '../../src/store/driver/remote-client.ts'
import { type TestGrid, testGrid, type TestGridOptions } from '../support/grid.ts'
import { callTool, type Era, eras, gridPath, wireRequest } from '../support/mcp.ts'
import { liveGrid } from '../support/server.ts'
import { tripwire } from '../support/tripwire.ts'
import { waitFor } from '../support/wait-for.ts'

const isClaim = (sql: string) => /^UPDATE deliveries SET state = 'read', lease_id = /.test(sql)

let grid: TestGrid | undefined

test.each(eras)(
  'in the %s era, messages whose reader disconnects before the response are redelivered and marked as such',
  async (era) => {
    const client = new AbortController()
    grid = await testGrid(atClaim(() => client.abort()))
    await callTool(grid, grid.alice.key, 'send_message', { to: 'bob', message: 'hi' })

    await grid.request(gridPath, { ...readRequest(grid.bob.key, era), signal: client.signal })
    const again = await callTool(grid, grid.bob.key, 'read_messages')
    const rest = await callTool(grid, grid.bob.key, 'read_messages')

    expect(again.text).toMatchObject([{ message: 'hi', redelivered: true }])
    expect(rest.text).toEqual([])
  },
)

test('a release of messages that the database refuses is retried', async () => {
  let refusals = 0
  grid = await testGrid({
    connect(settings) {
      const client = connectDatabase(settings)
      const batch = client.batch.bind(client)
      client.batch = async (statements, mode) => {
        const isRelease = statements.some((statement) =>
          /^INSERT INTO lease_releases/.test((statement as { sql: string }).sql)
        )
        if (isRelease && refusals++ === 0) throw new Error('The database does not answer')
        return await batch(statements, mode)
      }
      return client
    },
  })
  const { app, alice, bob, deps, store } = grid
  await callTool(grid, alice.key, 'send_message', { to: 'bob', message: 'hi' })
  const url = new URL(gridPath, deps.config.baseUrl).href
  const leaving: Connection = { remoteAddress: '203.0.113.7', hasLeft: () => Promise.resolve(true) }
  await app.request(url, readRequest(bob.key, 'legacy'), leaving)
  await store.drained()

  expect(refusals).toBe(2)
  expect((await callTool(grid, bob.key, 'read_messages')).text).toMatchObject([{ message: 'hi', redelivered: true }])
})

test.each([['an answer in one piece', 20], ['an event stream', 50]])(
  'only messages in %s that the client did not read completely are redelivered and marked as such',
  async (_, wait_seconds) => {
    grid = await testGrid()
    const { app, alice, bob, deps } = grid
    const read = async (isTaken: boolean) => {
      const url = new URL(gridPath, deps.config.baseUrl).href
      const connection: Connection = { remoteAddress: '203.0.113.7', answerTaken: () => Promise.resolve(isTaken) }
      return await (await app.request(url, readRequest(bob.key, 'legacy', { wait_seconds }), connection)).text()
    }
    await callTool(grid, alice.key, 'send_message', { to: 'bob', message: 'hi' })

    const cut = await read(false)
    const whole = await read(true)

    expect(cut).not.toContain('redelivered')
    expect(whole).toContain('redelivered')
    expect((await callTool(grid, bob.key, 'read_messages')).text).toEqual([])
  },
)

test('messages of a long wait are released if the client disconnects before the first heartbeat', async () => {
  grid = await testGrid()
  const { bob, alice, store } = grid
  const response = await grid.request(gridPath, readRequest(bob.key, 'legacy', { wait_seconds: 50 }))
  await waitFor('the wait', () => store.waiting.reads.count === 1)
  await callTool(grid, alice.key, 'send_message', { to: 'bob', message: 'hi' })
  await waitFor('the end of the wait', () => store.waiting.reads.count === 0)

  await response.body!.cancel()

  expect((await callTool(grid, bob.key, 'read_messages')).text).toMatchObject([{ message: 'hi', redelivered: true }])
})

test('a failed read leases no messages', async () => {
  let broken = false
  grid = await testGrid({
    inspect(sql, crossAccountQuery) {
      tripwire(sql, crossAccountQuery)
      if (broken && /^SELECT deliveries\.seq\b/.test(sql)) throw new Error('the database went away')
    },
  })
  await callTool(grid, grid.alice.key, 'send_message', { to: 'bob', message: 'hi' })
  broken = true
  const failed = await callTool(grid, grid.bob.key, 'read_messages')
  broken = false

  expect(failed.code).toBe('internal')
  const { text } = await callTool(grid, grid.bob.key, 'read_messages')
  expect(text).toMatchObject([{ message: 'hi' }])
  expect(text[0].redelivered).toBeUndefined()
})

test('messages of a received response are not released when the connection closes later', async () => {
  const client = new AbortController()
  grid = await testGrid()
  await callTool(grid, grid.alice.key, 'send_message', { to: 'bob', message: 'hi' })

  await grid.request(gridPath, { ...readRequest(grid.bob.key), signal: client.signal })
  client.abort()

  expect((await callTool(grid, grid.bob.key, 'read_messages')).text).toEqual([])
})

test('if the connection is closed after any number of bytes, each message was either sent or is redelivered', async () => {
  let onClaim = () => Promise.resolve()
  const live = await liveGrid(heldClaims(() => onClaim()))
  grid = live
  let newest!: Connection
  const { fetch } = live.app
  live.app.fetch = (request, connection, context) => fetch(request, newest = connection as Connection, context)
  await callTool(live, live.alice.key, 'send_message', { to: 'bob', message: 'as long as the others' })
  const length = await cutOff(live, Infinity)

  const outcomes = new Map<number, string>()
  for (let k = 0; k <= length; k += k < 8 ? 1 : 32) outcomes.set(k, await outcomeOfCut(k))

  expect(outcomes.get(0)).toBe('redelivered')
  expect([...outcomes.values()].filter((outcome) => !['redelivered', 'sent'].includes(outcome))).toEqual([])

  async function outcomeOfCut(bytes: number): Promise<string> {
    const message = `cut after ${bytes}`
    await callTool(live, live.alice.key, 'send_message', { to: 'bob', message })
    const answered = live.logs.length
    await cutOff(live, bytes)
    // Wait until the server has finished the read, although its client is gone.
    await waitFor('the log line of the read', () => live.logs.length > answered)
    const next = await callTool(live, live.bob.key, 'read_messages')
    const last = await callTool(live, live.bob.key, 'read_messages', { since: 'last_batch' })
    if (next.text.length === 0) return last.text[0]?.message === message ? 'sent' : 'lost'
    return next.text[0].message === message && next.text[0].redelivered ? 'redelivered' : 'wrong'
  }

  /** Sends a read. Closes the connection after `bytes` bytes of the response; if 0, while messages are leased. */
  function cutOff({ url, bob }: typeof live, bytes: number): Promise<number> {
    const { headers, body } = readRequest(bob.key)
    const lines = Object.entries({ ...headers, Host: new URL(url).host, 'Content-Length': `${body.length}` })
      .map(([name, value]) => `${name}: ${value}\r\n`)
    return new Promise((ended) => {
      let received = 0
      const socket = connect(Number(new URL(url).port), '127.0.0.1')
      let outcome: Promise<unknown>
      onClaim = async () => {
        if (socket.destroyed) return
        outcome = newest.answerTaken!()
        if (bytes > 0) return
        socket.destroy()
        // Wait until the server notices that its client has disconnected.
        expect(await outcome).toBe(false)
      }
      socket.write(
        `POST ${gridPath} HTTP/1.1\r\n${lines.join('')}${bytes === Infinity ? 'Connection: close\r\n' : ''}\r\n${body}`,
      )
      socket.on('data', (chunk) => {
        received += chunk.length
        if (received >= bytes) socket.destroy()
      })
      // Wait until both sides know the outcome.
      socket.on('close', () => void outcome.then(() => ended(received)))
    })
  }
})

/** Calls `act` when a statement that leases messages is executed. */
function atClaim(act: () => void): TestGridOptions {
  return {
    inspect(sql, crossAccountQuery) {
      tripwire(sql, crossAccountQuery)
      if (isClaim(sql)) act()
    },
  }
}

/** Calls `act` when a commit that leases messages starts, and delays the commit until `act` is done. */
function heldClaims(act: () => Promise<void>): TestGridOptions {
  return {
    connect(config) {
      const client = createClient(config)
      const batch = client.batch.bind(client)
      client.batch = async (statements, mode) => {
        if (statements.some((statement) => isClaim((statement as InStatement & { sql: string }).sql))) {
          await act()
        }
        return batch(statements, mode)
      }
      return client
    },
  }
}

function readRequest(key: string, era: Era = 'legacy', args: object = {}) {
  const { headers, body } = wireRequest(era, 'tools/call', { name: 'read_messages', arguments: args })
  return { method: 'POST', headers: { ...headers, Authorization: `Bearer ${key}` }, body: JSON.stringify(body) }
}
