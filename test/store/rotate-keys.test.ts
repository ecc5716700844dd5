/** Changing the keys of sealed tokens. */
import { getTableColumns, getTableName, is } from 'drizzle-orm'
import { SQLiteTable } from 'drizzle-orm/sqlite-core'
import { describe, expect, test } from 'vitest'
import * as schema from '../../db/schema.ts'
import { allNotifications } from '../../src/features/notifications/store.ts'
import { createAgent } from '../../src/grid/agents/agents.ts'
import { createGuardrail } from '../../src/grid/guardrails/guardrails.ts'
import { setPushConfig } from '../../src/grid/tasks/push-configs.ts'
import { createKeyRing, newKeyRing } from '../../src/lib/key-ring.ts'
import { rotateKeys } from '../../src/store/rotate-keys.ts'
import type { Store } from '../../src/store/store.ts'
import { onEachDatabase } from '../support/databases.ts'
import { storeOf, type TestGrid, testGrid } from '../support/grid.ts'
import { person } from '../support/people.ts'
import { askFor } from '../support/tasks.ts'

const [first, second, third] = [newKeyRing(), newKeyRing(), newKeyRing()]
const idOf = (ring: string) => ring.split(':')[0]

/** Returns the grid's store with another key ring. */
const under = ({ store }: TestGrid, ring: string | undefined): Store => ({ ...store, keyRing: createKeyRing(ring) })

/** Decrypts every token with the given ring. Returns the tokens. */
async function opened(grid: TestGrid, ring: string): Promise<string[]> {
  const tokens = grid.store.global.sealedTokens.map(async (table) =>
    await Promise.all(
      (await table.underOtherKeys('', { owner: '', id: '' }, 10_000)).map((token) =>
        createKeyRing(ring).open(token, table.context(token))
      ),
    )
  )
  return (await Promise.all(tokens)).flat().sort()
}

async function seal(grid: TestGrid): Promise<string[]> {
  const { acme, evil, store } = grid
  await createGuardrail(acme.store, { name: 'mod', provider: 'openai-moderation', token: 'of acme' })
  await createGuardrail(acme.store, { name: 'none', provider: 'pii' })
  await createGuardrail(evil.store, { name: 'mod', provider: 'openai-moderation', token: 'of evil' })
  await createAgent(acme.store, {
    alias: 'far',
    type: 'a2a',
    remoteUrl: 'https://far.example',
    remoteToken: 'of an agent',
  })
  const client = storeOf(grid, grid.alice)
  const url = 'https://far.example'
  const webhook = { configId: 'one', url, token: 'of a webhook', version: '1.0' as const, urlField: 'url' }
  await setPushConfig(client, (await askFor(client, 'x')).id, webhook)
  const ann = await person(grid)
  const secret = await store.seal('totps', ann.id, 'of an app')
  await store.write([store.global.secondFactors.setTotp(ann.id, secret, grid.clock.now)])
  const key = await store.seal('push_keys', 'vapid', 'of push services')
  await store.write([store.feature(allNotifications).addPushKey('vapid', 'public', key, null, grid.clock.now)])
  const signing = await store.seal('signing_keys', 'kid', 'to sign cards')
  await store.write([store.global.signingKeys.add({ id: 'kid', publicKey: '{}', at: 1 }, signing, '')])
  return [
    'of acme',
    'of an agent',
    'of an app',
    'of evil',
    'of push services',
    'to sign cards',
    '{"token":"of a webhook"}',
  ]
}

/** Adds guardrails with a token each: `token 0` and so on. */
async function addGuardrails({ acme }: TestGrid, count: number): Promise<void> {
  const { store } = acme
  const statements = await Promise.all(Array.from({ length: count }, async (_, n) => {
    const id = `guardrail-${String(n).padStart(5, '0')}`
    const token = await store.seal('guardrails', id, `token ${n}`)
    return store.change.guardrails.add({
      ...{ id, name: id, provider: 'webhook', config: '{}', action: 'block', onFailure: 'open', enabled: true },
      host: null,
      ...token,
      createdAt: 1,
    })
  }))
  await store.write(statements)
}

test('key rotation covers every table with an encrypted column', async () => {
  const grid = await testGrid()
  const sealed = Object.values(schema).filter((table) => is(table, SQLiteTable)).filter((table) =>
    Object.values(getTableColumns(table)).some(({ name }) => /encrypted|seal|cipher|auth_tag|key_id/.test(name))
  ).map((table) => String(getTableName(table)))

  expect(grid.store.global.sealedTokens.map(({ name }) => name).sort()).toEqual(sealed.sort())
})

