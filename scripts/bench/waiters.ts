/** Many agents that wait at the same time: the memory of each, and how fast all are woken. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { BenchAgent } from './agents.ts'
import {
  callWithRetries,
  checkResponse,
  drainInboxes,
  isBusy,
  maxRefusals,
  messageIds,
  readMessagesRequest,
  retryDelayMs,
  sendMessage,
  sendMessageRequest,
} from './calls.ts'
import type { Connection } from './connection.ts'
import { withConnections } from './connections.ts'
import { type BenchGrid, createDatabase, startGrid } from './grid.ts'
import { spread } from './numbers.ts'
import type { Connect, Scenario } from './scenario.ts'

/** The maximum number of members in a channel. */
const channelSize = 500
/** How many begin to wait at the same time; more would only fill the backlog of the listening socket. */
const maxOpening = 64
/** Each waiter repeats its call after 50 s; on a slow machine these repeats would keep the server busy. */
const openingMs = 120_000
/** Sockets and files that are not of the waiters. */
const otherDescriptors = 200

export const waiters: Scenario = {
  rows: [{
    name: 'waiting',
    measures:
      'This number of agents waits in read_messages with wait_seconds, each on its own connection; posts to channels of 500, one after the other, wake all. "per second": woken agents, from the first post to the last response. Times: from the start of a post to the response of each waiter, which contains that post. A call that is refused because the grid is busy is repeated; the remark counts the refusals. Compared with hello with the most clients',
    limit: 'a read and a shared commit for each waiter. Memory: socket, request and timer in the runtime',
  }],
  async run(context) {
    for (const count of context.waiters) {
      const database = await createDatabase(context.database, {
        agents: { sender: 1, waiter: count },
        channels: { of: 'waiter', size: channelSize, also: 'sender' },
      })
      const grid = await startGrid(context.runtime, database)
      try {
        const { times, inMs, kibEach, posts, refused, cpuUs } = await wakeAll(grid)
        const seconds = (inMs / 1_000).toFixed(2)
        const refusals = refused === 0 ? '' : `; ${refused} refusals`
        const remark = `${kibEach.toFixed(0)} KiB each; ${posts} posts woke all in ${seconds} s${refusals}`
        const rates = { perSecond: count / inMs * 1_000, ...spread(times), cpuUs }
        const floorClients = Math.max(...context.clients)
        await context.report({ name: 'waiting', clients: count, ...rates, floorClients, remark })
      } catch (error) {
        throw new Error(`${count} waiters: ${(error as Error).message}\n${grid.server.lastOutput()}`, { cause: error })
      }
      await grid.server.stop()
    }
  },
}

/** `times` are milliseconds, one for each waiter. `kibEach` is the memory of the server per waiter. */
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
      sent.push({
        id: await sendMessage(connection, sendMessageRequest(server.port, sender, `#channel-${n}`), callWithRetries),
        at,
      })
    }
    const results = await Promise.all(woken)
    const inMs = Math.max(...results.map(({ at }) => at)) - startedAt
    const times = results.map(({ ids, at }, i) => {
      const post = sent[Math.floor(i / share)]
      if (ids.length !== 1 || ids[0] !== post.id) throw new Error(`waiter ${i} got [${ids.join(', ')}], not ${post.id}`)
      return at - post.at
    })
    const refused = results.reduce((sum, { refused }) => sum + refused, 0)
    return { times, inMs, kibEach, posts, refused, cpuUs: (server.cpuMs() - cpuBefore) / waiter.length * 1_000 }
  })
}

/** The first use of each key and the compilation of the code must not count as memory of a waiter. */
async function warmUp(port: number, agents: BenchAgent[], connect: Connect): Promise<void> {
  await drainInboxes(port, agents, connect)
}

/** Resolves when all responses have begun. Each element resolves to what the waiter received, and when. */
async function waitAll(port: number, agents: BenchAgent[], connect: Connect, isPosted: (i: number) => boolean) {
  const woken: ReturnType<typeof wait>[] = []
  const until = performance.now() + openingMs
  let next = 0
  await Promise.all(Array.from({ length: maxOpening }, async () => {
    while (next < agents.length) {
      const i = next++
      if (performance.now() > until) {
        throw new Error(`only ${i} agents wait after two minutes: this machine is too slow`)
      }
      await new Promise<void>((resolve, reject) => {
        woken[i] = wait(
          connect(),
          readMessagesRequest(port, agents[i], { wait_seconds: 50 }),
          resolve,
          () => isPosted(i),
        )
        woken[i].catch(reject)
      })
    }
  }))
  return woken
}

/**
 * Wait for a message. Repeats the call if the grid refuses it because it is busy (the message stays unread), or if the
 * wait ends before the post, as may happen on a slow machine.
 */
async function wait(connection: Connection, request: Buffer, onBegin: () => void, isPosted: () => boolean) {
  for (let refused = 0;;) {
    const response = await connection.send(request, onBegin)
    if (isBusy(response) && refused++ < maxRefusals) {
      await sleep(retryDelayMs)
      continue
    }
    const ids = messageIds(checkResponse(response))
    if (ids.length > 0 || isPosted()) return { ids, at: performance.now(), refused }
  }
}
