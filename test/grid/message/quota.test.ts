/** Quotas of accounts and inboxes (docs/operating/accounts.md, "Quotas"), tested from outside with a test clock. */
import { expect, test } from 'vitest'
import { createChannel } from '../../../src/grid/channels/channels.ts'
import { hour, startOfDay } from '../../../src/lib/time.ts'
import { postA2a, send10 } from '../../support/a2a.ts'
import { rows } from '../../support/database.ts'
import { onEachDatabase } from '../../support/databases.ts'
import type { TestAccount, TestAgent, TestGrid } from '../../support/grid.ts'
import { callTool } from '../../support/mcp.ts'
import { waitFor } from '../../support/wait-for.ts'

let grid: TestGrid

onEachDatabase((open) => {
  test("an account's daily messages are limited, and the count restarts the next day", async () => {
    grid = await open({ env: { MESSAGES_PER_DAY: '3' } })
    await send(grid.alice, '@bob')
    await send(grid.bob, '@alice')
    await send(grid.alice, '@bob', { idempotency_key: 'k' })

    const refused = await send(grid.alice, '@bob')

    expect(refused).toEqual({
      code: 'quota_exceeded',
      message: 'This account has sent 3 messages today, its daily limit. Try again in 900 minutes.',
      retry_after_seconds: 15 * hour / 1_000,
    })
    // A repeated send still gets its response, and other accounts are not affected.
    expect(await send(grid.alice, '@bob', { idempotency_key: 'k' })).toMatchObject({ recipient: '@bob' })
    await grid.evil.agent('mallory')
    expect(await send(grid.eve, '@mallory')).toMatchObject({ recipient: '@mallory' })
    expect(await stored(grid.acme)).toBe(3)

    grid.clock.now += 15 * hour
    expect(await send(grid.alice, '@bob')).toMatchObject({ recipient: '@bob' })
  })

  test("an account's daily bytes are limited, including A2A parts and each delivery", async () => {
    grid = await open({ env: { MEGABYTES_PER_DAY: '1' } })
    const data = 'x'.repeat(120_000)
    const sendData = (n: number) =>
      postA2a(
        grid,
        grid.alice.key,
        send10({ messageId: `${n}`.padStart(36, '0'), parts: [{ text: 'x' }, { data: { data } }] }),
      )
    for (let n = 0; n < 8; n++) expect((await sendData(n)).status).toBe(200)
    expect(await usedBytes(grid.acme)).toBeLessThan(1_000_000)
    expect((await sendData(8)).status).toBe(200)

    expect((await sendData(9)).body.error.data[0].metadata).toMatchObject({ quota: 'megabytes_per_day', limit: '1' })
    const sent = await usedBytes(grid.evil)
    expect(sent).toBe(0)
    await createChannel(grid.evil.store, { name: 'all', members: ['eve', ...await mates(4)] })
    await send(grid.eve, '#all', { message: 'höi' })
    expect(await usedBytes(grid.evil)).toBe(Buffer.byteLength('höi') + 5 * 500)
  })

  test.each([false, true])('artifact chunks count like messages (appended: %s)', async (append) => {
    grid = await open({ env: { MEGABYTES_PER_DAY: '1' } })
    const { task_id } = (await askBob(), await answer(grid.bob.key, 'read_messages', {}))[0]
    const chunk = (artifact: object) => answer(grid.bob.key, 'update_task', { task_id, parts: [{ data }], artifact })
    const data = 'x'.repeat(200_000)
    await chunk({ id: 'a' })
    const before = await usedBytes(grid.acme)
    await chunk({ id: 'a', append })

    expect(await usedBytes(grid.acme)).toBeGreaterThan(before + 200_000)
    for (let n = 0; n < 3; n++) await chunk({ id: 'a', append })
    expect(await chunk({ id: 'a', append })).toMatchObject({ code: 'quota_exceeded' })
  })

  test("an account's messages to one inbox of another account are limited", async () => {
    grid = await open({ env: { EXTERNAL_MESSAGES_PER_DAY: '2' } })
    await grid.acme.agent('desk', { visibility: 'public' })
    await grid.acme.agent('shop', { visibility: 'public' })
    const mallory = await grid.evil.agent('mallory')
    await send(grid.eve, '@desk')
    await send(mallory, '@desk')

    for (const sender of [grid.eve, mallory]) {
      expect(await send(sender, '@desk')).toEqual({
        code: 'quota_exceeded',
        message:
          'This account has sent 2 messages to @desk today, the daily limit for an agent of another account. Try again in 900 minutes.',
        retry_after_seconds: 54_000,
      })
    }
    expect(await send(grid.eve, '@shop')).toMatchObject({ recipient: '@shop' })
    for (let n = 0; n < 3; n++) expect(await send(grid.alice, '@desk')).toMatchObject({ recipient: '@desk' })
  })

  test('other accounts cannot fill an inbox completely', async () => {
    grid = await open({ env: { UNREAD_PER_INBOX: '6' } })
    const desk = await grid.acme.agent('desk', { visibility: 'public' })
    const mallory = await grid.evil.agent('mallory')
    await send(grid.eve, '@desk')
    await send(mallory, '@desk')
    const refused = {
      code: 'quota_exceeded',
      message: 'The inbox of @desk is full for other accounts: it has 2 unread messages. Try again in 60 seconds.',
      retry_after_seconds: 60,
    }

    for (const sender of [grid.eve, mallory]) expect(await send(sender, '@desk')).toEqual(refused)
    for (let n = 0; n < 4; n++) expect(await send(grid.alice, '@desk')).toMatchObject({ recipient: '@desk' })
    expect(await send(grid.alice, '@desk')).toMatchObject({ code: 'quota_exceeded' })
    expect(await send(grid.eve, '@desk')).toEqual(refused)

    await callTool(grid, desk.key, 'read_messages')
    expect(await send(mallory, '@desk')).toMatchObject({ recipient: '@desk' })
  })

  test('when an inbox is at least 80 % full, a receipt shows how full it is and how many messages it refused today', async () => {
    grid = await open({ env: { UNREAD_PER_INBOX: '10' } })
    await grid.acme.agent('desk', { visibility: 'public' })
    for (let n = 0; n < 7; n++) {
      const receipt = await send(grid.alice, '@bob')
      expect(receipt).not.toHaveProperty('recipient_inbox')
      expect(receipt).not.toHaveProperty('note')
    }
    const nearly = {
      recipient_inbox: { unread: 8, max: 10, refused: 0 },
      note: 'The inbox of @bob is 80 % full.',
    }
    expect(await send(grid.alice, '@bob', { idempotency_key: 'k' })).toMatchObject(nearly)
    await send(grid.alice, '@bob')
    expect(await send(grid.alice, '@bob')).toMatchObject({
      recipient_inbox: { unread: 10, max: 10, refused: 0 },
      note: 'The inbox of @bob is full now, and refuses further messages.',
    })
    expect(await send(grid.alice, '@bob', { idempotency_key: 'k' })).toMatchObject(nearly)

    for (let n = 1; n <= 2; n++) {
      expect(await send(grid.alice, '@bob')).toMatchObject({ code: 'quota_exceeded' })
      await refusedBy(grid.bob, n)
    }
    await callTool(grid, grid.bob.key, 'read_messages', { limit: 2 })
    expect(await send(grid.alice, '@bob')).toMatchObject({ recipient_inbox: { unread: 9, max: 10, refused: 2 } })
    grid.clock.now += 15 * hour
    expect(await send(grid.alice, '@bob')).toMatchObject({ recipient_inbox: { unread: 10, max: 10, refused: 0 } })
    expect(await send(grid.alice, '@bob')).toMatchObject({ code: 'quota_exceeded' })
    await refusedBy(grid.bob, 1)
  })

  test('messages that an inbox refuses from other accounts are counted, but their receipts do not show it', async () => {
    grid = await open({ env: { UNREAD_PER_INBOX: '10' } })
    const desk = await grid.acme.agent('desk', { visibility: 'public' })
    for (let n = 0; n < 2; n++) expect(await send(grid.eve, '@desk')).not.toHaveProperty('recipient_inbox')
    expect(await send(grid.eve, '@desk')).toMatchObject({ code: 'quota_exceeded' })

    await refusedBy(desk, 1)
  })

  test('a refused send does not count towards a quota, and 0 disables a quota', async () => {
    const off = { MESSAGES_PER_DAY: '0', MEGABYTES_PER_DAY: '0', EXTERNAL_MESSAGES_PER_DAY: '0', UNREAD_PER_INBOX: '0' }
    grid = await open({ env: { ...off, AGENTS_PER_ACCOUNT: '0' } })

    for (let n = 0; n < 5; n++) expect(await send(grid.alice, '@bob')).toMatchObject({ recipient: '@bob' })
    await send(grid.alice, '@nobody')
    await send(grid.alice, '@bob', { reply_to_message_id: 'unknown' })

    expect(await rows(grid, 'SELECT messages FROM usage WHERE account_id = ?', [grid.acme.id])).toEqual([
      { messages: 5 },
    ])
  })

  test('an inbox with a quota of 1 refuses a second message', async () => {
    grid = await open({ env: { UNREAD_PER_INBOX: '1' } })
    expect(await send(grid.alice, '@bob')).toMatchObject({ recipient: '@bob' })

    expect(await send(grid.alice, '@bob')).toMatchObject({ code: 'quota_exceeded' })
  })

  test("the number of an account's agents is limited", async () => {
    grid = await open({ env: { AGENTS_PER_ACCOUNT: '3' } })
    await create('carol')

    const { code, message } = await create('dave')

    expect(code).toBe('agent_limit_reached')
    expect(message).toBe('The account has 3 agents, and may have 3. Delete some first.')
    await callTool(grid, grid.acme.adminKey, 'admin_delete_agent', { alias: 'carol' })
    expect(await create('dave')).toMatchObject({ api_key: expect.any(String) })
  })
})