onEachDatabase((open) => {
  test('key rotation encrypts every token with the newest key, and until then the old ring can decrypt the tokens', async () => {
    const grid = await open({ env: { GRID_KEYS: first } })
    const tokens = await seal(grid)
    expect(await opened(grid, `${second},${first}`)).toEqual(tokens)

    const result = await rotateKeys(under(grid, `${second},${first}`))

    expect(result).toEqual({
      key: idOf(second),
      rotated: {
        guardrails: 2,
        agents: 1,
        task_push_configs: 1,
        slack_channels: 0,
        incoming_hooks: 0,
        sso_providers: 0,
        webhooks: 0,
        totps: 1,
        push_keys: 1,
        signing_keys: 1,
      },
      isFinished: true,
      unreadable: 0,
      keys: [
        { key: idOf(second), tokens: 7, isInRing: true },
        { key: idOf(first), tokens: 0, isInRing: true },
      ],
    })
    expect(await opened(grid, second)).toEqual(tokens)
    const { rotated } = await rotateKeys(under(grid, second))
    expect(Object.values(rotated).filter((count) => count > 0)).toEqual([])
    expect(grid.logs.join('\n')).not.toMatch(/of acme|of an a/)
  })

  test('an interrupted rotation keeps what it committed, and the next one continues', async () => {
    const grid = await open({ env: { GRID_KEYS: first } })
    await addGuardrails(grid, 450)
    const store = under(grid, `${second},${first}`)
    let writes = 0
    const breaking: Store = {
      ...store,
      write: (statements) => writes++ === 1 ? Promise.reject(new Error('killed')) : store.write(statements),
    }

    await expect(rotateKeys(breaking)).rejects.toThrow('killed')
    expect(await opened(grid, `${second},${first}`)).toHaveLength(450)
    await expect(opened(grid, second)).rejects.toThrow('is not in GRID_KEYS')

    expect(await rotateKeys(store)).toMatchObject({ rotated: { guardrails: 250 }, isFinished: true })
    expect(new Set(await opened(grid, second)).size).toBe(450)
  })
})

describe('a token during a key rotation', () => {
  test('a key rotation does not undo the replacement or removal of a token during the rotation', async () => {
    const grid = await testGrid({ env: { GRID_KEYS: first } })
    await addGuardrails(grid, 3)
    const [{ id: changed }, { id: removed }] = await grid.acme.store.read.guardrails.list()
    const store = under(grid, `${second},${first}`)
    const { guardrails } = grid.acme.store.change
    const newer = await grid.acme.store.seal('guardrails', changed, 'newer')
    const overtaken: Store = {
      ...store,
      async write(statements) {
        await store.write([guardrails.setToken(changed, newer), guardrails.remove(removed)])
        return await store.write(statements)
      },
    }

    expect(await rotateKeys(overtaken)).toMatchObject({ rotated: { guardrails: 1 }, unreadable: 0 })

    expect(await opened(grid, `${second},${first}`)).toEqual(['newer', 'token 2'])
  })

  test('a token that cannot be decrypted stays unchanged, is counted and logged, and does not stop the rotation', async () => {
    const grid = await testGrid({ env: { GRID_KEYS: first } })
    await addGuardrails(grid, 3)
    const [damaged, moved] = await grid.acme.store.read.guardrails.list()
    const lost = await createKeyRing(third).seal('lost', 'somewhere')
    await grid.store.write([
      grid.acme.store.change.guardrails.setToken(damaged.id, lost),
      grid.acme.store.change.guardrails.setToken(moved.id, await createKeyRing(first).seal('moved', 'elsewhere')),
    ])

    const result = await rotateKeys(under(grid, `${second},${first}`))

    expect(result).toMatchObject({ rotated: { guardrails: 1 }, unreadable: 2, isFinished: true })
    expect(result.keys).toEqual([
      { key: idOf(second), tokens: 1, isInRing: true },
      { key: idOf(first), tokens: 1, isInRing: true },
      { key: idOf(third), tokens: 1, isInRing: false },
    ])
    expect(grid.logs.filter((line) => line.includes('could not be re-encrypted')).join('\n')).toContain(damaged.id)
  })
})

test('a rotation is refused while a live process lacks the newest key', async () => {
  const grid = await testGrid({ env: { GRID_KEYS: first } })
  await addGuardrails(grid, 1)
  const heartbeat = (n: number, ...rings: string[]) =>
    grid.store.write(grid.store.global.instances.heartbeat('other', n, '{}', rings.map(idOf), 1))
  const rotating = (whileWaiting: () => Promise<unknown>) =>
    rotateKeys(under(grid, `${second},${first}`), async () => void await whileWaiting())

  await heartbeat(1, first)
  await expect(rotating(() => heartbeat(2, first))).rejects.toThrow(`The key ${idOf(second)} is not in the key ring of`)
  expect(await opened(grid, first)).toEqual(['token 0'])

  // Without another heartbeat, the other process counts as killed.
  expect(await rotating(() => Promise.resolve())).toMatchObject({ rotated: { guardrails: 1 } })
  await grid.store.write([grid.store.global.instances.remove('other')])
  await heartbeat(1, first, second)
  await rotating(() => Promise.reject(new Error('nothing to wait for')))
  await grid.close()
})
