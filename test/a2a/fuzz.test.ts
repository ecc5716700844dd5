import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { postA2a, request, send03, send10 } from '../support/a2a.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'

let grid: TestGrid
beforeAll(async () => {
  grid = await testGrid()
})
afterAll(() => grid.close())

const complete = [
  send03({ contextId: 'c', taskId: null, extensions: [], referenceTaskIds: ['t'] }, {
    configuration: { blocking: true, historyLength: 1, acceptedOutputModes: ['text/plain'] },
    metadata: { x: 1 },
  }),
  send10({ contextId: 'c', parts: [{ text: 'a', mediaType: 'x', filename: 'y' }, { raw: 'AA' }, { data: [1] }] }, {
    tenant: 'bob',
    configuration: { returnImmediately: true },
  }),
  request('GetTask', { id: 't', historyLength: 1 }),
  request('tasks/list', {
    pageSize: 5,
    status: 'working',
    pageToken: 't',
    statusTimestampAfter: '2026-11-21T09:00:00Z',
  }),
  request('CancelTask', { id: 't', tenant: 'bob', metadata: { x: 1 } }),
  request('SubscribeToTask', { id: 't' }),
]

const unusualValue = fc.oneof(
  fc.constantFrom(null, '', 0, -1, 1.5, true, [], {}, [null], '\0', '\ud800', '@', '#x', '__proto__', 'x'.repeat(300)),
  fc.jsonValue({ maxDepth: 3 }),
)

test('whatever is changed in a request, the answer is a valid response and no fault of ours', async () => {
  const mutated = fc.constantFrom(...complete).chain((body) =>
    fc.array(fc.tuple(fc.constantFrom(...pathsOf(body)), unusualValue, fc.boolean()), { minLength: 1, maxLength: 3 })
      .map((changes) => changes.reduce((changed, [path, value, drop]) => change(changed, path, value, drop), body))
  )

  await fc.assert(fc.asyncProperty(mutated, (body) => expectResponse(JSON.stringify(body))), { numRuns: 1_000 })
})

test('whatever bytes are sent, the answer is a valid response and no fault of ours', async () => {
  const cut = fc.tuple(fc.constantFrom(...complete), fc.nat(400), fc.string({ unit: 'binary', maxLength: 5 }))
    .map(([body, at, text]) => {
      const json = JSON.stringify(body)
      return json.slice(0, at) + text + json.slice(at + text.length)
    })

  await fc.assert(fc.asyncProperty(fc.oneof(cut, fc.string({ unit: 'binary' })), (text) => expectResponse(text)), {
    numRuns: 300,
  })
})

test('whatever headers are sent, the answer is a valid response and no fault of ours', async () => {
  const text = fc.string({ unit: 'grapheme-ascii', maxLength: 20 })
  const headers = fc.record({
    'A2A-Version': fc.oneof(fc.constantFrom('1.0', '0.3', ''), text),
    'A2A-Extensions': text,
    'Idempotency-Key': text,
    'Content-Type': fc.oneof(fc.constant('application/json'), text),
  }, { requiredKeys: [] })

  await fc.assert(
    fc.asyncProperty(headers, fc.constantFrom(...complete), (sent, body) => expectResponse(JSON.stringify(body), sent)),
    { numRuns: 200 },
  )
})

async function expectResponse(text: string, headers: Record<string, string> = {}): Promise<void> {
  const { status, body } = await postA2a(grid, grid.alice.key, text, headers)

  expect(status).toBe(200)
  expect(body.jsonrpc).toBe('2.0')
  expect(body).toHaveProperty('id')
  expect('result' in body).not.toBe('error' in body)
  if ('error' in body) {
    expect(body.error).toMatchObject({ code: expect.any(Number), message: expect.any(String) })
    expect(body.error.code).not.toBe(-32603)
  }
}

type Path = (string | number)[]

/** The path of every value inside a value. */
function pathsOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path]
  const entries: [string | number, unknown][] = Array.isArray(value) ? [...value.entries()] : Object.entries(value)
  return [...(path.length > 0 ? [path] : []), ...entries.flatMap(([name, member]) => pathsOf(member, [...path, name]))]
}

/** A copy with the value at one path replaced or removed; unchanged if an earlier change removed the path. */
function change<T>(value: T, path: Path, replacement: unknown, drop: boolean): T {
  const copy = structuredClone(value)
  // deno-lint-ignore no-explicit-any -- earlier changes may have put any value here
  let parent: any = copy
  for (const name of path.slice(0, -1)) {
    if (typeof parent !== 'object' || parent === null) return copy
    parent = parent[name]
  }
  if (typeof parent !== 'object' || parent === null) return copy
  const last = path[path.length - 1]
  if (drop) delete parent[last]
  else parent[last] = replacement
  return copy
}
