/**
 * Processes that are killed at random while all kinds of clients use them: several processes on one libsql-server, or
 * one on a local file. See docs/delivery.md, "How this is tested".
 */
import { createClient } from '@libsql/client'
import { join } from 'node:path'
import { type Cluster, startCluster } from '../../../scripts/cluster/cluster.ts'
import { recount } from '../../../scripts/recount/recount.ts'
import { type Runner, temporaryDatabase } from '../../support/process.ts'
import { messageResult, type RemoteAgent, remoteAgent } from '../../support/remote-agent.ts'
import { waitFor } from '../../support/wait-for.ts'
import { startWebhook, type Webhook } from '../../support/webhook.ts'
import { pause } from '../load.ts'
import * as people from './cast.ts'
import { drain, historyOf, inTurn, type Load, read, send } from './clients.ts'
import { decide, isRefused } from './decider.ts'
import { type Expectations, faultsOf, type Histories, Ledger, neverLeased } from './ledger.ts'
import { arrivalFaults, arrivedMessages, arrivedNotices, noArrivalFaults, toldMessages } from './outside.ts'
import { planOf } from './plan.ts'
import { arrivedSteps, carryOut, type DoneSteps } from './tasks.ts'
import { work } from './worker.ts'

export interface ChaosOptions {
  seed: number
  seconds: number
  runtimes: readonly Runner[]
  /** Whether the run has one process on a local file, instead of several on a libsql-server. */
  isLocalFile?: boolean
  /** Whether a webhook gets all messages. It receives one at a time, so thousands are pending at the end. */
  hasWebhook?: boolean
  /** Whether to also kill the libsql-server once, in the middle of the run. */
  killDatabase: boolean
  /**
   * How long readers wait for messages that other processes release. By then every message must have been leased, every
   * question answered, and all external servers notified, even if the responsible process died. If undefined, a dead
   * process's messages need only be readable with `since`.
   */
  releasedWithinMs?: number
}

const { readers, callers, trialReader, trialSenders } = people
/** The agent whose inbox two readers read concurrently. */
const shared = 'reader-3'
/** Answers to this agent's questions go to the waiting call or to a reader. */
const asker = 'asker'
const inboxes = [...readers, trialReader, asker, 'worker', ...callers]
const trialMessages = 10
/**
 * After this long without progress, nothing more is expected at external servers: a dead process is noticed after a
 * minute, and a failed request is retried after 5 and 30 s.
 */
const silentMs = 180_000

/** The external servers. Each takes a moment to respond, and the grid may be killed in that time. */
interface Outside {
  remote: RemoteAgent
  push: Webhook
  webhook?: Webhook
  done: DoneSteps
}

