/** An exchange across three processes, one per runtime, is one trace. See docs/operating/monitoring.md, "Traces". */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Collector, startCollector, treeOf } from '../../support/collector.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { gridPath } from '../../support/mcp.ts'
import { runtimes, type ServerProcess, startServe } from '../../support/process.ts'
import { type Sqld, startSqld } from '../../support/sqld.ts'
import { callTool } from '../../e2e/client.ts'

let collector: Collector
let sqld: Sqld
let grid: TestGrid
let processes: ServerProcess[]
beforeAll(async () => {
  ;[collector, sqld] = await Promise.all([startCollector(), startSqld()])
  grid = await testGrid({ url: sqld.url })
  const env = { DATABASE_URL: sqld.url, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_SERVICE_NAME: 'our grid' }
  processes = await Promise.all(runtimes.map((runtime) => startServe(runtime, env)))
})
afterAll(async () => {
  await Promise.all(processes.map((server) => server.stop()))
  await grid.close()
  await sqld.stop()
  await collector.close()
})

test('a question on Node, its answer on Deno and the read on Bun are one trace', async () => {
  const [node, deno, bun] = processes.map(({ url }) => url)
  const { message_id } = await callTool(node, grid.alice.key, 'send_message', { to: 'bob', message: 'Is it green?' })
  await callTool(deno, grid.bob.key, 'read_messages', { wait_seconds: 5 })
  const answer = { to: 'alice', message: 'It is.', reply_to_message_id: message_id }
  await callTool(deno, grid.bob.key, 'send_message', answer)
  await callTool(bun, grid.alice.key, 'read_messages', { wait_seconds: 5 })
  const stopped = await Promise.all(processes.map((server) => server.stop()))

  expect(stopped.map(({ code }) => code)).toEqual([0, 0, 0])
  const [{ traceId }] = collector.spans.filter(({ name }) => name === 'send_message')
  const lines = treeOf(collector.spans, traceId).split('\n').filter((line) => line.trim() !== 'wait')
  expect(lines).toEqual([
    `POST ${gridPath}`,
    '  send_message',
    '    commit',
    `  POST ${gridPath}`,
    '    read_messages',
    '      commit',
    `  POST ${gridPath}`,
    '    send_message',
    '      commit',
    `    POST ${gridPath}`,
    '      read_messages',
    '        commit',
  ])
  expect(collector.text()).toContain('"our grid"')
})
