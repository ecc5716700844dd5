/** Several processes on one libsql-server under load, killed at random (reliability 12: I1 to I4, I6, I7, I9). */
import { createClient } from '@libsql/client'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Cluster, startCluster } from '../../../scripts/cluster/cluster.ts'
import { command } from '../../support/cast.ts'
import { type Runtime, temporaryPlace } from '../../support/process.ts'
import { callTool, post } from '../client.ts'
import type { LoadedAgent } from '../load.ts'
import { drain, historyOf, type Load, read, send } from './clients.ts'
import { type Demands, faultsOf, type Histories, Ledger, neverHandedOut } from './ledger.ts'
import { planOf } from './plan.ts'

export interface ChaosOptions {
  seed: number
  seconds: number
  runtimes: readonly Runtime[]
  /** libsql-server too is killed once, in the middle. */
  killDatabase: boolean
  /**
   * Demand that no hand-out dies with a process; the drain then waits this long for what siblings give back.
   * Without it such messages are only found again with `since`.
   */
  givenBackWithinMs?: number
}

const readers = ['reader-1', 'reader-2', 'reader-3']
/** Read by two at a time. */
const shared = 'reader-3'
const senders = ['mcp-1', 'mcp-2', 'mcp-3', 'mcp-bare', 'a2a-1', 'a2a-bare', 'poster']
const triallists = ['trial-1', 'trial-2']
const trialReader = 'trial-reader'
const trialMessages = 10

/** Run it; every fault found, the figures, and what the database says of itself after the stop. */
export async function chaos({ seed, seconds, runtimes, killDatabase, givenBackWithinMs }: ChaosOptions) {
  const place = temporaryPlace()
  const cluster = await startCluster({
    folder: place.folder,
    runtimes,
    port: 0,
    env: { LOG_LEVEL: 'warn', SIGNUP_PER_HOUR: '1000' },
  })
  try {
    const agents = await cast(cluster)
    const ledger = new Ledger()
    const killed = await underLoad(
      cluster,
      agents,
      ledger,
      planOf({
        seed,
        seconds,
        killDatabase,
        instances: runtimes.length,
      }),
    )

    const mailboxes = [...readers, trialReader]
    await Promise.all(mailboxes.map((alias) => drain(cluster.url, ledger, agents.get(alias)!, givenBackWithinMs)))
    const histories: Histories = new Map()
    for (const alias of mailboxes) {
      histories.set(alias, await historyOf(cluster.url, ledger, agents.get(alias)!))
    }
    await cluster.stop()

    const demands: Demands = {
      everyHandOut: givenBackWithinMs !== undefined,
      inOrder: mailboxes.filter((alias) => alias !== shared),
    }
    return {
      faults: faultsOf(ledger, histories, demands),
      trials: triallists.map((alias) =>
        histories.get(trialReader)!.filter(({ message }) => message.startsWith(`${alias} `)).length
      ),
      database: await inspect(join(place.folder, 'libsql-server/dbs/default/data')),
      figures: {
        seed,
        kills: killed,
        begun: ledger.sent.length,
        acknowledged: ledger.acknowledged().length,
        unknown: ledger.unknown,
        handedOut: [...ledger.handedOut.values()].flat().length,
        onlyWithSince: neverHandedOut(ledger, histories).length,
        answered: [...cluster.proxy.answered.values()],
      },
    }
  } finally {
    await cluster.stop()
    place.remove()
  }
}

/** The agents of the run by alias. */
async function cast({ url, databaseUrl }: Cluster): Promise<Map<string, LoadedAgent>> {
  const { admin_key: admin } = await command(
    databaseUrl,
    ...['create-account', '--name', 'Acme', '--owner-email', 'ann@acme.example'],
  )
  const agents = new Map<string, LoadedAgent>()
  for (const alias of [...readers, ...senders]) {
    const { api_key: key } = await callTool(url, admin, 'admin_create_agent', { alias })
    agents.set(alias, { alias, key })
  }
  await callTool(url, admin, 'admin_create_channel', { name: 'all', members: ['poster', ...readers] })
  for (const alias of [trialReader, ...triallists]) {
    const { body } = await post(url, '/api/v1/agentic-signup', { owner_email: 'tom@trial.example', alias })
    agents.set(alias, { alias, key: body.api_key })
  }
  return agents
}

