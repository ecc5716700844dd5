/**
 * Files that are uploaded in pieces, resumed, and sent in one message, and their limits. docs/protocol/rest.md,
 * "Uploads".
 */
import { Buffer } from 'node:buffer'
import { beforeEach, expect, test } from 'vitest'
import { createChannel } from '../../src/grid/channels/channels.ts'
import { findPart } from '../../src/grid/message/read-part.ts'
import { expireMessages, sweep } from '../../src/worker/retention.ts'
import { endpointOf, postA2a, request, send10 } from '../support/a2a.ts'
import { rows, updateTrial } from '../support/database.ts'
import { onEachDatabase } from '../support/databases.ts'
import { storeOf, type TestAgent, type TestGrid, testGrid } from '../support/grid.ts'
import { guard, secret, testProviders } from '../support/guarded.ts'
import { callTool } from '../support/mcp.ts'
import { callRest } from '../support/rest.ts'

const rowBytes = 64 * 1024
const hour = 3_600_000
const content = Buffer.from(Array.from({ length: 3 * rowBytes + 100 }, (_, n) => n * 7 % 251))

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid(testProviders())
})

const begin = (bytes: number, { key } = grid.alice, more: Record<string, unknown> = {}) =>
  callRest(grid, key, 'POST /api/v1/parts', { bytes, ...more })

const look = (id: string, { key } = grid.alice) => callRest(grid, key, 'GET /api/v1/parts/{id}/upload', { id })

async function put(id: string, offset: number, body: BodyInit, { key } = grid.alice) {
  const response = await grid.request(`/api/v1/parts/${id}?offset=${offset}`, {
    method: 'PUT',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/octet-stream' },
    body,
    duplex: 'half',
  } as RequestInit)
  return { status: response.status, body: await response.json() }
}

async function uploaded(
  bytes: Buffer<ArrayBuffer>,
  more: Record<string, unknown> = {},
  agent = grid.alice,
): Promise<string> {
  const { body: { upload_id } } = await begin(bytes.length, agent, more)
  const { body } = await put(upload_id, 0, bytes, agent)
  expect(body).toEqual({ upload_id, offset: bytes.length, bytes: bytes.length })
  return upload_id
}

async function send(parts: unknown, to = 'bob', { key }: TestAgent = grid.alice) {
  const { code, message, text } = await callTool(grid, key, 'send_message', { to, message: 'see', parts })
  return { code, message, id: text.message_id as string }
}

async function read({ key }: TestAgent = grid.bob) {
  return (await callTool(grid, key, 'read_messages')).text[0]
}

/** Returns a stream that sends these bytes, and then fails like a broken connection. */
function brokenOff(bytes: Buffer): ReadableStream {
  let isSent = false
  return new ReadableStream({
    pull(controller) {
      if (isSent || bytes.length === 0) controller.error(new Error('gone'))
      else controller.enqueue(bytes)
      isSent = true
    },
  })
}

