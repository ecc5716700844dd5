/** Creates the accounts of `npm run lab -- flood` in the environment's database, and prints them as JSON. */
import process from 'node:process'
import { processDeps } from '../../src/cli/process.ts'
import { readConfig } from '../../src/config.ts'
import { createAccount, openAccount } from '../../src/grid/accounts/accounts.ts'
import { createAgent } from '../../src/grid/agents/agents.ts'
import { createChannel } from '../../src/grid/channels/channels.ts'
import { openStore } from '../../src/store/store.ts'
import type { BenchAgent } from '../bench/agents.ts'

/** An account. If it has a channel, all of its agents are members. */
export interface FloodAccount {
  agents: BenchAgent[]
  channel?: string
}

/** The flooding account, a similar one for measuring the grid's capacity, and well-behaved ones. */
export interface FloodAccounts {
  flooding: FloodAccount
  gauge: FloodAccount
  honest: FloodAccount[]
}

async function createAccounts(honest: number, agents: number): Promise<FloodAccounts> {
  const config = readConfig({ ...process.env, LOG_LEVEL: 'warn' })
  const store = await openStore(processDeps(config))
  const system = { type: 'system', job: 'flood' } as const

  async function create(name: string, count: number, hasChannel: boolean): Promise<FloodAccount> {
    const { id } = await createAccount(store, { name, ownerEmail: `${name}@example.com` }, system)
    const account = await openAccount(store, id, system)
    const made: BenchAgent[] = []
    for (let n = 0; n < count; n++) {
      const { agent, apiKey } = await createAgent(account, { alias: `${name}-${n}` })
      made.push({ alias: agent.alias, key: apiKey })
    }
    if (!hasChannel) return { agents: made }
    await createChannel(account, { name, members: made.map(({ alias }) => alias) })
    return { agents: made, channel: name }
  }

  const accounts: FloodAccounts = {
    flooding: await create('flooding', agents, true),
    gauge: await create('gauge', agents, true),
    honest: [],
  }
  for (let n = 0; n < honest; n++) accounts.honest.push(await create(`honest-${n}`, 2, false))
  await store.close()
  return accounts
}

createAccounts(Number(process.argv[2]), Number(process.argv[3])).then((accounts) => {
  console.log(JSON.stringify(accounts))
})