async function send(from: TestAgent, to: string, more: object = {}, by: TestGrid = grid) {
  return await answer(from.key, 'send_message', { to, message: 'hi', ...more }, by)
}

/** Waits for the count, which is stored shortly after the refusal. */
async function refusedBy({ id }: TestAgent, refused: number) {
  await waitFor('the count', async () => {
    const [row] = await rows(grid, 'SELECT refused FROM agent_numbers WHERE account_id = ? AND agent_id = ?', [
      grid.acme.id,
      id,
    ])
    return row.refused === refused
  })
}

async function askBob() {
  const headers = { 'A2A-Extensions': 'http://localhost:8787/a2a/ext/await-reply/v1' }
  await postA2a(grid, grid.alice.key, send10(), headers)
}

async function create(alias: string) {
  return await answer(grid.acme.adminKey, 'admin_create_agent', { alias })
}

/** Calls a tool. Returns its result or its error. */
async function answer(key: string, tool: string, args: Record<string, unknown>, by: TestGrid = grid) {
  const { text } = await callTool(by, key, tool, args)
  return text.error ?? text
}

async function mates(n: number): Promise<string[]> {
  const names = Array.from({ length: n }, (_, i) => `mate-${i}`)
  for (const name of names) await grid.evil.agent(name)
  return names
}

async function used({ store }: TestAccount) {
  return (await store.read.usage.of(startOfDay(grid.clock.now), null)).account
}

const usedBytes = async (account: TestAccount) => (await used(account)).bytes

async function stored({ id }: TestAccount): Promise<number> {
  return (await rows(grid, 'SELECT 1 FROM messages WHERE account_id = ?', [id])).length
}
