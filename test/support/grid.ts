/** A whole grid on a temporary database, in process, with the tripwire that no unscoped statement passes. */
import type { Client } from '@libsql/client'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createApp } from '../../src/app.ts'
import type { AccountStore } from '../../src/store/account.ts'
import { readConfig } from '../../src/config.ts'
import type { Deps, OutgoingMail } from '../../src/deps.ts'
import { hashPassword } from '../../src/auth/passwords.ts'
import { createAccount } from '../../src/grid/accounts/accounts.ts'
import { createAgent, type NewAgent } from '../../src/grid/agents/agents.ts'
import { newKeyRing } from '../../src/lib/key-ring.ts'
import { createSafeFetch, type SafeFetch } from '../../src/lib/safe-fetch.ts'
import { createLog } from '../../src/log.ts'
import { connect } from '../../src/store/driver/local-client.ts'
import { openStore, type Store, type StoreOptions } from '../../src/store/store.ts'
import { tripwire } from './tripwire.ts'

const system = { type: 'system', job: 'test' } as const

/** An agent of the cast. */
export interface TestAgent {
  id: string
  alias: string
  key: string
}

/** An account of the cast. */
export interface TestAccount {
  id: string
  adminKey: string
  store: AccountStore
  agent(alias: string, input?: Partial<NewAgent>): Promise<TestAgent>
}

/** A closed database that is copied instead of made anew, and who is in it. */
interface Template<Cast> {
  file: Uint8Array
  cast: Cast
}

export type TestGrid = Awaited<ReturnType<typeof testGrid>>

/** Where a test's database is: a fresh file, or what `url` names. */
export interface TestGridOptions extends StoreOptions {
  env?: Record<string, string>
  /** Open this database instead of a new temporary file. */
  url?: string
  /** Who is in the database of `url` already. */
  cast?: Cast
  /** Says that the process stops. */
  stopping?: AbortSignal
  /** Instead of the way out to other servers. */
  safeFetch?: SafeFetch
}

/**
 * The cast: account Acme with alice and bob, account Evil with eve. They know
 * nothing of each other. The clock stands still until `clock.now` is moved.
 */
export async function testGrid({ cast: known, ...options }: TestGridOptions = {}) {
  const template = options.url === undefined ? await (withCast ??= templateOf(makeCast)) : undefined
  const grid = await openGrid(options, template?.file)
  const cast = known ?? template?.cast ?? await makeCast(grid.store)
  const of = ({ id, adminKey }: MadeAccount) => accountIn(grid.store, id, adminKey)
  // Each test has its own, to change as it likes.
  const [alice, bob, eve] = [cast.alice, cast.bob, cast.eve].map((agent): TestAgent => ({ ...agent }))
  return { ...grid, acme: of(cast.acme), evil: of(cast.evil), alice, bob, eve }
}

/** A grid in which nobody is yet. */
export async function emptyGrid(options: Omit<TestGridOptions, 'cast'> = {}) {
  const template = options.url === undefined ? await (empty ??= templateOf(() => Promise.resolve({}))) : undefined
  return await openGrid(options, template?.file)
}

// Migrations and the cast take most of what opening a grid costs, and are the same each time.
let empty: Promise<Template<object>> | undefined
let withCast: Promise<Template<Cast>> | undefined

async function templateOf<Cast>(furnish: (store: Store) => Promise<Cast>): Promise<Template<Cast>> {
  const grid = await openGrid({})
  const cast = await furnish(grid.store)
  await grid.store.close()
  const file = readFileSync(join(grid.folder, 'grid.db'))
  rmSync(grid.folder, { recursive: true })
  return { file, cast }
}

async function openGrid(
  { env, url, stopping, safeFetch, ...options }: Omit<TestGridOptions, 'cast'>,
  template?: Uint8Array,
) {
  const folder = mkdtempSync(join(tmpdir(), 'agent-grid-'))
  const path = join(folder, 'grid.db')
  if (template) {
    writeFileSync(path, template)
    // Its own the store would have to see on disk.
    if (!env?.GRID_KEYS) writeFileSync(`${path}.keys`, newKeyRing(), { mode: 0o600 })
  }
  const clock = { now: Date.parse('2026-11-21T09:00:00.000Z') }
  const logs: string[] = []
  const config = readConfig({
    LOG_LEVEL: 'debug',
    // No test asks the internet whether it is there.
    OAUTH_CIMD: 'off',
    // A test's data end with it.
    DURABILITY: 'relaxed',
    DATABASE_URL: url ?? `file:${path}`,
    ...env,
  })
  const log = createLog(config.logLevel, (line) => logs.push(line))
  const mails: OutgoingMail[] = []
  const ownPorts = new Set([config.port])
  const deps: Deps = {
    config,
    now: () => clock.now,
    log,
    safeFetch: safeFetch ?? createSafeFetch({ config, log, ownPorts }),
    mail: {
      isConfigured: true,
      send: (mail) => void mails.push(mail),
      close: () => Promise.resolve(),
    },
    ownPorts,
    stopping,
  }
  const store = await openStore(deps, {
    inspect: tripwire,
    ...options,
    connect: (settings) => withoutTransactions((options.connect ?? connect)(settings)),
  })
  const app = createApp(store)
  const request = (path: string, init: RequestInit = {}, remoteAddress = '203.0.113.7') =>
    Promise.resolve(app.request(new URL(path, config.baseUrl).href, init, { remoteAddress }))

  return {
    store,
    app,
    deps,
    clock,
    logs,
    /** Mails that would have been queued, the oldest first. */
    mails,
    folder,
    /** A request as the door gets it; `init.headers` as they are. */
    request,
    /** POST of a JSON body. */
    post: (path: string, body: unknown, headers: Record<string, string> = {}, remoteAddress?: string) =>
      request(path, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }, remoteAddress),
    /** Give a person a password to sign in with. */
    async setPassword(email: string, password: string) {
      const user = await store.global.users.byEmail(email)
      await store.write([store.global.users.setPassword(user!.id, await hashPassword(password))])
    },
    async close() {
      await store.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The first net against interactive transactions is the law of imports; what slips through fails here. Reliability Q13. */
function withoutTransactions(client: Client): Client {
  client.transaction = () => Promise.reject(new Error('There are no interactive transactions'))
  return client
}

type MadeAccount = Pick<TestAccount, 'id' | 'adminKey'>
export type Cast = Awaited<ReturnType<typeof makeCast>>

async function makeCast(store: Store) {
  const make = async (name: string, ownerEmail: string) => {
    const { id, adminKey } = await createAccount(store, { name, ownerEmail }, system)
    return accountIn(store, id, adminKey)
  }
  const acme = await make('Acme', 'ann@acme.example')
  const evil = await make('Evil', 'ed@evil.example')
  const [alice, bob, eve] = [await acme.agent('alice'), await acme.agent('bob'), await evil.agent('eve')]
  const bare = ({ id, adminKey }: TestAccount): MadeAccount => ({ id, adminKey })
  return { acme: bare(acme), evil: bare(evil), alice, bob, eve }
}

function accountIn(store: Store, id: string, adminKey: string): TestAccount {
  const door = store.account(id, system)
  return {
    id,
    adminKey,
    store: door,
    async agent(alias, input = {}) {
      const { agent, apiKey } = await createAgent(door, { alias, ...input })
      return { id: agent.id, alias, key: apiKey }
    },
  }
}
