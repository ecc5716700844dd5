/** Many agents that wait at the same time: what each costs, and how fast all are woken. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { BenchAgent } from './agents.ts'
import {
  againMs,
  askPatiently,
  drain,
  good,
  isBusy,
  messageIds,
  mostRefusals,
  reading,
  send,
  sending,
} from './calls.ts'
import type { Connection } from './connection.ts'
import { withConnections } from './connections.ts'
import { type BenchGrid, newPlace, startGrid } from './grid.ts'
import { spread } from './numbers.ts'
import type { Connect, Scenario } from './scenario.ts'

/** As many members as a channel has. */
const channelSize = 500
/** How many begin to wait at the same time; more would only stand in the queue of the listening socket. */
const opening = 64
/** Each asks again after 50 s: where that keeps the server busy, no more are coming. */
const openingMs = 120_000
/** Sockets and files besides those of the waiters. */
const otherDescriptors = 200

export const waiters: Scenario = {
  rows: [{
    name: 'waiting',
    measures:
      'So many agents wait in read_messages with wait_seconds, each on its own connection; posts to channels of 500, one after the other, wake all. "per second": woken agents, from the first post to the last answer. Times: from the start of a post to the answer of each waiter, which holds that post. Who is refused because the grid is busy asks again, which the remark counts. Compared with hello of the most clients',
    limit:
      'a read with its commit for each waiter; they share commits. Memory: socket, request and timer of the runtime',
  }],
  async run(stage) {
    for (const count of stage.waiters) {
      const place = await newPlace(stage.database, {
        agents: { sender: 1, waiter: count },
        channels: { of: 'waiter', size: channelSize, also: 'sender' },
      })
      const grid = await startGrid(stage.runtime, place)
      try {
        const { times, inMs, kibEach, posts, refused, cpuUs } = await wakeAll(grid)
        const seconds = (inMs / 1_000).toFixed(2)
        const again = refused === 0 ? '' : `; ${refused} refusals`
        const remark = `${kibEach.toFixed(0)} KiB each; ${posts} posts woke all in ${seconds} s${again}`
        const rates = { perSecond: count / inMs * 1_000, ...spread(times), cpuUs }
        const floorClients = Math.max(...stage.clients)
        await stage.report({ name: 'waiting', clients: count, ...rates, floorClients, remark })
      } catch (error) {
        throw new Error(`${count} waiters: ${(error as Error).message}\n${grid.server.lastWords()}`, { cause: error })
      }
      await grid.server.stop()
    }
  },
}

/** `times` in milliseconds, one for each waiter; `kibEach` is the memory of the server for each. */
async function wakeAll({ server, agents: { sender: [sender], waiter } }: BenchGrid) {
  if (server.maxDescriptors() < waiter.length + otherDescriptors) {
    throw new Error(`too many for ${server.maxDescriptors()} descriptors. Raise the limit with ulimit -n.`)
  }
  return await withConnections(server.port, async (connect) => {
    await warmUp(server.port, waiter, connect)
    const share = channelSize - 1
    const before = server.residentKiB()
    const sent: { id: string; at: number }[] = []
    const woken = await waitAll(server.port, waiter, connect, (i) => sent[Math.floor(i / share)] !== undefined)
    const kibEach = (server.residentKiB() - before) / waiter.length

    const posts = Math.ceil(waiter.length / share)
    const connection = connect()
    const cpuBefore = server.cpuMs()
    const startedAt = performance.now()
    for (let n = 0; n < posts; n++) {
      const at = performance.now()
      sent.push({ id: await send(connection, sending(server.port, sender, `#channel-${n}`), askPatiently), at })
    }
    const answers = await Promise.all(woken)
    const inMs = Math.max(...answers.map(({ at }) => at)) - startedAt
    const times = answers.map(({ ids, at }, i) => {
      const post = sent[Math.floor(i / share)]
      if (ids.length !== 1 || ids[0] !== post.id) throw new Error(`waiter ${i} got [${ids.join(', ')}], not ${post.id}`)
      return at - post.at
    })
    const refused = answers.reduce((sum, { refused }) => sum + refused, 0)
    return { times, inMs, kibEach, posts, refused, cpuUs: (server.cpuMs() - cpuBefore) / waiter.length * 1_000 }
  })
}

/** The first use of each key and the first compilation of everything are not what a waiter costs. */
async function warmUp(port: number, agents: BenchAgent[], connect: Connect): Promise<void> {
  await drain(port, agents, connect)
}

/** Resolves when the server has begun to answer each; each then resolves with what it was answered, and when. */
async function waitAll(port: number, agents: BenchAgent[], connect: Connect, isPosted: (i: number) => boolean) {
  const woken: ReturnType<typeof wait>[] = []
  const until = performance.now() + openingMs
  let next = 0
  await Promise.all(Array.from({ length: opening }, async () => {
    while (next < agents.length) {
      const i = next++
      if (performance.now() > until) throw new Error(`only ${i} wait after two minutes: this machine is too slow`)
      await new Promise<void>((begun, failed) => {
        woken[i] = wait(connect(), reading(port, agents[i], { wait_seconds: 50 }), begun, () => isPosted(i))
        woken[i].catch(failed)
      })
    }
  }))
  return woken
}

/**
 * A waiter whom the grid refuses because it is busy asks again, as it is told; its message stays unread. So does
 * one whose time is over before its post, on a slow machine.
 */
async function wait(connection: Connection, request: Buffer, onBegin: () => void, isPosted: () => boolean) {
  for (let refused = 0;;) {
    const answer = await connection.send(request, onBegin)
    if (isBusy(answer) && refused++ < mostRefusals) {
      await sleep(againMs)
      continue
    }
    const ids = messageIds(good(answer))
    if (ids.length > 0 || isPosted()) return { ids, at: performance.now(), refused }
  }
}
