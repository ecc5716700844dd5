/**
 * A complete in-process grid on a temporary database. The tripwire rejects statements that are not limited to an
 * account.
 */
import type { Client } from '@libsql/client'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createApp } from '../../src/app.ts'
import { hashPassword } from '../../src/auth/passwords.ts'
import { readConfig } from '../../src/cli/settings.ts'
import { type Limits, limits as usual } from '../../src/config.ts'
import type { Deps, OutgoingEmail } from '../../src/deps.ts'
import { coreHooks, openTelemetry } from '../../src/features.ts'
import { createAccount } from '../../src/grid/accounts/accounts.ts'
import { createAgent, type NewAgent } from '../../src/grid/agents/agents.ts'
import { GuardrailChecks } from '../../src/guardrails/providers.ts'
import { Bodies } from '../../src/lib/http/body.ts'
import { CallerHints } from '../../src/lib/http/client-address.ts'
import { newKeyRing } from '../../src/lib/key-ring.ts'
import { Overload } from '../../src/lib/limits/overload.ts'
import { createSafeFetch, type SafeFetch } from '../../src/lib/outbound/safe-fetch.ts'
import { hasThreads } from '../../src/lib/run-on-thread.ts'
import { createSafeStream } from '../../src/lib/outbound/safe-stream.ts'
import { createLog } from '../../src/log.ts'
import type { AccountStore } from '../../src/store/account.ts'
import { connect } from '../../src/store/driver/remote-client.ts'
import { openStore, type Store, type StoreOptions } from '../../src/store/store.ts'
import { closing } from './closing.ts'
import { tripwire } from './tripwire.ts'

const system = { type: 'system', job: 'test' } as const

/** An agent in a test grid. */
export interface TestAgent {
  id: string
  alias: string
  key: string
}

/** An account in a test grid. */
export interface TestAccount {
  id: string
  adminKey: string
  store: AccountStore
  agent(alias: string, input?: Partial<NewAgent>): Promise<TestAgent>
}

/** Opens an agent's store as the agent's key does. `account` defaults to Evil for eve, otherwise to Acme. */
export function storeOf(
  grid: Pick<TestGrid, 'store' | 'acme' | 'evil'>,
  { id, alias }: Pick<TestAgent, 'id' | 'alias'>,
  account: { id: string } = alias === 'eve' ? grid.evil : grid.acme,
): AccountStore {
  return grid.store.account(account.id, { type: 'agent', agentId: id, alias, credentialId: `key of ${alias}` })
}

/** A database file that is copied for each grid, and the accounts and agents in it. */
interface Template<Cast> {
  file: Uint8Array
  cast: Cast
}

export type TestGrid = Awaited<ReturnType<typeof testGrid>>

/** Options of a test grid. */
export interface TestGridOptions extends StoreOptions {
  env?: Record<string, string>
  /** Overrides for some of the default limits. */
  limits?: Partial<Limits>
  /** The URL of a database to open instead of a new temporary file. */
  url?: string
  /** The accounts and agents that the database at `url` already contains. */
  cast?: Cast
  /** Aborted when the process stops. */
  stopping?: AbortSignal
  /** Replaces the real outgoing requests. */
  safeFetch?: SafeFetch
  /** Resolves TXT records; by default there are none. */
  resolveTxt?: Deps['resolveTxt']
  /** Replaces the checks of the real providers. */
  guardrailChecks?: GuardrailChecks
}

/**
 * Creates a grid with the accounts Acme, which has the agents alice and bob, and Evil, which has the agent eve. The
 * accounts cannot find each other's agents. The clock stands still until a test sets `clock.now`.
 */
export async function testGrid({ cast: known, ...options }: TestGridOptions = {}) {
  const template = options.url === undefined ? await (withCast ??= templateOf(makeCast)) : undefined
  const grid = await openGrid(options, template?.file)
  const cast = known ?? template?.cast ?? await makeCast(grid.store)
  const of = ({ id, adminKey }: CastAccount) => accountIn(grid.store, id, adminKey)
  // The agents are copied, because tests may modify them.
  const [alice, bob, eve] = [cast.alice, cast.bob, cast.eve].map((agent): TestAgent => ({ ...agent }))
  return { ...grid, acme: of(cast.acme), evil: of(cast.evil), alice, bob, eve }
}

/** Creates a grid without accounts. */
export async function emptyGrid(options: Omit<TestGridOptions, 'cast'> = {}) {
  const template = options.url === undefined ? await (empty ??= templateOf(() => Promise.resolve({}))) : undefined
  return await openGrid(options, template?.file)
}

/** Guardrail checks in the product's thread. All grids of a process share them, because a thread starts slowly. */
const realChecks = new GuardrailChecks(
  undefined,
  undefined,
  hasThreads ? undefined : async () => {
    const { build } = await import('../../scripts/build.js')
    return pathToFileURL(await build('src/thread.ts'))
  },
)