onEachDatabase((open) => {
  beforeEach(async () => {
    grid = await open()
  })

  test('an uploaded file arrives completely or in ranges, and belongs to one message', async () => {
    const upload_id = await uploaded(content, { filename: 'a\u202eb.bin', mediaType: 'application/x-test' })

    const sent = await send([{ upload_id }])
    const message = await read()

    const handle = `${sent.id}.0`
    expect(message.parts).toEqual([
      { kind: 'raw', filename: 'ab.bin', mediaType: 'application/x-test', bytes: content.length, part_id: handle },
    ])
    for (const { key } of [grid.alice, grid.bob]) {
      const get = (headers = {}) =>
        grid.request(`/api/v1/parts/${handle}`, { headers: { Authorization: `Bearer ${key}`, ...headers } })
      const whole = await get()
      expect(Buffer.from(await whole.arrayBuffer()).equals(content)).toBe(true)
      expect(Object.fromEntries(whole.headers)).toMatchObject({
        'content-length': `${content.length}`,
        'content-type': 'application/x-test',
        'content-disposition': "attachment; filename*=UTF-8''ab.bin",
        'x-content-type-options': 'nosniff',
      })
      for (
        const [first, last] of [[0, 0], [rowBytes - 1, rowBytes], [rowBytes, 3 * rowBytes], [10, content.length - 1]]
      ) {
        const part = await get({ Range: `bytes=${first}-${last}` })
        expect(part.status).toBe(206)
        expect(Buffer.from(await part.arrayBuffer()).equals(content.subarray(first, last + 1))).toBe(true)
      }
    }
    const pages = await callTool(grid, grid.bob.key, 'read_part', { part_id: handle, offset: rowBytes - 5 })
    expect(pages.text).toMatchObject({ bytes: content.length, left: content.length - rowBytes + 5 - 12_000 })
    expect(Buffer.from(pages.text.base64, 'base64').equals(content.subarray(rowBytes - 5, rowBytes + 11_995))).toBe(
      true,
    )
    expect((await send([{ upload_id }])).code).toBe('part_not_found')
  })

  test.each([0, 1, rowBytes - 1, rowBytes, rowBytes + 1, 2 * rowBytes + 5, content.length - 1])(
    'an upload that was interrupted after %i bytes continues at the last complete row',
    async (length) => {
      const { body: { upload_id } } = await begin(content.length)

      await put(upload_id, 0, brokenOff(content.subarray(0, length)))

      const { body: { offset } } = await look(upload_id)
      expect(offset).toBe(Math.floor(length / rowBytes) * rowBytes)
      expect((await put(upload_id, offset, content.subarray(offset))).body.offset).toBe(content.length)
      const { id } = await send([{ upload_id }])
      const response = await callRest(grid, grid.bob.key, 'GET /api/v1/parts/{id}', { id: `${id}.0` })
      expect(response.status).toBe(200)
      const stored = await rows(grid, 'SELECT content FROM upload_rows WHERE account_id = ? ORDER BY n', [grid.acme.id])
      expect(Buffer.concat(stored.map((row) => Buffer.from(row.content as ArrayBuffer))).equals(content)).toBe(true)
    },
  )

  test('bytes at a wrong offset are refused with the right offset, and one of two simultaneous pieces is stored', async () => {
    const { body: { upload_id } } = await begin(content.length)
    const first = content.subarray(0, rowBytes)

    const answers = await Promise.all([put(upload_id, 0, first), put(upload_id, 0, Buffer.alloc(rowBytes, 1))])
    const late = await put(upload_id, 0, first)

    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
    expect(late).toMatchObject({ status: 409, body: { error: { code: 'wrong_offset', offset: rowBytes } } })
    const [row, ...others] = await rows(grid, 'SELECT content FROM upload_rows WHERE account_id = ?', [grid.acme.id])
    expect(others).toEqual([])
    const winner = answers[0].status === 200 ? first : Buffer.alloc(rowBytes, 1)
    expect(Buffer.from(row.content as ArrayBuffer).equals(winner)).toBe(true)
  })

  test("uploads that are unknown, used, expired or another agent's cannot be distinguished", async () => {
    const foreign = await uploaded(content, {}, grid.eve)
    const ofMate = await uploaded(content, {}, grid.bob)
    const named = await uploaded(content)
    await send([{ upload_id: named }])
    const expired = await uploaded(content)
    grid.clock.now += hour
    const unknown = '01a2087c-70c5-765c-855c-ffb583203697'

    for (const id of [unknown, foreign, ofMate, named, expired]) {
      const answers = [await look(id), await put(id, 0, content), await send([{ upload_id: id }])]
      expect(answers.map((answer) => 'body' in answer ? answer.body.error : answer)).toMatchObject([
        ...Array(2).fill({
          code: 'part_not_found',
          message: 'You have no upload with this id that waits for a message.',
        }),
        { code: 'part_not_found' },
      ])
    }
  })

  test('a part with an upload can have no other content, and the upload can still be used after a refusal', async () => {
    const upload_id = await uploaded(content)
    for (const other of [{ text: 'See the file.' }, { text: '' }, { raw: 'aGk=' }, { data: { n: 1 } }]) {
      const { code, message } = await send([{ upload_id, ...other }])
      expect(code).toBe('invalid_input')
      expect(message).toContain(`A part has an upload or \`${Object.keys(other)[0]}\`.`)
    }
    expect((await send([{ upload_id }])).code).toBeUndefined()
  })

  test('unused uploads are removed after an hour, and used ones with their message', async () => {
    const count = async (table: string) =>
      (await rows(grid, `SELECT 1 FROM ${table} WHERE account_id = ?`, [grid.acme.id])).length
    await send([{ upload_id: await uploaded(content) }])
    await uploaded(content)

    grid.clock.now += hour
    await sweep(grid.store)
    expect([await count('uploads'), await count('upload_rows')]).toEqual([1, 4])
    grid.clock.now += 91 * 24 * hour
    await sweep(grid.store)
    expect([await count('uploads'), await count('upload_rows')]).toEqual([0, 0])
  })
})

