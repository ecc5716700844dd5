/** Creates an account with a `Population` in the environment's database, and prints the agents as JSON. */
import { createClient } from '@libsql/client'
import { processDeps } from '../../src/cli/process.ts'
import { readConfig } from '../../src/config.ts'
import { createAccount, openAccount } from '../../src/grid/accounts/accounts.ts'
import { createAgent } from '../../src/grid/agents/agents.ts'
import { setTurnLimits } from '../../src/grid/messaging/turns.ts'
import { createChannel } from '../../src/grid/channels/channels.ts'
import type { AccountStore } from '../../src/store/account.ts'
import { openStore } from '../../src/store/store.ts'
import { fill } from './fill.ts'

export interface BenchAgent {
  alias: string
  key: string
}

/** The database content that a scenario needs. */
export interface Population {
  /** The number of agents with keys, by name. `{ sender: 2 }` creates @sender-0 and @sender-1. */
  agents: Record<string, number>
  /**
   * Channels #channel-0, #channel-1 … with at most `size` members. Each agent with the name `of` is in one of them, and
   * each agent with the name `also` is in all of them.
   */
  channels?: { of: string; size: number; also?: string }
  /** The total number of agents, and the number of read messages in their inboxes. */
  history?: { agents: number; messages: number }
}

export type BenchAgents = Record<string, BenchAgent[]>

/** Enough concurrent calls to share commits, but too few to exceed the write queue's time limit on slow disks. */
const maxConcurrent = 32

async function populate({ agents: counts, channels, history }: Population): Promise<BenchAgents> {
  const config = readConfig({ LOG_LEVEL: 'warn', ...process.env })
  const store = await openStore(processDeps(config))
  const system = { type: 'system', job: 'bench' } as const
  const { id } = await createAccount(store, { name: 'Bench', ownerEmail: 'bench@example.com' }, system)
  const account = await openAccount(store, id, system)
  // The bench exceeds the default limit on a conversation's turns per hour.
  await setTurnLimits(account, { warn: 0, perHour: 0 })
  const agents: BenchAgents = {}
  for (const [name, count] of Object.entries(counts)) agents[name] = await addAgents(account, name, count)
  if (channels) await addChannels(account, agents, channels)
  await store.close()
  if (history) {
    const client = createClient({ url: config.databaseUrl, concurrency: 1, intMode: 'number' })
    await fill(client, id, { ...history, isLocal: config.databaseUrl.startsWith('file:') })
    client.close()
  }
  return agents
}

async function addAgents(account: AccountStore, name: string, count: number): Promise<BenchAgent[]> {
  const added: BenchAgent[] = []
  while (added.length < count) {
    const numbers = Array.from({ length: Math.min(maxConcurrent, count - added.length) }, (_, i) => added.length + i)
    added.push(
      ...await Promise.all(numbers.map(async (n) => {
        const { agent, apiKey } = await createAgent(account, { alias: `${name}-${n}` })
        return { alias: agent.alias, key: apiKey }
      })),
    )
  }
  return added
}

async function addChannels(
  account: AccountStore,
  agents: BenchAgents,
  { of, size, also }: NonNullable<Population['channels']>,
): Promise<void> {
  const alsoMembers = (also === undefined ? [] : agents[also]).map(({ alias }) => alias)
  const aliases = agents[of].map(({ alias }) => alias)
  const share = size - alsoMembers.length
  for (let n = 0; n * share < aliases.length; n++) {
    const members = [...alsoMembers, ...aliases.slice(n * share, (n + 1) * share)]
    await createChannel(account, { name: `channel-${n}`, members })
  }
}

populate(JSON.parse(process.argv[2])).then((agents) => console.log(JSON.stringify(agents)))