// Templates save most of the time needed to open a grid, because the migrations and the cast are always the same.
let empty: Promise<Template<object>> | undefined
let withCast: Promise<Template<Cast>> | undefined

async function templateOf<Cast>(fill: (store: Store) => Promise<Cast>): Promise<Template<Cast>> {
  const grid = await openGrid({})
  const cast = await fill(grid.store)
  await grid.store.close()
  return { file: readFileSync(join(grid.folder, 'grid.db')), cast }
}

async function openGrid(
  { env, limits, url, stopping, safeFetch, guardrailChecks, resolveTxt = () => Promise.resolve([]), ...options }: Omit<
    TestGridOptions,
    'cast'
  >,
  template?: Uint8Array,
) {
  const folder = mkdtempSync(join(tmpdir(), 'agent-grid-'))
  const path = join(folder, 'grid.db')
  if (template) {
    writeFileSync(path, template)
    // If the database is not empty, the store expects its keys on disk.
    if (!env?.GRID_KEYS) writeFileSync(`${path}.keys`, newKeyRing(), { mode: 0o600 })
  }
  const clock = { now: Date.parse('2026-11-21T09:00:00.000Z') }
  const logs: string[] = []
  const config = readConfig({
    LOG_LEVEL: 'debug',
    // Keeps tests from sending requests to the internet.
    OAUTH_CIMD: 'off',
    // Test data need not survive a power failure.
    DURABILITY: 'relaxed',
    DATABASE_URL: url ?? `file:${path}`,
    ...env,
  })
  const log = createLog(config.logLevel, (line) => logs.push(line))
  const emails: OutgoingEmail[] = []
  const ownPorts = new Set([config.port])
  const deps: Deps = {
    config,
    limits: { ...usual, ...limits },
    now: () => clock.now,
    log,
    safeFetch: safeFetch ?? createSafeFetch({ config, log, ownPorts }),
    safeStream: createSafeStream({ config, log, ownPorts }),
    operatorStream: createSafeStream({ config: { ...config, allowPrivateTargets: true }, log, ownPorts }),
    resolveTxt,
    email: {
      isConfigured: true,
      send: (email) => void emails.push(email),
      close: () => Promise.resolve(),
    },
    ownPorts,
    bodies: new Bodies(),
    callerHints: new CallerHints(config),
    guardrailChecks: guardrailChecks ?? realChecks,
    readClientPackage: () => Promise.resolve(undefined),
    overload: new Overload(log),
    ...await openTelemetry({ config, log, now: () => clock.now }),
    stopping,
  }
  const store = await openStore(deps, {
    inspect: tripwire,
    hooks: coreHooks,
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
    /** Queued emails, oldest first. */
    emails,
    folder,
    /** Sends a request to the application with exactly the headers in `init`. */
    request,
    /** POSTs a JSON body. */
    post: (path: string, body: unknown, headers: Record<string, string> = {}, remoteAddress?: string) =>
      request(path, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }, remoteAddress),
    /** Sets a user's password. */
    async setPassword(email: string, password: string) {
      const user = await store.global.users.byEmail(email)
      await store.write([store.global.users.setPassword(user!.id, await hashPassword(password))])
    },
    /** Closes the grid. Optional, because grids are closed automatically. */
    close: closing(async () => {
      await store.close()
      await deps.traces?.close()
      rmSync(folder, { recursive: true, force: true })
    }),
  }
}

/** Makes interactive transactions fail. `test/imports.test.ts` checks the imports. See docs/delivery.md, "Sending". */
function withoutTransactions(client: Client): Client {
  client.transaction = () => Promise.reject(new Error('There are no interactive transactions'))
  return client
}

type CastAccount = Pick<TestAccount, 'id' | 'adminKey'>
export type Cast = Awaited<ReturnType<typeof makeCast>>

async function makeCast(store: Store) {
  const createTestAccount = async (name: string, ownerEmail: string) => {
    const { id, adminKey } = await createAccount(store, { name, ownerEmail }, system)
    return accountIn(store, id, adminKey)
  }
  const acme = await createTestAccount('Acme', 'ann@acme.example')
  const evil = await createTestAccount('Evil', 'ed@evil.example')
  const [alice, bob, eve] = [await acme.agent('alice'), await acme.agent('bob'), await evil.agent('eve')]
  const withoutStore = ({ id, adminKey }: TestAccount): CastAccount => ({ id, adminKey })
  return { acme: withoutStore(acme), evil: withoutStore(evil), alice, bob, eve }
}

function accountIn(store: Store, id: string, adminKey: string): TestAccount {
  const account = store.account(id, system)
  return {
    id,
    adminKey,
    store: account,
    async agent(alias, input = {}) {
      const { agent, apiKey } = await createAgent(account, { alias, ...input })
      return { id: agent.id, alias, key: apiKey }
    },
  }
}