test("a message's file name and type take precedence over those of the upload", async () => {
  const upload_id = await uploaded(content, { filename: 'a.bin', mediaType: 'application/a' })
  await send([{ upload_id, filename: 'b.bin' }])

  expect((await read()).parts).toMatchObject([{ filename: 'b.bin', mediaType: 'application/a' }])
})

test.each([
  ['retracted', (id: string) => callTool(grid, grid.alice.key, 'retract_message', { message_id: id })],
  ['expired', async () => {
    grid.clock.now += 11_000
    await expireMessages(grid.store)
  }],
])('the files of a message are removed after it was %s', async (_, end) => {
  const upload_id = await uploaded(content)
  const sent = { to: 'bob', message: 'see', parts: [{ upload_id }], expires_in_seconds: 10 }
  const { text: { message_id } } = await callTool(grid, grid.alice.key, 'send_message', sent)

  await end(message_id)
  await sweep(grid.store)

  expect((await look(upload_id)).status).toBe(404)
  expect(await rows(grid, 'SELECT 1 FROM upload_rows WHERE account_id = ?', [grid.acme.id])).toEqual([])
})

test('a piece smaller than a row is refused unless it is the last, and so are more bytes than declared', async () => {
  const { body: { upload_id } } = await begin(rowBytes + 1)

  expect((await put(upload_id, 0, content.subarray(0, 100))).body.error.code).toBe('invalid_input')
  expect((await put(upload_id, 0, content)).body.error.code).toBe('payload_too_large')
  expect((await send([{ upload_id }])).message).toContain('An upload has')
})

test('an agent can have 4 unused uploads, and declared bytes count towards the daily quota', async () => {
  grid = await testGrid({ env: { MEGABYTES_PER_DAY: '1', MAX_FILE_BYTES: '900000' } })

  expect((await begin(900_001)).body.error.code).toBe('payload_too_large')
  expect((await begin(900_000)).status).toBe(201)
  expect((await begin(900_000)).body.error).toMatchObject({ code: 'quota_exceeded' })
  for (let n = 0; n < 3; n++) expect((await begin(10)).status).toBe(201)
  expect((await begin(10)).body.error).toMatchObject({ code: 'upload_limit_reached' })
  grid.clock.now += hour
  expect((await begin(10)).status).toBe(201)
})

test('an agent on trial can upload 1 MiB in total, including used uploads', async () => {
  await updateTrial(grid, grid.alice, { used: 0, max: 10, expiresAt: grid.clock.now + 24 * hour })
  const half = Buffer.alloc(512 * 1024, 'a')

  expect((await send([{ upload_id: await uploaded(half) }])).code).toBeUndefined()
  expect((await begin(half.length + 1)).body.error).toMatchObject({ code: 'quota_exceeded' })
  expect((await begin(half.length)).status).toBe(201)
})

test('when the disk fills up, files are refused before messages', async () => {
  const mark = 200 * 2 ** 20
  const space = { free: 2 * mark + content.length, total: 100 * mark }
  grid = await testGrid({ readSpace: () => Promise.resolve(space) })
  await grid.store.storage.check()

  const { status, body: { upload_id } } = await begin(content.length)
  expect(status).toBe(201)
  expect((await begin(content.length + 1)).body.error).toMatchObject({ code: 'storage_full' })
  // Pieces of uploads in progress are also refused.
  space.free -= 1
  await grid.store.storage.check()
  expect((await put(upload_id, 0, content)).body.error).toMatchObject({ code: 'storage_full' })
  expect((await send(undefined)).code).toBeUndefined()
})