/** Runs the test. Resolves to the faults, the figures, and the checks of the database after the stop. */
export async function chaos(
  { seed, seconds, runtimes, isLocalFile = false, hasWebhook = true, killDatabase, releasedWithinMs }: ChaosOptions,
) {
  const files = temporaryDatabase()
  const ledger = new Ledger()
  const outside = await startOutside(ledger, hasWebhook)
  let cast: people.Cast | undefined
  const cluster = await startCluster({
    folder: files.folder,
    runtimes,
    isLocalFile,
    port: 0,
    env: {
      LOG_LEVEL: 'warn',
      SIGNUP_PER_HOUR: '1000',
      CALLS_PER_SECOND: '0',
      MESSAGES_PER_DAY: '10000000',
      UNREAD_PER_INBOX: '10000000',
      ALLOW_PRIVATE_TARGETS: '1',
      OAUTH_CIMD: 'off',
    },
    async prepare(settings) {
      cast = await people.cast(settings, { remote: outside.remote.url, webhook: outside.webhook?.url })
    },
  })
  try {
    const { agents } = cast!
    await people.signUpTrials(cluster.url, agents)
    const isComplete = releasedWithinMs !== undefined
    const plan = planOf({ seed, seconds, killDatabase, instances: runtimes.length })
    const killed = await underLoad(cluster, cast!, ledger, outside, plan, isComplete)

    await Promise.all(inboxes.map((alias) => drain(cluster.url, ledger, agents.get(alias)!, releasedWithinMs)))
    const histories: Histories = new Map()
    for (const alias of inboxes) {
      histories.set(alias, await historyOf(cluster.url, ledger, agents.get(alias)!))
    }
    await cluster.stop()

    const expectations: Expectations = {
      everyLease: isComplete,
      inOrder: inboxes.filter((alias) => alias !== shared && alias !== asker),
    }
    const file = isLocalFile ? 'grid.db' : 'libsql-server/dbs/default/data'
    return {
      faults: faultsOf(ledger, histories, expectations),
      outside: outsideFaults(outside, ledger, histories, isComplete),
      trials: trialSenders.map((alias) =>
        histories.get(trialReader)!.filter(({ message }) => message.startsWith(`${alias} `)).length
      ),
      database: await inspect(join(files.folder, file)),
      figures: {
        seed,
        kills: killed,
        begun: ledger.sent.length,
        acknowledged: ledger.acknowledged().length,
        unknown: ledger.unknown,
        leased: [...ledger.leased.values()].flat().length,
        onlyWithSince: neverLeased(ledger, histories).length,
        asks: ledger.acknowledged().filter(({ isAnswered, sender }) => isAnswered && sender === asker).length,
        decided: ledger.acknowledged().filter(({ sender }) => sender === people.cautious).length,
        taskSteps: outside.done.length,
        arrived: {
          remote: outside.remote.calls.length,
          push: outside.push.taken.length,
          webhook: outside.webhook?.taken.length ?? 0,
        },
        answered: [...cluster.proxy.answered.values()],
      },
    }
  } finally {
    await cluster.stop()
    await Promise.all([outside.remote, outside.push, outside.webhook].map((server) => server?.close()))
    files.remove()
  }
}

async function startOutside(ledger: Ledger, hasWebhook: boolean): Promise<Outside> {
  const moment = () => pause(Math.random() * 20)
  const taken = async () => {
    await moment()
    return 204
  }
  const remote = await remoteAgent(async ({ params: { message } }) => {
    const { text } = ledger.answer(people.remote, String(message!.parts[0].text))
    await moment()
    return messageResult(text)
  })
  const webhook = hasWebhook ? await startWebhook(taken) : undefined
  return { remote, push: await startWebhook(taken), webhook, done: [] }
}

/** Finds faults in the arrivals at external servers. */
function outsideFaults(
  { remote, push, webhook, done }: Outside,
  ledger: Ledger,
  histories: Histories,
  isComplete: boolean,
) {
  const refused = new Set(ledger.acknowledged().filter(({ inboxes }) => inboxes.length === 0).map(({ id }) => id))
  const messages = arrivedMessages(remote.calls, ledger)
  const ids = new Map(messages.map(({ about, id }) => [about, id]))
  return {
    remote: arrivalFaults(messages, isComplete ? sentTo(people.remote, ledger).map(({ text }) => text) : []),
    otherMessageId: sentTo(people.remote, ledger).filter(({ text, id }) => (ids.get(text) ?? id) !== id),
    push: arrivalFaults(arrivedSteps(push), isComplete ? done : []),
    webhook: noticeFaults(webhook, ledger, histories, isComplete),
    refusedAndTold: (webhook?.taken ?? []).map(({ body }) => body.data.message_id).filter((id) => refused.has(id)),
  }
}

const sentTo = (alias: string, ledger: Ledger) => ledger.acknowledged().filter(({ inboxes }) => inboxes[0] === alias)

function noticeFaults(webhook: Webhook | undefined, ledger: Ledger, histories: Histories, isComplete: boolean) {
  if (webhook === undefined) return noArrivalFaults
  const expected = isComplete ? toldMessages(ledger, ({ sender }) => !trialSenders.includes(sender)) : []
  return arrivalFaults(arrivedNotices(webhook, ledger, histories), expected)
}

