/**
 * A disk that fills up under a running grid (docs/operating/monitoring.md, "Full disk"). Needs root to mount a small
 * disk.
 */
import { join } from 'node:path'
import process from 'node:process'
import { afterAll, describe, expect, test } from 'vitest'
import { someRuntimes } from '../support/long.ts'
import { type ServerProcess, startServe } from '../support/process.ts'
import { seedAgents } from '../support/seed-agents.ts'
import { smallDisk } from '../support/small-disk.ts'
import { waitFor } from '../support/wait-for.ts'
import { a2a, callTool, get } from './client.ts'

const disk = smallDisk(48)
afterAll(() => disk?.remove())

// Without permission to mount a disk, the test is skipped, except under CI, where it fails.
describe.skipIf(!disk && !process.env.CI).each(someRuntimes)('a full disk on %s', (runtime) => {
  test('a grid on an almost full disk refuses only sends; a grid on a full disk reports the full disk, can start, and recovers', async () => {
    const folder = join(disk!.folder, runtime)
    const env = { DATABASE_URL: `file:${folder}/grid.db` }
    const { adminKey, agents: [reader, sender] } = await seedAgents(env.DATABASE_URL, ['reader', 'sender', 'gone'])
    let server = await startServe(runtime, env)
    const call = (key: string, tool: string, args = {}) => callTool(server.url, key, tool, args)
    const send = (message: string) =>
      call(sender.key, 'send_message', { to: reader.alias, message, idempotency_key: message })
    for (let n = 0; n < 30; n++) await send(`m${n}`)

    disk!.fill(3 * 2 ** 20)
    await readiness(server, 503)
    const overA2a = await a2a(server.url, sender.key, 'message/send', a2aMessage(reader.alias))
    expect(await send('late')).toMatchObject({ error: { code: 'storage_full' } })
    expect((await send('m1')).message_id).toBeDefined()
    expect([overA2a.status, overA2a.body.error.code]).toEqual([503, -32053])
    expect(overA2a.headers.get('retry-after')).toBe('10')
    expect((await get(server.url, '/readyz')).body).toMatchObject({
      status: 'storage full',
      reason: expect.stringContaining('MB free'),
    })
    expect(textsOf(await call(reader.key, 'read_messages', { limit: 10 }))).toEqual(texts(0, 10))
    expect(await call(adminKey, 'admin_delete_agent', { alias: 'gone' })).toMatchObject({ deleted: true })

    disk!.fill(0)
    expect(textsOf(await call(reader.key, 'read_messages', { peek: true, limit: 10 }))).toEqual(texts(10, 20))
    server.signal('SIGKILL')
    await server.ended
    disk!.fill(0)
    server = await startServe(runtime, env)
    expect((await get(server.url, '/readyz')).status).toBe(503)
    expect(textsOf(await call(reader.key, 'read_messages', { since: '1h' }))).toEqual(texts(0, 30))
    expect(await send('late')).toMatchObject({ error: { code: 'storage_full' } })

    disk!.clear()
    await readiness(server, 200)
    expect((await send('late')).message_id).toBeDefined()
    expect(textsOf(await call(reader.key, 'read_messages', { since: '1h' }))).toEqual([...texts(0, 30), 'late'])
    const { code, stderr } = await server.stop()
    expect(code).toBe(0)
    expect(stderr.match(/nothing new is stored/g)).toHaveLength(1)
    expect(stderr.match(/has space again/g)).toHaveLength(1)
    expect(stderr).not.toContain('A commit failed')
  })
})

async function readiness(server: ServerProcess, status: number): Promise<void> {
  await waitFor(`readiness ${status}`, async () => (await get(server.url, '/readyz')).status === status)
}

function texts(from: number, to: number): string[] {
  return Array.from({ length: to - from }, (_, i) => `m${from + i}`)
}

function textsOf(answer: { messages: { message: string }[] }): string[] {
  return answer.messages.map(({ message }) => message)
}

function a2aMessage(to: string) {
  return {
    kind: 'message',
    messageId: crypto.randomUUID(),
    role: 'user',
    parts: [{ kind: 'text', text: 'over A2A' }],
    metadata: { to },
  }
}
