/** Put an account with agents into the database that the environment names, and print them as JSON. */
import { processDeps } from '../../src/cli/process.ts'
import { readConfig } from '../../src/config.ts'
import { createAccount, enterAccount } from '../../src/grid/accounts.ts'
import { createAgent } from '../../src/grid/agents.ts'
import { openStore } from '../../src/store/store.ts'

export interface BenchAgent {
  alias: string
  key: string
}

export interface BenchAgents {
  /** One for each client. */
  senders: BenchAgent[]
  /** One for each sender; nobody reads what they get. */
  sinks: BenchAgent[]
  readers: BenchAgent[]
}

async function addAgents(senderCount: number, readerCount: number): Promise<BenchAgents> {
  const store = await openStore(processDeps(readConfig({ LOG_LEVEL: 'warn', ...process.env })))
  const system = { type: 'system', job: 'bench' } as const
  const { id } = await createAccount(store, { name: 'Bench', ownerEmail: 'bench@example.com' }, system)
  const account = await enterAccount(store, id, system)
  const add = (name: string, count: number) =>
    Promise.all(Array.from({ length: count }, async (_, i) => {
      const { agent, apiKey } = await createAgent(account, { alias: `${name}-${i}` })
      return { alias: agent.alias, key: apiKey }
    }))
  const agents = {
    senders: await add('sender', senderCount),
    sinks: await add('sink', senderCount),
    readers: await add('reader', readerCount),
  }
  await store.close()
  return agents
}

const [senderCount, readerCount] = process.argv.slice(2).map(Number)
addAgents(senderCount, readerCount).then((agents) => console.log(JSON.stringify(agents)))