test("a guardrail checks an upload's text when a message includes it, and redacts the file", async () => {
  const text = Buffer.from(`${'x'.repeat(100_000)} ${secret} `)
  await guard(grid.acme, 'bob', { direction: 'inbound', action: 'redact' })

  const { id } = await send([{ upload_id: await uploaded(text, { filename: 'a.txt' }) }])

  const { parts, flagged } = await read()
  expect([flagged, parts[0].filename, parts[0].bytes]).toEqual([true, 'a.txt', text.length - secret.length + 10])
  const { text: file } = await callRest(grid, grid.bob.key, 'GET /api/v1/parts/{id}', { id: `${id}.0` })
  expect(file).toBe(`${'x'.repeat(100_000)} [redacted] `)
  await guard(grid.acme, 'alice', { direction: 'outbound' })
  expect((await send([{ upload_id: await uploaded(text) }])).code).toBe('guardrail_blocked')
})

test('an A2A client gets the upload of an answer or artifact as a URL, which it opens with its key', async () => {
  const { body } = await postA2a(
    grid,
    grid.alice.key,
    send10({ metadata: undefined }, { configuration: { returnImmediately: true } }),
    {},
    endpointOf(grid.bob),
  )
  const { task_id, message_id } = await read()
  const ids = [await uploaded(content, {}, grid.bob), await uploaded(content, { filename: 'b.bin' }, grid.bob)]
  await callTool(grid, grid.bob.key, 'update_task', {
    task_id,
    parts: [{ upload_id: ids[0] }],
    artifact: { id: 'log' },
  })
  const answer = { to: 'alice', message: 'done', reply_to_message_id: message_id, parts: [{ upload_id: ids[1] }] }
  expect((await callTool(grid, grid.bob.key, 'send_message', answer)).code).toBeUndefined()

  const { body: { result } } = await postA2a(grid, grid.alice.key, request('GetTask', { id: body.result.task.id }))

  const [log, done] = result.artifacts
  expect([log.parts.length, done.parts]).toMatchObject([1, [{ text: 'done' }, { filename: 'b.bin' }]])
  for (const { url } of [log.parts[0], done.parts[1]]) {
    const file = await grid.request(new URL(url).pathname, { headers: { Authorization: `Bearer ${grid.alice.key}` } })
    expect(Buffer.from(await file.arrayBuffer()).equals(content)).toBe(true)
  }
})

test('an upload that is redacted for one channel member is unchanged for the others', async () => {
  const carol = await grid.acme.agent('carol')
  await createChannel(grid.acme.store, { name: 'team', members: ['alice', 'bob', 'carol'] })
  await guard(grid.acme, 'bob', { direction: 'inbound', action: 'redact' })
  const upload_id = await uploaded(Buffer.from(`a ${secret}`), { mediaType: 'text/plain' })

  const other = await uploaded(Buffer.from('harmless'))

  const { id } = await send([{ upload_id }, { upload_id: other }], '#team')

  const files = await Promise.all([grid.bob, carol].map(async ({ key }) => {
    const { text: [{ parts: [part] }] } = await callTool(grid, key, 'read_messages')
    return part.text ?? (await callRest(grid, key, 'GET /api/v1/parts/{id}', { id: part.part_id })).text
  }))
  expect(files).toEqual(['a [redacted]', `a ${secret}`])
  // The copy for the other member contains no file that is unchanged.
  const copies = await rows(grid, 'SELECT a2a FROM deliveries WHERE account_id = ? AND a2a IS NOT NULL', [grid.acme.id])
  expect(JSON.stringify(copies)).not.toContain(btoa('harmless'))
  expect((await callRest(grid, grid.bob.key, 'GET /api/v1/parts/{id}', { id: `${id}.1` })).text).toBe('harmless')
  expect((await callRest(grid, grid.bob.key, 'GET /api/v1/parts/{id}', { id: `${id}.0` })).status).toBe(404)
})