/** Resolves when all acknowledged messages have arrived and are answered, or when nothing more arrives. */
async function untilArrived({ remote, push, webhook, done }: Outside, ledger: Ledger): Promise<void> {
  let [fewest, since] = [Infinity, performance.now()]
  for (;;) {
    const left = [
      arrivalFaults(arrivedMessages(remote.calls, ledger), sentTo(people.remote, ledger).map(({ text }) => text)),
      arrivalFaults(arrivedSteps(push), done),
      noticeFaults(webhook, ledger, new Map(), true),
    ].flatMap(({ missing }) => missing).length +
      sentTo('worker', ledger).filter(({ text }) => ledger.byText.get(`re ${text}`)?.id === undefined).length
    if (left === 0) return
    if (left < fewest) [fewest, since] = [left, performance.now()]
    if (performance.now() - since > silentMs) return
    await pause(1_000)
  }
}

/**
 * Executes the kill plan under load. Resolves to the number of kills once all clients are done and all instances run.
 */
async function underLoad(
  cluster: Cluster,
  cast: people.Cast,
  ledger: Ledger,
  outside: Outside,
  plan: ReturnType<typeof planOf>,
  isComplete: boolean,
): Promise<number> {
  const sending = new AbortController()
  const working = new AbortController()
  const reading = new AbortController()
  const load: Load = { base: cluster.url, ledger, ended: sending.signal }
  const direct = inTurn(readers.map((alias) => ({ to: alias, inboxes: [alias] })))
  const agent = (alias: string) => cast.agents.get(alias)!
  const only = (alias: string, isAnswered = false) => inTurn([{ to: alias, inboxes: [alias], isAnswered }])
  const mcp = { protocol: 'mcp', hasKey: true } as const

  const sent = [
    ...['mcp-1', 'mcp-2', 'mcp-3'].map((alias) => send(load, agent(alias), direct, mcp)),
    send(load, agent('mcp-bare'), direct, { protocol: 'mcp', hasKey: false }),
    send(load, agent('a2a-1'), direct, { protocol: 'a2a', hasKey: true }),
    send(load, agent('a2a-bare'), direct, { protocol: 'a2a', hasKey: false }),
    send(load, agent('poster'), inTurn([{ to: '#all', inboxes: readers }]), mcp),
    send(load, agent(asker), only('worker', true), { ...mcp, waitSeconds: 3 }),
    ...callers.map((alias) => send(load, agent(alias), only(people.remote, true), { ...mcp, everyMs: 50 })),
    send(load, agent(people.cautious), (n) => ({ to: readers[0], inboxes: isRefused(n) ? [] : [readers[0]] }), {
      ...mcp,
      everyMs: 200,
    }),
  ]
  // The trial senders are never aborted, so that each exceeds the trial's message limit even on a slow machine.
  const never = new AbortController().signal
  const tried = trialSenders.map((alias) =>
    send({ ...load, ended: never }, agent(alias), only(trialReader), mcp, trialMessages + 5)
  )
  const parties = { client: agent('client'), doer: agent('doer'), webhook: outside.push.url }
  const tasks = [1, 2].map(() => carryOut(load, parties, outside.done))
  const answers = work({ ...load, ended: working.signal }, agent('worker'))
  const decisions = decide({ ...load, ended: working.signal }, cast)
  const reads = [...readers, shared, trialReader, asker, ...callers].map((alias) =>
    read({ ...load, ended: reading.signal }, agent(alias))
  )

  const killed = await execute(plan, cluster)
  await waitFor('all instances', async () => await cluster.proxy.check() === cluster.instances.length)
  sending.abort()
  for (const { refusals } of await Promise.all(sent)) ledger.surprises.push(...refusals)
  for (const { refusals } of await Promise.all(tried)) {
    ledger.surprises.push(...refusals.filter((text) => !text.startsWith('trial_expired')))
  }
  await Promise.all(tasks)
  if (isComplete) await untilArrived(outside, ledger)
  working.abort()
  await Promise.all([answers, decisions])
  reading.abort()
  await Promise.all(reads)
  return killed
}

/**
 * Kills according to the plan, but skips instances that are not ready. Otherwise a slow machine would never have a
 * ready instance. Returns the number of kills.
 */
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

/** Checks the file of a stopped database, and all derived data in it. */
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
export const noOutsideFaults = {
  remote: noArrivalFaults,
  otherMessageId: [],
  push: noArrivalFaults,
  webhook: noArrivalFaults,
  refusedAndTold: [],
}
