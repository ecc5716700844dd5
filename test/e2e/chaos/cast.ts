/** The agents of a run and their counterparts: a channel, a remote agent, a webhook, and a person who decides. */
import { processDeps } from '../../../src/cli/process.ts'
import { readConfig } from '../../../src/config.ts'
import { createSessions } from '../../../src/auth/session.ts'
import { servedOrigins } from '../../../src/edge.ts'
import { createAccount, openAccount } from '../../../src/grid/accounts/accounts.ts'
import { createAgent } from '../../../src/grid/agents/agents.ts'
import { createChannel } from '../../../src/grid/channels/channels.ts'
import { setAutomated } from '../../../src/grid/messaging/turns.ts'
import { createWebhook } from '../../../src/features/webhooks/webhooks.ts'
import { newId } from '../../../src/lib/id.ts'
import { openStore } from '../../../src/store/store.ts'
import { hold } from '../../support/held.ts'
import { membership } from '../../support/people.ts'
import { post } from '../client.ts'
import type { LoadedAgent } from '../load.ts'

export const readers = ['reader-1', 'reader-2', 'reader-3']
export const senders = ['mcp-1', 'mcp-2', 'mcp-3', 'mcp-bare', 'a2a-1', 'a2a-bare', 'poster']
export const trialSenders = ['trial-1', 'trial-2']
export const trialReader = 'trial-reader'
/** Agents that send to the remote agent. */
export const callers = ['caller-1', 'caller-2']
export const remote = 'remote'
/** The agent whose messages are held. */
export const cautious = 'cautious'
/** Pairs with fixed roles: `asker` asks `worker`, and `client` gives tasks to `doer`. */
const others = ['asker', 'worker', 'client', 'doer']

export interface Cast {
  account: string
  agents: Map<string, LoadedAgent>
  /** The cookie of the owner's session. */
  cookie: [name: string, value: string]
}

/** Adds the account and its agents to an empty database. */
export async function cast(
  settings: Record<string, string | undefined>,
  outside: { remote: string; webhook?: string },
): Promise<Cast> {
  const store = await openStore(processDeps(readConfig(settings)))
  try {
    const system = { type: 'system', job: 'test' } as const
    const { id } = await createAccount(store, { name: 'Acme', ownerEmail: 'ann@acme.example' }, system)
    const account = await openAccount(store, id, system)
    const agents = new Map<string, LoadedAgent>()
    for (const alias of [...readers, ...senders, ...callers, cautious, ...others]) {
      const { agent, apiKey } = await createAgent(account, { alias })
      agents.set(alias, { alias, key: apiKey })
      // Automated agents that answer each other are not paused.
      await setAutomated(account, { agent: alias, isAutomated: true })
      if (alias === cautious) await hold(account, { fromKind: 'agent', fromId: agent.id })
    }
    await createAgent(account, { alias: remote, type: 'a2a', remoteUrl: outside.remote })
    await setAutomated(account, { agent: remote, isAutomated: true })
    await createChannel(account, { name: 'all', members: ['poster', ...readers] })
    if (outside.webhook) await createWebhook(account, { url: outside.webhook, events: ['message'] })

    const [owner, at] = [newId(), Date.now()]
    const user = { id: owner, email: 'bea@acme.example', name: 'Bea', passwordHash: null, verifiedAt: at }
    await store.write([store.global.users.add(user, at), membership(store, id, owner, 'owner', at)])
    const { appUrl } = store.deps.config
    const cookie = await createSessions(store, servedOrigins(store.deps.config))
      .begin(new Request(appUrl), owner, '127.0.0.1', { hasSecondFactor: true })
    const [, name, value] = cookie.match(/^([^=]+)=([^;]*)/)!
    return { account: id, agents, cookie: [name, value] }
  } finally {
    await store.close()
  }
}

/** Signs up the agents on trial at a running grid. */
export async function signUpTrials(url: string, agents: Map<string, LoadedAgent>): Promise<void> {
  for (const alias of [trialReader, ...trialSenders]) {
    const { body } = await post(url, '/api/v1/agentic-signup', { owner_email: 'tom@trial.example', alias })
    agents.set(alias, { alias, key: body.api_key })
  }
}
