/**
 * Two grids on different runtimes have each other's agents as remote agents, and are killed in turn. Nothing is lost,
 * nothing arrives twice, and the order is kept. For a longer run: `TWO_GRIDS_MESSAGES=2000 TWO_GRIDS_KILLS=10 npx
 * vitest run --config test/vitest.config.ts test/e2e/two-grids.test.ts`.
 */
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Runtime } from '../../scripts/runtime.ts'
import { setAutomated } from '../../src/grid/messaging/turns.ts'
import { freePort } from '../../src/lib/free-port.ts'
import { testGrid } from '../support/grid.ts'
import { type ServerProcess, startServe } from '../support/process.ts'
import { callTool } from './client.ts'

const messages = Number(process.env.TWO_GRIDS_MESSAGES ?? 25)
const kills = Number(process.env.TWO_GRIDS_KILLS ?? 1)

interface Side {
  url: string
  env: Record<string, string>
  runtime: Runtime
  /** The keys of alice, who asks the other grid's bob, and of bob, who answers the other grid's alice. */
  keys: { alice: string; bob: string }
  server?: ServerProcess
}

async function prepare(runtime: Runtime): Promise<Side & { caller: string; adminKey: string }> {
  const grid = await testGrid()
  const caller = await grid.acme.agent('caller')
  for (const agent of ['alice', 'bob', 'caller']) await setAutomated(grid.acme.store, { agent, isAutomated: true })
  await grid.store.close()
  const port = await freePort()
  const file = join(grid.folder, 'grid.db')
  const env = {
    PORT: `${port}`,
    BASE_URL: `http://127.0.0.1:${port}`,
    DATABASE_URL: `file:${file}`,
    ALLOW_PRIVATE_TARGETS: '1',
    LOG_LEVEL: 'error',
    MESSAGES_PER_DAY: '1000000',
  }
  const keys = { alice: grid.alice.key, bob: grid.bob.key }
  return { url: env.BASE_URL, env, runtime, keys, caller: caller.key, adminKey: grid.acme.adminKey }
}

async function start(side: Side): Promise<void> {
  side.server = await startServe(side.runtime, side.env)
}

/** Retries a call until it gets a response, because a killed process sends none. */
async function call(side: Side, key: string, tool: string, args: object) {
  for (;;) {
    try {
      const answer = await callTool(side.url, key, tool, args)
      if (answer.error?.code !== 'unavailable') return answer
    } catch {
      // The process is down.
    }
    await sleep(100)
  }
}

/** Answers each message once. Resolves to the received texts in order. */
async function answering(side: Side, isDone: () => boolean): Promise<string[]> {
  const seen = new Map<string, string>()
  while (!isDone()) {
    const read = await call(side, side.keys.bob, 'read_messages', { wait_seconds: 1 })
    for (const { message_id, message, reply_to } of read.messages) {
      seen.set(message_id, message)
      const answer = {
        to: reply_to,
        message: `re ${message}`,
        reply_to_message_id: message_id,
        idempotency_key: message_id,
      }
      await call(side, side.keys.bob, 'send_message', answer)
    }
  }
  return [...seen.values()]
}

/** Asks questions, and reads until all are answered. Resolves to the answers by question. */
async function asking(side: Side): Promise<Map<string, string[]>> {
  const questions = new Map<string, string>()
  const answers = new Map<string, Map<string, string>>()
  for (let n = 0; n < messages; n++) {
    const sent = { to: '@far-bob', message: `${n}`, idempotency_key: `question ${n}` }
    questions.set((await call(side, side.keys.alice, 'send_message', sent)).message_id, `${n}`)
  }
  while (answers.size < messages) {
    const read = await call(side, side.keys.alice, 'read_messages', { wait_seconds: 1 })
    for (const { message_id, message, reply_to_message_id } of read.messages) {
      const question = questions.get(reply_to_message_id)!
      answers.set(question, new Map(answers.get(question)).set(message_id, message))
    }
  }
  return new Map([...answers].map(([question, all]) => [question, [...all.values()]]))
}

test(
  'two grids that exchange messages while they are killed in turn lose nothing, repeat nothing, and keep the order',
  async () => {
    const sides = [await prepare('node'), await prepare('bun')]
    await Promise.all(sides.map(start))
    for (const [n, side] of sides.entries()) {
      const other = sides[1 - n]
      await callTool(side.url, side.adminKey, 'admin_create_agent', {
        alias: 'far-bob',
        type: 'a2a',
        remoteUrl: `${other.url}/a2a/v1/agents/bob/`,
        remoteToken: other.caller,
      })
    }

    let isDone = false
    const answered = sides.map((side) => answering(side, () => isDone))
    const asked = sides.map(asking)
    for (let killed = 0; killed < 2 * kills; killed++) {
      await sleep(1_000 + Math.random() * 2_000)
      const side = sides[killed % 2]
      side.server!.signal('SIGKILL')
      await side.server!.ended
      await start(side)
    }
    const answers = await Promise.all(asked)
    isDone = true
    const texts = await Promise.all(answered)

    const expected = Array.from({ length: messages }, (_, n) => `${n}`)
    for (const side of [0, 1]) {
      expect(texts[side]).toEqual(expected)
      expect(answers[side]).toEqual(new Map(expected.map((text) => [text, [`re ${text}`]])))
    }
    await Promise.all(sides.map(({ server }) => server!.stop()))
  },
  120_000 + messages * 2 * 1_000,
)
