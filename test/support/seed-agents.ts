/** Seed data for tests that start real servers. */
import { processDeps } from '../../src/cli/process.ts'
import { readConfig } from '../../src/config.ts'
import { createAccount, openAccount } from '../../src/grid/accounts/accounts.ts'
import { createAgent } from '../../src/grid/agents/agents.ts'
import { createChannel } from '../../src/grid/channels/channels.ts'
import { openStore } from '../../src/store/store.ts'
import { runCommand } from './process.ts'

/**
 * Creates an account with agents in a database that no server has opened yet. If `channel` is given, all agents are
 * members.
 */
export async function seedAgents(databaseUrl: string, aliases: string[], channel?: string) {
  const store = await openStore(processDeps(readConfig({ DATABASE_URL: databaseUrl, LOG_LEVEL: 'warn' })))
  const system = { type: 'system', job: 'test' } as const
  const { id, adminKey } = await createAccount(store, { name: 'Acme', ownerEmail: 'ann@acme.example' }, system)
  const account = await openAccount(store, id, system)
  const agents = await Promise.all(aliases.map(async (alias) => {
    const { apiKey } = await createAgent(account, { alias })
    return { alias: `@${alias}`, key: apiKey }
  }))
  if (channel !== undefined) await createChannel(account, { name: channel, members: aliases })
  await store.close()
  return { adminKey, agents }
}

/**
 * Runs a grid command with `--json` and parses its output. Fails if the command fails. Uses Bun, which starts fastest.
 */
export async function runJson(databaseUrl: string, ...words: string[]): Promise<Record<string, string>> {
  const { code, stdout, stderr } = await runCommand('bun', [...words, '--json'], { DATABASE_URL: databaseUrl })
  if (code !== 0) throw new Error(`${words[0]} ended with ${code}: ${stdout}${stderr}`)
  return JSON.parse(stdout)
}