/** Kill by the plan while everybody sends and reads; resolves when all are done and every instance is back. */
async function underLoad(
  cluster: Cluster,
  agents: Map<string, LoadedAgent>,
  ledger: Ledger,
  plan: ReturnType<typeof planOf>,
): Promise<number> {
  const sending = new AbortController()
  const reading = new AbortController()
  const load: Load = { base: cluster.url, ledger, ended: sending.signal }
  const direct = readers.map((alias) => ({ to: alias, mailboxes: [alias] }))
  const post = [{ to: '#all', mailboxes: readers }]
  const agent = (alias: string) => agents.get(alias)!

  const sent = [
    ...['mcp-1', 'mcp-2', 'mcp-3'].map((alias) => send(load, agent(alias), direct, { door: 'mcp', hasKey: true })),
    send(load, agent('mcp-bare'), direct, { door: 'mcp', hasKey: false }),
    send(load, agent('a2a-1'), direct, { door: 'a2a', hasKey: true }),
    send(load, agent('a2a-bare'), direct, { door: 'a2a', hasKey: false }),
    send(load, agent('poster'), post, { door: 'mcp', hasKey: true }),
  ]
  const target = [{ to: trialReader, mailboxes: [trialReader] }]
  // However slow the machine, they try more than a trial allows.
  const untilDone = new AbortController().signal
  const tried = triallists.map((alias) =>
    send({ ...load, ended: untilDone }, agent(alias), target, { door: 'mcp', hasKey: true }, trialMessages + 5)
  )
  const reads = [...readers, shared, trialReader].map((alias) => read({ ...load, ended: reading.signal }, agent(alias)))

  const killed = await execute(plan, cluster)
  while (await cluster.proxy.check() < cluster.instances.length) await sleep(50)
  sending.abort()
  for (const { refusals } of await Promise.all(sent)) ledger.surprises.push(...refusals)
  for (const { refusals } of await Promise.all(tried)) {
    ledger.surprises.push(...refusals.filter((text) => !text.startsWith('trial_expired')))
  }
  reading.abort()
  await Promise.all(reads)
  return killed
}

/** Counts the kills. One that is not ready is spared: on a slow machine nothing would ever be. */
async function execute(plan: ReturnType<typeof planOf>, cluster: Cluster): Promise<number> {
  const startedAt = performance.now()
  let killed = 0
  for (const { atMs, what, downMs } of plan) {
    await sleep(Math.max(0, startedAt + atMs - performance.now()))
    if (what === 'database') {
      cluster.killDatabase(downMs)
      killed++
    } else if (cluster.proxy.isReady(cluster.instances[what].port)) {
      cluster.instances[what].kill(downMs)
      killed++
    }
  }
  return killed
}

/** The file of a stopped libsql-server: its own checks, and what is counted against what there is. */
async function inspect(file: string) {
  const client = createClient({ url: `file:${file}` })
  const all = async (sql: string) => (await client.execute(sql)).rows.map((row) => ({ ...row }))
  const found = {
    integrity: await all('PRAGMA integrity_check'),
    foreignKeys: await all('PRAGMA foreign_key_check'),
    trials: await all(
      `SELECT used FROM trials WHERE used <> (SELECT count(*) FROM messages
        WHERE messages.account_id = trials.account_id AND from_agent_id = agent_id)`,
    ),
  }
  client.close()
  return found
}

export const soundDatabase = {
  integrity: [{ integrity_check: 'ok' }],
  foreignKeys: [],
  trials: [],
}
export const fullTrials = triallists.map(() => trialMessages)
