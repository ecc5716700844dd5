/** How long it takes until an open page of a person shows a new message. */
import { get } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { createSessions } from '../../src/auth/session.ts'
import { processDeps } from '../../src/cli/process.ts'
import { readConfig } from '../../src/config.ts'
import { servedOrigins } from '../../src/edge.ts'
import { newId } from '../../src/lib/id.ts'
import { openStore } from '../../src/store/store.ts'
import { sendMessage, sendMessageRequest } from './calls.ts'
import { loadServer, withConnections } from './connections.ts'
import { type BenchGrid, createDatabase, startGrid } from './grid.ts'
import { warm } from './pairs.ts'
import type { BenchContext, Connect, Scenario } from './scenario.ts'

/** The interval at which a process looks for new messages. Sends are spread over it. */
const pollMs = 100
/** The aim for a page at another process. */
const aimMs = 300
const text = 'What is 6 times 7?'

const measures =
  'From the start of a send until the event of it has come over the stream of a page, and the page has fetched the message'

export const live: Scenario = {
  rows: [
    {
      name: 'live',
      measures,
      limit:
        `the 40 ms until messages are placed in conversations, and the ${pollMs} ms at which a process looks for them`,
    },
    {
      name: 'live across',
      measures:
        `${measures}: the send at one process, the page at another, on one libsql-server. Processor time: of the latter`,
      limit: 'the same, and the queries of both over the network',
    },
  ],
  async run(context) {
    const database = await createDatabase(context.database, { agents: { sender: 1, reader: 1 } })
    const person = await signIn(database.env)
    const first = await warm(await startGrid(context.runtime, database))
    await measure(context, 'live', person, first, first)
    if (context.database === 'libsql') {
      const second = await warm(await startGrid(context.runtime, database))
      await measure(context, 'live across', person, first, second)
      await second.server.stop()
    } else context.note('live across processes: a local file has one process; see --database libsql')
    await first.server.stop()
  },
}

/** The account, and the cookie of an owner of it. */
interface Owner {
  account: string
  cookie: string
}

async function signIn(env: Record<string, string>): Promise<Owner> {
  const config = readConfig(env)
  const store = await openStore(processDeps(config))
  try {
    const { users, accounts } = store.global
    const [{ id: account }] = await accounts.page('', 1)
    const [id, now] = [newId(), Date.now()]
    const user = { id, email: `${id}@people.example`, name: 'Ann', verifiedAt: now, passwordHash: null }
    await store.write([users.add(user, now), users.addMembership(account, id, 'owner', now)])
    const begun = await createSessions(store, servedOrigins(config)).begin(new Request(config.appUrl), id, '127.0.0.1')
    return { account, cookie: begun.split(';')[0] }
  } finally {
    await store.close()
  }
}

/** Sends at the process of `port`, and looks at the page of `server`. */
async function measure(
  context: BenchContext,
  name: string,
  owner: Owner,
  { server, agents: { sender: [from], reader: [to] } }: BenchGrid,
  { server: { port } }: BenchGrid,
): Promise<void> {
  const page = await openPage(server.port, owner)
  try {
    await withConnections(port, async () => {
      const measured = await loadServer(name, server, context.seconds, (connect: Connect) => {
        const connection = connect()
        const request = sendMessageRequest(port, from, `@${to.alias}`, text)
        return {
          steps: [async () => {
            await sleep(Math.random() * pollMs)
            const sentAt = performance.now()
            const shown = page.next().then(() => performance.now())
            await sendMessage(connection, request)
            return await shown - sentAt
          }],
        }
      }, port)
      const { p99Ms } = measured
      const remark = name === 'live across' && p99Ms > aimMs ? `more than ${aimMs} ms` : undefined
      await context.report({
        name,
        clients: 1,
        ...measured,
        perSecond: undefined,
        floorClients: 1,
        usesDatabase: true,
        remark,
      })
    })
  } finally {
    page.close()
  }
}

/** An open page: `next` resolves when it has fetched the next message. Call it again only after it has resolved. */
interface Page {
  next(): Promise<void>
  close(): void
}

/** Open the stream. Resolves when the first events have come. */
function openPage(port: number, owner: Owner): Promise<Page> {
  return new Promise((resolve, reject) => {
    let waiting: { resolve(): void; reject(error: unknown): void } | undefined
    let buffered = ''
    const failed = (error: unknown) => {
      reject(error)
      waiting?.reject(error)
    }
    function hear(frame: string): void {
      const data = frame.match(/^data: (.*)$/m)?.[1]
      if (frame.includes('event: hello')) {
        resolve({
          next: () => new Promise<void>((resolve, reject) => waiting = { resolve, reject }),
          close: () => request.destroy(),
        })
      }
      if (frame.includes('event: bye')) failed(new Error(`The stream ended: ${data}`))
      if (!frame.includes('event: thread') || data === undefined) return
      const { t, seq } = JSON.parse(data)
      fetchMessage(port, owner, t, seq).then(() => waiting?.resolve(), failed)
    }
    const request = get(requestOf(port, owner, `/live?watch=${owner.account}`), (response) => {
      if (response.statusCode !== 200) return failed(new Error(`The stream has the status ${response.statusCode}`))
      response.on('error', failed)
      response.setEncoding('utf8').on('data', (text: string) => {
        const frames = (buffered + text).split('\n\n')
        buffered = frames.pop()!
        frames.forEach(hear)
      })
    })
    request.on('error', failed)
  })
}

/** What a page puts behind its messages. Fails without the message. */
async function fetchMessage(port: number, owner: Owner, thread: number, seq: number): Promise<void> {
  const path = `/accounts/${owner.account}/conversations/${thread}/messages?after=${seq - 1}`
  const body = await new Promise<string>((resolve, reject) => {
    get(requestOf(port, owner, path), (response) => {
      let body = ''
      response.setEncoding('utf8').on('data', (text: string) => body += text).on('error', reject)
      response.on('end', () => resolve(body))
    }).on('error', reject)
  })
  if (!body.includes(`id="m${seq}"`) || !body.includes(text)) {
    throw new Error(`The message is missing: ${body.slice(0, 500)}`)
  }
}

function requestOf(port: number, { cookie }: Owner, path: string) {
  return {
    port,
    host: '127.0.0.1',
    path,
    headers: { 'Host': `localhost:${port}`, 'Cookie': cookie, 'X-By-Itself': 'yes' },
  }
}
