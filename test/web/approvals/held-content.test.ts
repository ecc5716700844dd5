/** An approval delivers only content that the decision page has shown. docs/protocol/messages.md, "Held messages". */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { heldMessage, heldMessages } from '../../../src/grid/approvals/held.ts'
import { approve } from '../../../src/grid/approvals/decide.ts'
import { type HeldContent, shownContent } from '../../../src/grid/approvals/held-content.ts'
import type { A2aDetails } from '../../../src/grid/message/outgoing-message.ts'
import type { HeldDelivery } from '../../../src/store/account/new-held.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import { postA2a, send10 } from '../../support/a2a.ts'
import type { Browser } from '../../support/browse.ts'
import { rows } from '../../support/database.ts'
import { storeOf, type TestGrid, testGrid } from '../../support/grid.ts'
import { approveOne, hold } from '../../support/held.ts'
import { callTool } from '../../support/mcp.ts'
import { sendMessage } from '../../support/messaging.ts'
import { signedIn } from '../../support/people.ts'
import { personWithAlias } from '../../support/person-aliases.ts'
import { askFor } from '../../support/tasks.ts'

let grid: TestGrid
let ann: AccountStore
let browser: Browser
beforeEach(async () => {
  grid = await testGrid()
  const one = await personWithAlias(grid, 'ann', { role: 'owner', name: 'Ann' })
  ann = one.account
  browser = await signedIn(grid, one.person)
})
afterEach(() => grid.close())

const page = async () => `/accounts/${grid.acme.id}/held/${(await heldMessages(ann))[0].id}`

/** Returns everything that the decider can read: the page, and the parts linked from it. */
async function shown(): Promise<string> {
  const { html } = await browser.open(await page())
  const links = [...html.matchAll(/href="([^"]*\/held\/[0-9a-f-]{36}\/parts\/[^"]+)"/g)].map(([, href]) => href)
  const parts = await Promise.all(links.map(async (link) => await (await browser.request(link)).text()))
  const plain = html.replace(/<[^>]*>/g, '').replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&')
  return [plain, ...parts].join('\n')
}

/**
 * The columns that are delivered without being on the decision page, because the grid generates them and no sender can
 * choose them. Every other delivered column, including later ones, must be on the page.
 */
const madeByGrid: Record<string, string[]> = {
  messages: [
    ...['seq', 'id', 'account_id', 'from_agent_id', 'channel_id', 'created_at', 'traceparent', 'trial_number'],
    // The column "edited" results from the decision. A test below covers "via".
    ...['edited', 'via'],
  ],
  deliveries: [
    ...['seq', 'account_id', 'agent_id', 'sender_account_id', 'message_id', 'state', 'chars', 'created_at', 'read_at'],
    ...['lease_id', 'release_count', 'woken_at', 'external_id', 'external_message_id', 'inbox'],
  ],
  parts: ['account_id', 'id', 'message_id', 'media_type', 'encoding', 'bytes'],
  task_events: ['seq', 'account_id', 'task_id', 'n', 'id', 'at', 'sender_account_id', 'message_id', 'reason'],
  artifacts: ['account_id', 'task_id', 'n'],
}

/** The columns that had a value in at least one test. */
const tried = new Set<string>()
/** The words on the page for a flag or a number. */
const inWords: Record<string, string> = {
  'messages.flagged': 'Marked by a guardrail',
  'messages.sanitized': 'Invisible characters were removed',
  'messages.hops': 'Earlier answers in its chain',
  'deliveries.expires_at': 'Expires',
  'artifacts.last_chunk': '"lastChunk": true',
  'artifacts.append': '"append": true',
}

/** Returns each value that is delivered with the message, by its path. */
async function delivered(message: string): Promise<[place: string, value: string][]> {
  const found: [string, string][] = []
  for (const [table, made] of Object.entries(madeByGrid)) {
    const id = table === 'messages' ? 'id' : 'message_id'
    const condition = table === 'artifacts'
      ? '(task_id, n) IN (SELECT task_id, n FROM task_events WHERE account_id = ? AND message_id = ?)'
      : table === 'task_events'
      ? `id LIKE ? || '%'`
      : `${id} = ?`
    const args = table === 'artifacts' ? [grid.acme.id, message] : [message]
    const from = table === 'deliveries' ? 'v_deliveries' : table
    const all = await rows(grid, `SELECT * FROM ${from} WHERE account_id = ? AND ${condition}`, [
      grid.acme.id,
      ...args,
    ])
    for (const row of all) {
      for (const [column, value] of Object.entries(row)) {
        const place = `${table}.${column}`
        if (!made.includes(column)) found.push(...leaves(place, value))
        if (value !== null && value !== 0) tried.add(place)
      }
    }
  }
  return found
}