test('a message with 20 uploads includes all of them, even if a read has no space for their handles', async () => {
  const ids: string[] = []
  for (let n = 0; n < 4; n++) ids.push(await uploaded(Buffer.from(`${n}`), { filename: 'n'.repeat(250) }))
  const parts = Array.from({ length: 20 }, (_, n) => ({ upload_id: ids[n % 4], mediaType: `x/${'x'.repeat(90)}` }))
  await send(parts)

  const { parts: shown } = await read()
  const rest = shown.at(-1)
  expect([rest.kind, JSON.stringify(shown).length < 8 * 1024]).toEqual(['parts', true])
  const { text } = await callRest(grid, grid.bob.key, 'GET /api/v1/parts/{id}', { id: rest.part_id })
  const handles = [...shown.slice(0, -1), ...JSON.parse(text)]
  const contents = await Promise.all(
    handles.map(async ({ part_id: id }) => (await callRest(grid, grid.bob.key, 'GET /api/v1/parts/{id}', { id })).text),
  )
  expect(contents).toEqual(parts.map((_, n) => String(n % 4)))
})

const letters = (n: number) => Buffer.alloc(n, 'a')
const kib = 1024
test.each([
  ['a text of 1 MiB', [letters(2 ** 20)], undefined],
  ['a longer one', [letters(2 ** 20 + 1)], 'guardrail_blocked'],
  ['two of 512 KiB', [letters(512 * kib), letters(512 * kib)], undefined],
  ['two of 700 KiB', Array(2).fill(Buffer.from('é'.repeat(350 * kib))), 'guardrail_blocked'],
  ['a picture', [Buffer.from([0x89, 0x50, 0, 255])], 'guardrail_blocked'],
])('with onFailure closed, a guardrail blocks only uploads that it cannot check: %s', async (_, files, code) => {
  await guard(grid.acme, 'bob', { direction: 'inbound', action: 'block', onFailure: 'closed' })
  const parts: { upload_id: string }[] = []
  for (const file of files) parts.push({ upload_id: await uploaded(file) })

  expect((await send(parts)).code).toBe(code)
})

test("a part with an upload's id as part_id is treated like one with upload_id", async () => {
  const [upload_id, other] = [await uploaded(content), await uploaded(content)]
  const sendOnce = async (part: Record<string, string>) =>
    (await callTool(grid, grid.alice.key, 'send_message', {
      ...{ to: 'bob', message: 'see', parts: [part], idempotency_key: 'k' },
    })).text

  const { message_id } = await sendOnce({ part_id: upload_id })

  expect((await read()).parts).toMatchObject([{ bytes: content.length, part_id: `${message_id}.0` }])
  expect(await sendOnce({ upload_id })).toMatchObject({ message_id })
  expect(await sendOnce({ upload_id, part_id: upload_id })).toMatchObject({ message_id })
  expect((await send([{ upload_id: other, part_id: upload_id }])).code).toBe('invalid_input')
  expect((await send([{ part_id: `${message_id}.0` }])).code).toBe('part_not_found')
  expect((await send([{ upload_id: other, text: 'and this' }])).code).toBe('invalid_input')
})

test('of two simultaneous messages with the same upload, only one gets it', async () => {
  const upload_id = await uploaded(content)

  const sent = await Promise.all([send([{ upload_id }]), send([{ upload_id }])])

  expect(sent.map(({ code }) => code).sort()).toEqual(['part_not_found', undefined])
  expect((await callTool(grid, grid.bob.key, 'read_messages')).text).toHaveLength(1)
})

test('an upload that expires while a guardrail checks its message is not sent', async () => {
  const { remote, guardrailChecks } = testProviders()
  grid = await testGrid({ guardrailChecks })
  await guard(grid.acme, 'alice', { direction: 'outbound', provider: 'webhook', action: 'block' })
  remote.check = () => {
    grid.clock.now += hour
    return { kinds: [] }
  }

  expect((await send([{ upload_id: await uploaded(letters(100)) }])).code).toBe('part_not_found')
})

test('a file is no longer available to its recipient if its message is parked during the download', async () => {
  const { id } = await send([{ upload_id: await uploaded(content) }])
  const file = await findPart(storeOf(grid, grid.bob), `${id}.0`)
  await rows(grid, "UPDATE deliveries SET state = 'parked', read_at = 1 WHERE account_id = ?", [grid.acme.id])

  await expect(file.bytes(0, 10)).rejects.toMatchObject({ code: 'part_not_found' })
  expect((await callRest(grid, grid.bob.key, 'GET /api/v1/parts/{id}', { id: `${id}.0` })).status).toBe(404)
  expect((await findPart(storeOf(grid, grid.alice), `${id}.0`)).length).toBe(content.length)
})
