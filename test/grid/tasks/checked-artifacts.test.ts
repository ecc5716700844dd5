/** The content of an artifact that guardrails see, and its redaction. See docs/protocol/guardrails.md. */
import { beforeEach, expect, test } from 'vitest'
import type { Part } from '../../../src/grid/message/part.ts'
import { getTask } from '../../../src/grid/tasks/tasks.ts'
import { updateTask } from '../../../src/grid/tasks/update-task.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import { storeOf, type TestGrid, testGrid } from '../../support/grid.ts'
import { guard, secret, testProviders } from '../../support/guarded.ts'
import { askFor, eventsOf, inShort } from '../../support/tasks.ts'

let grid: TestGrid
let client: AccountStore
let bob: AccountStore
let id: string
beforeEach(async () => {
  grid = await testGrid(testProviders())
  client = storeOf(grid, grid.alice)
  bob = storeOf(grid, grid.bob)
  id = (await askFor(client, 'a question')).id
})

type Update = Parameters<typeof updateTask>[1]
type Artifact = NonNullable<Update['artifact']>
type Texts = {
  [Field in keyof Artifact as Exclude<Artifact[Field], undefined> extends string ? Field : never]-?: string
}

/** Every text in an artifact. Without an entry for a new text field, this does not compile. */
const texts: Texts = { id: 'an id', name: 'a name' }
const fields = Object.keys(texts) as (keyof Texts)[]
const put = (artifact: Partial<Artifact>, text = 'text') =>
  updateTask(bob, { taskId: id, text, artifact: { ...texts, ...artifact } })

test.each(fields)('a guardrail sees and redacts the %s of an artifact', async (field) => {
  await guard(grid.acme, 'bob', { name: 'words', direction: 'outbound', action: 'redact' })
  await put({ [field]: `a ${secret}` })
  expect((await getTask(client, id)).artifacts).toHaveLength(1)
  expect(JSON.stringify(await getTask(client, id))).toContain('a [redacted]')
  expect(JSON.stringify(await getTask(client, id))).not.toContain(secret)
})

test.each(fields)("the client's guardrail also sees the %s of an artifact", async (field) => {
  await guard(grid.acme, 'alice', { direction: 'inbound' })
  await expect(put({ [field]: `a ${secret}` })).rejects.toMatchObject({ code: 'guardrail_blocked' })
  expect((await getTask(client, id)).artifacts).toEqual([])
})

test.each(['checked', 'not checked'])('no text of an artifact contains invisible characters: %s', async (how) => {
  if (how === 'checked') await guard(grid.acme, 'bob', { direction: 'outbound' })
  const hostile = (text: string) => `\u001b[31m${text}\u202e\u{e0041}`
  await put(Object.fromEntries(fields.map((field) => [field, hostile(texts[field])])), hostile('text'))

  const { artifacts } = await getTask(client, id)
  expect(artifacts).toEqual([{ artifactId: '[31man id', name: '[31ma name', parts: [{ text: '[31mtext' }] }])
  await expect(put({ id: '\u202e' })).rejects.toMatchObject({ code: 'invalid_input' })
})

const [first, second] = [secret.slice(0, 5), secret.slice(5)]

test('a secret that is split over chunks is blocked with the chunk that completes it', async () => {
  await guard(grid.acme, 'bob', { direction: 'outbound' })
  for (const [n, letter] of [...secret].entries()) {
    const more = put({ append: n > 0 }, letter)
    if (n < secret.length - 1) await more
    else await expect(more).rejects.toMatchObject({ code: 'guardrail_blocked' })
  }
  expect(inShort(await opened())).toEqual(['submitted', ...secret.slice(0, -1)])
})

test.each([
  ['with data behind it', [{ text: 'one' }, { text: first }], [{ text: second }, { data: 1 }]],
  ['behind a long text', [{ text: `${'x'.repeat(30_000)} ${first}` }], [{ text: second }]],
  ['behind many parts', [...Array(900).fill({ text: 'x' }), { text: first }], [{ text: second }]],
  ['with parts of it in two texts before', [{ text: 'one' }, { text: secret.slice(0, 3) }, {
    text: secret.slice(3, 5),
  }], [{ text: second }]],
  ['with parts of it in two texts behind many parts', [
    ...Array(900).fill({ text: 'x' }),
    { text: secret.slice(0, 3) },
    {
      text: secret.slice(3, 5),
    },
  ], [{ text: second }]],
  ['with data between', [{ text: first }, { data: 1 }], [{ text: second }]],
  ['with a part of it in a second text', [{ text: first }], [{ text: second.slice(0, 2) }, {
    text: second.slice(2),
  }]],
  ['behind texts that have not fit into the message', [
    { text: secret.slice(0, 3), metadata: { a: 'x'.repeat(9_000) } },
    {
      text: secret.slice(3, 5),
      metadata: { a: 'x'.repeat(9_000) },
    },
  ], [{ text: second }]],
  ['behind a part with a name', [{ text: `${'x'.repeat(30_000)} ${first}`, filename: 'f'.repeat(900) }], [{
    text: second,
  }]],
])('the chunk that completes a secret is redacted: %s', async (_, before, after) => {
  await guard(grid.acme, 'bob', { direction: 'outbound', action: 'redact' })
  await updateTask(bob, { taskId: id, parts: before as Part[], artifact: texts })
  await updateTask(bob, { taskId: id, parts: after, artifact: { ...texts, append: true } })

  const [{ parts }] = (await getTask(client, id)).artifacts
  expect(parts[before.length]).toEqual({ text: '[redacted]' })
  expect(parts[before.length - 1]).toMatchObject(before.at(-1)!)
})

test("a secret split over an artifact's chunks does not pass, even if the artifact's id is redacted", async () => {
  await guard(grid.acme, 'bob', { direction: 'outbound', action: 'redact' })
  await put({ id: `a ${secret}` }, first)
  await put({ id: `a ${secret}`, append: true }, second)

  expect((await getTask(client, id)).artifacts.map(({ parts }) => parts)).toEqual([[{ text: second }]])
})

test('simultaneous chunks are checked one after the other', async () => {
  await guard(grid.acme, 'bob', { direction: 'outbound' })
  await put({})
  const ended = await Promise.allSettled([put({ append: true }, first), put({ append: true }, second)])
  expect(ended.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
})

test('a new guardrail also checks earlier chunks, and does not block harmless later ones', async () => {
  await put({}, `${secret} ${first}`)
  await guard(grid.acme, 'bob', { direction: 'outbound' })

  await expect(put({ append: true }, second)).rejects.toMatchObject({ code: 'guardrail_blocked' })
  await put({ append: true }, 'harmless')
  // Another artifact does not continue the first one.
  await put({ id: 'other' }, second)
})

const opened = async () => {
  await updateTask(bob, { taskId: id, state: 'failed' })
  return (await eventsOf(client, id)).slice(0, -1)
}