function leaves(place: string, value: unknown): [string, string][] {
  if (value === null || value === undefined || value === 0 || value === false) return []
  if (typeof value === 'string' && /^[[{]/.test(value)) return leaves(place, JSON.parse(value))
  if (typeof value === 'object') {
    return Object.entries(value).flatMap(([name, one]) => [
      // Skip protocol names, because the page uses its own words for them.
      ...(Array.isArray(value) || place === 'messages.a2a' ? [] : leaves(`${place} (name)`, name)),
      ...leaves(`${place}.${name}`, one),
    ])
  }
  return [[place, String(value)]]
}

/** Names that are only in the stored form, and not in what recipients read. */
const storedNames = new Set([
  'parts',
  'part_id',
  'kind',
  'bytes',
  'more',
  'mediaType',
  'raw',
  'text',
  'data',
  'filename',
])

async function expectShown(message: string, more: string[] = []): Promise<void> {
  const text = await shown()
  await approveOne(ann)
  const values = (await delivered(message)).filter(([place, value]) => {
    // The page does not show the state `submitted`, because every new task has it.
    if (place === 'task_events.state' && value === 'submitted') return false
    return !(place.endsWith('(name)') && storedNames.has(value)) && !/\.(part_id|kind|bytes)$/.test(place)
  })
  expect(values.length).toBeGreaterThan(3)
  for (const [place, value] of values) {
    // Raw content is stored in base64, but the page shows a text file as text.
    expect(text, place).toContain(inWords[place] ?? (place.endsWith('.raw') ? atob(value) : value))
  }
  for (const word of more) expect(text).toContain(word)
}

test('the decision page shows everything in a message over A2A', async () => {
  await hold(grid.acme.store)
  const { body } = await postA2a(
    grid,
    grid.alice.key,
    send10({
      messageId: 'canary-message-id',
      contextId: 'canary-context',
      parts: [
        { text: 'canary-text' },
        { data: { 'canary-key': 'canary-data' } },
        { raw: btoa('canary-file'), mediaType: 'text/plain', filename: 'canary.txt', metadata: { of: 'canary-part' } },
      ],
      metadata: { to: '@bob', instructions: 'canary-metadata', deep: { list: [1234567, 'canary-deep'] } },
      extensions: ['https://canary.example/extension'],
      referenceTaskIds: ['canary-task'],
    }, { configuration: { acceptedOutputModes: ['canary/mode'], returnImmediately: true } }),
    { 'A2A-Version': '1.0' },
  )
  expect(body.error).toBeUndefined()

  await expectShown((await heldMessages(ann))[0].messageId, [
    ...[
      'canary-metadata',
      'canary-deep',
      'https://canary.example/extension',
      'canary-task',
      'canary/mode',
      'canary-context',
    ],
  ])
})

test('the decision page shows metadata that is too long for an inbox', async () => {
  await hold(grid.acme.store)
  const metadata = { to: '@bob', long: `${'long '.repeat(9_000)}canary-end` }
  await postA2a(grid, grid.alice.key, send10({ metadata }, { configuration: { returnImmediately: true } }), {
    'A2A-Version': '1.0',
  })

  await expectShown((await heldMessages(ann))[0].messageId, ['canary-end'])
})

test('the decision page shows everything in a message over any other interface', async () => {
  const { personAlias } = await personWithAlias(grid, 'ben', { name: 'Ben' })
  const { id } = await sendMessage(storeOf(grid, grid.bob), { to: 'alice', text: 'which one?' })
  await rows(
    grid,
    "INSERT INTO guardrail_consents (account_id, agent_id, provider, host, created_at) VALUES (?, ?, 'approvals', 'members', 1)",
    [grid.acme.id, personAlias.agentId],
  )
  await hold(grid.acme.store)
  const sent = await sendMessage(storeOf(grid, grid.alice), {
    ...{ to: 'ben', text: 'canary-text', replyToMessageId: id, conversationId: 'canary-conversation' },
    ...{ choices: ['canary-yes', 'canary-no'], expiresInSeconds: 600, parts: [{ data: { 'canary-key': 1 } }] },
  })

  await rows(
    grid,
    "UPDATE messages SET flagged = 1, sanitized = 1, hops = 3, shared_with = 'canary.host' WHERE account_id = ? AND id = ?",
    [grid.acme.id, sent.id],
  )

  await expectShown(sent.id, ['canary-yes', 'canary-conversation', id])
})

test("the decision page shows a task update's new state, and its artifact's id and name", async () => {
  const { id } = await askFor(storeOf(grid, grid.alice), 'a report')
  await callTool(grid, grid.bob.key, 'read_messages')
  await callTool(grid, grid.bob.key, 'update_task', { task_id: id, text: 'begun', artifact: { id: 'canary-artifact' } })
  await hold(grid.acme.store)
  await callTool(grid, grid.bob.key, 'update_task', {
    ...{ task_id: id, text: 'canary-said', state: 'failed' },
    artifact: { id: 'canary-artifact', name: 'canary-name', append: true, last_chunk: true },
  })

  await expectShown((await heldMessages(ann))[0].messageId, ['canary-artifact', 'canary-name', 'failed', id])
})

test('every delivered column has a value in a test, or is generated by the grid', async () => {
  const columns = await Promise.all(
    Object.entries(madeByGrid).map(async ([table, made]) => {
      const all = await rows(grid, `SELECT name FROM pragma_table_info('${table}')`)
      return all.map(({ name }) => String(name)).filter((name) => !made.includes(name)).map((name) =>
        `${table}.${name}`
      )
    }),
  )
  // Columns filled only for a delivery with its own text or in a large channel, and for a chunk without a message.
  const never = ['body', 'a2a', 'flagged', 'quiet'].map((column) => `deliveries.${column}`).concat('artifacts.parts')

  expect(columns.flat().filter((column) => !tried.has(column) && !never.includes(column))).toEqual([])
})

test('the shown content includes every detail of a message and of its delivery', () => {
  // The details omit `hasLongText`, because the full text is a part.
  const details: Required<Omit<A2aDetails, 'hasLongText'>> = {
    ...{ messageId: 'canary-1', contextId: 'canary-2', taskId: 'canary-3', parts: [{ data: 'canary-4' }] },
    ...{ metadata: { a: 'canary-5' }, extensions: ['canary-6'], referenceTaskIds: ['canary-7'] },
    ...{ acceptedOutputModes: ['canary-8'], waitingTaskIds: ['canary-9'], choices: ['canary-10'] },
    ...{ artifactId: 'canary-11', artifactName: 'canary-12' },
  }
  const later: Required<HeldDelivery> = {
    ...{ taskId: 'canary-13', isInTaskAlone: true, expiresAt: 1_014, contextId: 'canary-15' },
    step: { state: 'failed', chunk: { artifactId: 'canary-16', append: true, lastChunk: true, name: 'canary-17' } },
  }
  const content: HeldContent = {
    ...{
      messageId: 'm',
      fromAlias: 'alice',
      type: 'agent',
      recipient: '@bob',
      body: 'hi',
      a2a: JSON.stringify(details),
    },
    ...{ replyToMessageId: 'canary-18', conversationId: 'canary-19', hops: 20, flagged: true, sanitized: true },
    ...{ sharedWith: 'canary-21', via: 'slack', later, parts: [] },
  }

  const shown = JSON.stringify(shownContent(content))
  for (let n = 1; n <= 21; n++) {
    if (n !== 14 && n !== 20) expect(shown).toContain(`canary-${n}"`)
  }
  for (
    const field of [
      '["via","slack"]',
      '["expiresAt",1014]',
      '["hops",20]',
      '["isInTaskAlone",true]',
      '["state","failed"]',
    ]
  ) {
    expect(shown).toContain(field)
  }
})

test('a decision about content that differs from the stored message has no effect', async () => {
  await hold(grid.acme.store)
  await sendMessage(storeOf(grid, grid.alice), { to: 'bob', text: 'hi', conversationId: 'one' })
  const open = await browser.open(await page())
  await rows(grid, "UPDATE messages SET conversation_id = 'two' WHERE account_id = ?", [grid.acme.id])

  const late = await browser.send(open, {}, `${await page()}/approve`)

  expect(late.text).toContain('The text has changed. Read it again.')
  expect(await heldMessages(ann)).toHaveLength(1)
  const [{ id }] = await heldMessages(ann)
  const later = JSON.stringify({ taskId: null, isInTaskAlone: false, expiresAt: null, contextId: 'another' })
  const { hash } = await heldMessage(ann, id)
  await rows(grid, 'UPDATE held_messages SET later = ? WHERE account_id = ?', [later, grid.acme.id])
  await expect(approve(ann, { id, hash })).rejects.toMatchObject({ code: 'invalid_input' })
})
