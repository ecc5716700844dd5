/** How long it takes to find what needs a person, in an account with many unread messages. */
import { createClient } from '@libsql/client'
import { performance } from 'node:perf_hooks'
import { processDeps } from '../../src/cli/process.ts'
import { readConfig } from '../../src/config.ts'
import { findConditions } from '../../src/grid/attention.ts'
import type { AccountStore } from '../../src/store/account.ts'
import { openStore } from '../../src/store/store.ts'
import { createDatabase } from './grid.ts'
import { percentile } from './numbers.ts'
import type { BenchContext, Scenario } from './scenario.ts'
import { abbreviate, populationWithHistory } from './size.ts'

const agents = 100
/** The part of the messages that nobody has read. */
const unread = 0.3
const rounds = 200
/** The aim for 95 of 100 looks. */
const aimMs = 60

export const attention: Scenario = {
  rows: [{
    name: 'attention, MESSAGES',
    measures:
      `All that the page Attention and the figures of the overview read, in this process and without HTTP, with this number of messages stored beforehand for ${agents} agents, the newest ${
        unread * 100
      } % unread; of these some are released again and again, and some are parked`,
    limit: 'one index search for each agent, and counting up to 1,000 of its unread messages',
  }],
  async run(context) {
    for (const messages of context.messages) await measure(context, messages)
  },
}

async function measure(context: BenchContext, messages: number): Promise<void> {
  const { env } = await createDatabase(context.database, populationWithHistory({ agents, messages }))
  await leaveUnread(env.DATABASE_URL)
  const store = await openStore(processDeps(readConfig(env)))
  try {
    const [{ id }] = await store.global.accounts.page('', 1)
    const account = store.account(id, { type: 'system', job: 'bench' })
    const found = await findConditions(account)
    const waiting = found.filter(({ kind }) => kind === 'unread').length
    if (waiting < agents / 2) throw new Error(`Only ${waiting} of ${agents} agents were found to wait`)
    await report(context, `attention, ${abbreviate(messages)}`, account, findConditions)
    await report(
      context,
      `unread of the overview, ${abbreviate(messages)}`,
      account,
      ({ read }) => read.overview.unread(),
    )
  } finally {
    await store.close()
  }
}

async function report(
  context: BenchContext,
  name: string,
  account: AccountStore,
  look: (account: AccountStore) => Promise<unknown>,
): Promise<void> {
  const times: number[] = []
  const cpu: number[] = []
  for (let n = 0; n < rounds; n++) {
    const [began, used] = [performance.now(), process.cpuUsage()]
    await look(account)
    const { user, system } = process.cpuUsage(used)
    times.push(performance.now() - began)
    cpu.push(user + system)
  }
  const p95 = percentile(times, 0.95)
  await context.report({
    ...{ name, clients: 1, floorClients: null, usesDatabase: true },
    p50Ms: percentile(times, 0.5),
    cpuUs: percentile(cpu, 0.5),
    remark: `p95 ${p95.toFixed(1)} ms${p95 > aimMs ? `, more than ${aimMs} ms` : ''}; CPU p95 ${
      percentile(cpu, 0.95)
    } us`,
  })
}

/** Make the newest messages unread: some were released again and again, and some cannot be delivered. */
async function leaveUnread(url: string): Promise<void> {
  const client = createClient({ url })
  try {
    const { rows: [{ most }] } = await client.execute('SELECT max(seq) AS most FROM deliveries')
    await client.execute({
      sql: `UPDATE deliveries SET
        state = iif(seq % 500 = 0, 'parked', 'unread'), lease_id = NULL, release_count = iif(seq % 300 = 0, 3, 0),
        read_at = iif(seq % 500 = 0, created_at, NULL) WHERE seq > ?`,
      args: [Math.floor(Number(most) * (1 - unread))],
    })
  } finally {
    client.close()
  }
}
