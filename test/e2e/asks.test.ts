/**
 * Agents ask each other over REST and wait for the answers, while callers hang up and the server is killed. Each answer
 * must arrive for its own question, and again only if marked as redelivered or replayed. For a longer run: `ASKS=10000
 * ASK_KILLS=10 ASK_RUNTIMES=node,deno,bun`.
 */
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Runtime } from '../../scripts/runtime.ts'
import { setAutomated } from '../../src/grid/messaging/turns.ts'
import { freePort } from '../../src/lib/free-port.ts'
import { testGrid } from '../support/grid.ts'
import { startServe } from '../support/process.ts'
import { callTool } from './client.ts'

const asks = Number(process.env.ASKS ?? 300)
const kills = Number(process.env.ASK_KILLS ?? 1)
const runtimes = (process.env.ASK_RUNTIMES ?? 'bun').split(',') as Runtime[]
const pairs = 6
/** How many questions each asking agent asks at a time: the maximum for one key. */
const lanes = 3

interface Message {
  message_id: string
  message: string
  reply_to: string
  conversation_id?: string
  redelivered?: true
  replayed?: true
}

test.each(runtimes)('on %s, each answer arrives for its own question', async (runtime) => {
  const { url, env, keys } = await prepared()
  let server = await startServe(runtime, env)
  let isDone = false
  /** All answers that arrived, by question. An answer may arrive repeatedly. */
  const arrived = new Map<string, Message[]>()
  const arrives = (question: string, message: Message) => {
    expect(message.message).toBe(`re ${question}`)
    arrived.set(question, [...arrived.get(question) ?? [], message])
  }
  const answered = keys.map(({ answering }) => answer(url, answering, () => isDone))
  let asked = 0
  const given: { pair: number; text: string }[] = []
  const asking = keys.flatMap(({ asking }, pair) =>
    Array.from({ length: lanes }, async () => {
      while (asked < asks) {
        const text = `${asked++}`
        given.push({ pair, text })
        const message = await ask(url, asking, `@b-${pair}`, text)
        if (message) arrives(text, message)
      }
    })
  )
  for (let killed = 0; killed < kills; killed++) {
    await sleep(500 + Math.random() * 1_000)
    server.signal('SIGKILL')
    await server.ended
    server = await startServe(runtime, env)
  }
  await Promise.all(asking)
  // The answer to an abandoned call is in the inbox. If the answer was sent just as the caller hung up, a retry of the
  // call gets it.
  for (const [pair, { asking }] of keys.entries()) {
    await until(async () => {
      const messages = await read(url, asking)
      for (const message of messages) arrives(message.message.slice(3), message)
      return messages.length === 0
    })
    for (const question of given.filter((question) => question.pair === pair && !arrived.has(question.text))) {
      arrives(question.text, (await ask(url, asking, `@b-${pair}`, question.text, false))!)
    }
  }
  expect(arrived.size).toBe(asks)
  isDone = true
  await Promise.all(answered)
  await server.stop()

  for (const messages of arrived.values()) {
    expect(new Set(messages.map(({ message_id }) => message_id)).size).toBe(1)
    const [, ...again] = messages
    expect(again.filter(({ redelivered, replayed }) => !redelivered && !replayed)).toEqual([])
  }
}, 120_000 + asks * 50)

async function prepared() {
  const grid = await testGrid()
  const keys = []
  for (let n = 0; n < pairs; n++) {
    const agents = [await grid.acme.agent(`a-${n}`), await grid.acme.agent(`b-${n}`)]
    for (const { alias, id } of agents) {
      await setAutomated(grid.acme.store, { agent: alias, isAutomated: true })
      // Mark the agent as seen, because a call does not wait for an agent that has never connected.
      await grid.acme.store.write([grid.acme.store.change.agents.markSeen(id, grid.clock.now)])
    }
    keys.push({ asking: agents[0].key, answering: agents[1].key })
  }
  await grid.store.close()
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const database = { DATABASE_URL: `file:${join(grid.folder, 'grid.db')}`, MESSAGES_PER_DAY: '1000000' }
  const env = { PORT: `${port}`, BASE_URL: url, LOG_LEVEL: 'error', CALLS_PER_MINUTE: '1000000', ...database }
  return { url, env, keys }
}

/** Asks until the answer arrives. After hanging up, a caller retries the call, or leaves the answer in the inbox. */
async function ask(
  url: string,
  key: string,
  to: string,
  question: string,
  mayLeave = true,
): Promise<Message | undefined> {
  const body = { to, message: question, conversation_id: question }
  const idempotencyKey = `question ${question}`
  for (;;) {
    const leaves = mayLeave && Math.random() < 0.2
    const signal = leaves ? AbortSignal.timeout(Math.ceil(Math.random() * 80)) : undefined
    const answer = await send(url, key, idempotencyKey, { ...body, wait_seconds: 5 }, signal)
      .then(async (response) => (await response?.json() as { answer?: { messages: Message[] } })?.answer)
      .catch(() => undefined)
    if (answer?.messages[0]) return answer.messages[0]
    if (leaves && Math.random() < 0.3) {
      await until(() => isSent(url, key, idempotencyKey, body))
      return undefined
    }
    await sleep(20)
  }
}

/** Answers each question once after a short delay. Half of the answers have no reply id. */
async function answer(url: string, key: string, isDone: () => boolean): Promise<void> {
  const answers = new Set<Promise<void>>()
  while (!isDone()) {
    for (const { message_id, message, reply_to, conversation_id } of await read(url, key, 1)) {
      const inReplyTo = Number(message) % 2 === 0 ? { reply_to_message_id: message_id } : { conversation_id }
      const body = { to: reply_to, message: `re ${message}`, ...inReplyTo }
      const sent = sleep(Math.random() * 60)
        .then(() => until(() => isSent(url, key, `answer ${message}`, body)))
        .finally(() => answers.delete(sent))
      answers.add(sent)
    }
  }
  await Promise.all(answers)
}

/** Sends a message. Resolves to undefined if the process is down, or the caller has disconnected. */
async function send(url: string, key: string, idempotencyKey: string, body: object, signal?: AbortSignal) {
  const headers = {
    Authorization: `Bearer ${key}`,
    'Content-Type': 'application/json',
    'Idempotency-Key': idempotencyKey,
  }
  return await fetch(`${url}/api/v1/messages`, { method: 'POST', headers, body: JSON.stringify(body), signal })
    .catch(() => undefined)
}

async function isSent(url: string, key: string, idempotencyKey: string, body: object): Promise<boolean> {
  const response = await send(url, key, idempotencyKey, body)
  await response?.body?.cancel()
  return response?.status === 201
}

async function read(url: string, key: string, seconds = 0): Promise<Message[]> {
  try {
    return (await callTool(url, key, 'read_messages', { wait_seconds: seconds })).messages ?? []
  } catch {
    await sleep(50)
    return []
  }
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!await condition()) await sleep(50)
}
