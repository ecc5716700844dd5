/** Agent cards, and the keys that sign them. See docs/protocol/a2a.md, "Agent cards". */
import { GridError, isStorageFull } from '../errors.ts'
import { aliasPattern, normaliseAlias } from '../aliases.ts'
import { newId } from '../lib/id.ts'
import { withoutInvisible, withoutInvisibleIn } from '../lib/invisible-text.ts'
import { type JWK, newSigningKeyPair } from '../lib/signing.ts'
import { day, minute } from '../lib/time.ts'
import type { AccountStore } from '../store/account.ts'
import type { StoredSigningKey } from '../store/global/signing-keys.ts'
import type { Store } from '../store/store.ts'

export interface CardAgent {
  alias: string
  description: string
  skills: { name: string; description: string }[]
  isPublic: boolean
}

/** Finds an agent whose card a caller may see: a public agent, or one of the account that `openAccount` opens. */
export async function findCardAgent(
  store: Store,
  alias: string,
  openAccount: (() => Promise<AccountStore>) | undefined,
): Promise<CardAgent> {
  const name = normaliseAlias(alias)
  const found = aliasPattern.test(name) ? await publicAgent(store, name) : undefined
  if (found) return found
  const account = await openAccount?.()
  const own = account && aliasPattern.test(name) ? await ownAgent(account, name) : undefined
  if (own) return own
  throw new GridError('agent_not_found', 'There is no agent with this name, or it is not public.')
}

async function publicAgent(store: Store, alias: string): Promise<CardAgent | undefined> {
  const found = await store.global.publicAgents.byAlias(alias)
  return found && {
    alias: found.alias,
    description: withoutInvisible(found.description),
    skills: sorted(withoutInvisibleIn(JSON.parse(found.skills))),
    isPublic: true,
  }
}

async function ownAgent(account: AccountStore, alias: string): Promise<CardAgent | undefined> {
  const agent = await account.read.agents.byAlias(alias)
  if (!agent) return undefined
  const skills = (await account.read.skills.ofAgent(agent.id)).map(({ name, description }) => ({
    name: withoutInvisible(name),
    description,
  }))
  return { alias, description: agent.description, skills: sorted(skills), isPublic: false }
}

function sorted(skills: CardAgent['skills']): CardAgent['skills'] {
  return skills.sort((a, b) => a.name < b.name ? -1 : 1)
}

/** A new key is published for this long before it signs, so that cached key lists contain it. */
const publishedBeforeMs = 10 * minute
const maxAgeMs = 90 * day
/** How long signatures of a replaced key can still be verified. */
const keptMs = 365 * day

interface SigningKeys {
  /** The key that signs. Undefined if the grid has no encryption keys or no space to store one. */
  current?: { id: string; privateKey: JWK }
  published: JWK[]
}

/** Returns the current keys. Creates the first key on demand, and stores it once even if several processes do so. */
export async function readSigningKeys(store: Store): Promise<SigningKeys> {
  let keys = await store.global.signingKeys.list()
  if (store.keyRing.canSeal && !signs(store, keys)) {
    await add(store, keys).catch((error) => {
      if (!isStorageFull(error)) throw error
    })
    keys = await store.global.signingKeys.list()
  }
  const key = signs(store, keys)
  const privateKey = key && await store.open('signing_keys', key.id, key.privateKey)
  return {
    current: privateKey === undefined ? undefined : { id: key!.id, privateKey: JSON.parse(privateKey) },
    published: keys.map(({ publicKey }) => JSON.parse(publicKey)),
  }
}

/** Replaces all keys with a new one, which signs immediately. Older signatures no longer verify. Resolves to its id. */
export async function replaceSigningKeys(store: Store): Promise<string> {
  const { id, isAdded } = await add(store, await store.global.signingKeys.list(), true)
  if (!isAdded) throw new GridError('write_conflict', 'Another process has just added a key. Repeat the command.')
  return id
}

/** Replaces the current key if it is too old, and removes older keys that are no longer needed. */
export async function keepSigningKeys(store: Store): Promise<void> {
  const { deps: { now, log }, global: { signingKeys } } = store
  const keys = await signingKeys.list()
  const [newest] = keys
  if (!newest) return
  const isDue = now() - newest.createdAt >= maxAgeMs
  if (isDue && store.keyRing.canSeal) {
    const { id, isAdded } = await add(store, keys)
    if (isAdded) log.info('A new key will sign the agent cards', { key: id })
  }
  if (keys.length > 1) {
    await store.write([
      signingKeys.forgetPrivate(now() - 2 * publishedBeforeMs),
      signingKeys.removeReplaced(now() - keptMs),
    ])
  }
}

type Signing = StoredSigningKey & Required<Pick<StoredSigningKey, 'privateKey'>>

function signs({ keyRing, deps }: Store, keys: StoredSigningKey[]): Signing | undefined {
  const able = keys.filter((key): key is Signing =>
    key.privateKey !== undefined && keyRing.ids.includes(key.privateKey.tokenKeyId)
  )
  return able.find(({ createdAt }) => createdAt <= deps.now() - publishedBeforeMs) ?? able.at(-1)
}

async function add(
  store: Store,
  [newest]: StoredSigningKey[],
  removeOthers = false,
): Promise<{ id: string; isAdded: boolean }> {
  const { signingKeys } = store.global
  const id = newId()
  const at = Math.max(store.deps.now(), newest ? newest.createdAt + 1 : 0)
  const { publicKey, privateKey } = await newSigningKeyPair(id)
  const sealed = await store.seal('signing_keys', id, JSON.stringify(privateKey))
  const key = { id, publicKey: JSON.stringify(publicKey), at }
  const [added] = await store.write([
    signingKeys.add(key, sealed, newest?.id ?? ''),
    ...(removeOthers ? [signingKeys.removeOthers(id)] : []),
  ])
  return { id, isAdded: added.length > 0 }
}
