/** Several processes on one libsql-server under load, killed at random. See docs/delivery.md, "How this is tested". */
import { createClient } from '@libsql/client'
import { join } from 'node:path'
import { type Cluster, startCluster } from '../../../scripts/cluster/cluster.ts'
import { recount } from '../../../scripts/recount/recount.ts'
import { type Runtime, temporaryDatabase } from '../../support/process.ts'
import { runJson } from '../../support/seed-agents.ts'
import { waitFor } from '../../support/wait-for.ts'
import { callTool, post } from '../client.ts'
import { type LoadedAgent, pause } from '../load.ts'
import { drain, historyOf, type Load, read, send } from './clients.ts'
import { type Expectations, faultsOf, type Histories, Ledger, neverLeased } from './ledger.ts'
import { planOf } from './plan.ts'

export interface ChaosOptions {
  seed: number
  seconds: number
  runtimes: readonly Runtime[]
  /** Also kill the libsql-server once, in the middle. */
  killDatabase: boolean
  /**
   * Expect every message to be leased to a reader, even after its process died: readers wait this long for what the
   * other processes release. If undefined, such messages are only found with `since`.
   */
  releasedWithinMs?: number
}

const readers = ['reader-1', 'reader-2', 'reader-3']
/** The inbox with two readers at a time. */
const shared = 'reader-3'
const senders = ['mcp-1', 'mcp-2', 'mcp-3', 'mcp-bare', 'a2a-1', 'a2a-bare', 'poster']
const trialSenders = ['trial-1', 'trial-2']
const trialReader = 'trial-reader'
const trialMessages = 10

/** Run it. Resolves to the faults, the figures, and the checks of the database after the stop. */
export async function chaos(
  { seed, seconds, runtimes, killDatabase, releasedWithinMs }: ChaosOptions,
) {
  const files = temporaryDatabase()
  const cluster = await startCluster({
    folder: files.folder,
    runtimes,
    port: 0,
    env: { LOG_LEVEL: 'warn', SIGNUP_PER_HOUR: '1000', CALLS_PER_SECOND: '0' },
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

    const inboxes = [...readers, trialReader]
    await Promise.all(inboxes.map((alias) => drain(cluster.url, ledger, agents.get(alias)!, releasedWithinMs)))
    const histories: Histories = new Map()
    for (const alias of inboxes) {
      histories.set(alias, await historyOf(cluster.url, ledger, agents.get(alias)!))
    }
    await cluster.stop()

    const expectations: Expectations = {
      everyLease: releasedWithinMs !== undefined,
      inOrder: inboxes.filter((alias) => alias !== shared),
    }
    return {
      faults: faultsOf(ledger, histories, expectations),
      trials: trialSenders.map((alias) =>
        histories.get(trialReader)!.filter(({ message }) => message.startsWith(`${alias} `)).length
      ),
      database: await inspect(join(files.folder, 'libsql-server/dbs/default/data')),
      figures: {
        seed,
        kills: killed,
        begun: ledger.sent.length,
        acknowledged: ledger.acknowledged().length,
        unknown: ledger.unknown,
        leased: [...ledger.leased.values()].flat().length,
        onlyWithSince: neverLeased(ledger, histories).length,
        answered: [...cluster.proxy.answered.values()],
      },
    }
  } finally {
    await cluster.stop()
    files.remove()
  }
}

/** The agents of the run by alias. */
async function cast({ url, databaseUrl }: Cluster): Promise<Map<string, LoadedAgent>> {
  const { admin_key: admin } = await runJson(
    databaseUrl,
    ...['create-account', '--name', 'Acme', '--owner-email', 'ann@acme.example'],
  )
  const agents = new Map<string, LoadedAgent>()
  for (const alias of [...readers, ...senders]) {
    const { api_key: key } = await callTool(url, admin, 'admin_create_agent', { alias })
    agents.set(alias, { alias, key })
  }
  await callTool(url, admin, 'admin_create_channel', { name: 'all', members: ['poster', ...readers] })
  for (const alias of [trialReader, ...trialSenders]) {
    const { body } = await post(url, '/api/v1/agentic-signup', { owner_email: 'tom@trial.example', alias })
    agents.set(alias, { alias, key: body.api_key })
  }
  return agents
}

/** Kill by the plan under load. Resolves to the number of kills when all clients are done and all instances run. */
async function underLoad(
  cluster: Cluster,
  agents: Map<string, LoadedAgent>,
  ledger: Ledger,
  plan: ReturnType<typeof planOf>,
): Promise<number> {
  const sending = new AbortController()
  const reading = new AbortController()
  const load: Load = { base: cluster.url, ledger, ended: sending.signal }
  const direct = readers.map((alias) => ({ to: alias, inboxes: [alias] }))
  const post = [{ to: '#all', inboxes: readers }]
  const agent = (alias: string) => agents.get(alias)!

  const sent = [
    ...['mcp-1', 'mcp-2', 'mcp-3'].map((alias) => send(load, agent(alias), direct, { protocol: 'mcp', hasKey: true })),
    send(load, agent('mcp-bare'), direct, { protocol: 'mcp', hasKey: false }),
    send(load, agent('a2a-1'), direct, { protocol: 'a2a', hasKey: true }),
    send(load, agent('a2a-bare'), direct, { protocol: 'a2a', hasKey: false }),
    send(load, agent('poster'), post, { protocol: 'mcp', hasKey: true }),
  ]
  const target = [{ to: trialReader, inboxes: [trialReader] }]
  // Never aborted, so that each tries more messages than a trial allows, even on a slow machine.
  const never = new AbortController().signal
  const tried = trialSenders.map((alias) =>
    send({ ...load, ended: never }, agent(alias), target, { protocol: 'mcp', hasKey: true }, trialMessages + 5)
  )
  const reads = [...readers, shared, trialReader].map((alias) => read({ ...load, ended: reading.signal }, agent(alias)))

  const killed = await execute(plan, cluster)
  await waitFor('all instances', async () => await cluster.proxy.check() === cluster.instances.length)
  sending.abort()
  for (const { refusals } of await Promise.all(sent)) ledger.surprises.push(...refusals)
  for (const { refusals } of await Promise.all(tried)) {
    ledger.surprises.push(...refusals.filter((text) => !text.startsWith('trial_expired')))
  }
  reading.abort()
  await Promise.all(reads)
  return killed
}

/** Kill by the plan, except instances that are not ready: on a slow machine none would ever be. Returns the number of kills. */
async function execute(plan: ReturnType<typeof planOf>, cluster: Cluster): Promise<number> {
  const startedAt = performance.now()
  let killed = 0
  for (const { atMs, what, downMs } of plan) {
    await pause(Math.max(0, startedAt + atMs - performance.now()))
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

/** Check the database file of a stopped libsql-server, with all that is derived in it. */
async function inspect(file: string) {
  const client = createClient({ url: `file:${file}` })
  const all = async (sql: string) => (await client.execute(sql)).rows.map((row) => ({ ...row }))
  const found = {
    integrity: await all('PRAGMA integrity_check'),
    foreignKeys: await all('PRAGMA foreign_key_check'),
    differences: await recount({ url: `file:${file}` }),
  }
  client.close()
  return found
}

export const soundDatabase = {
  integrity: [{ integrity_check: 'ok' }],
  foreignKeys: [],
  differences: [],
}
export const fullTrials = trialSenders.map(() => trialMessages)
