/** Account exports and imports. */
import { createHook } from '../../../src/features/incoming/hooks.ts'
import { archiveImports } from '../../../src/features/archives/store/imports.ts'
import { expect, test } from 'vitest'
import { importArchive } from '../../../src/features/archives/commands/import-archive.ts'
import { deleteAccountCommand } from '../../../src/cli/accounts.ts'
import { createAccount } from '../../../src/grid/accounts/accounts.ts'
import { endImport, importRows, noteExport } from '../../../src/features/archives/archive.ts'
import { createAgent } from '../../../src/grid/agents/agents.ts'
import { findConditions } from '../../../src/grid/attention/attention.ts'
import { withSignature } from '../../../src/features/archives/signed-lines.ts'
import { newId } from '../../../src/lib/id.ts'
import { mintKey } from '../../../src/lib/secrets.ts'
import { day } from '../../../src/lib/time.ts'
import { sweep } from '../../../src/worker/retention.ts'
import { followLog } from '../../../src/worker/followers.ts'
import { postA2a, request } from '../../support/a2a.ts'
import { ownerOf } from '../../support/archived-account.ts'
import { archiveOf, changed, check, importInto, readArchive, rowsOf, textOf } from '../../support/archives.ts'
import { emptyGrid, storeOf, type TestGrid, testGrid } from '../../support/grid.ts'
import { approveOne, hold, waiting } from '../../support/held.ts'
import { isolatedAccounts } from '../../support/isolated-accounts.ts'
import { rows } from '../../support/database.ts'
import { callTool } from '../../support/mcp.ts'
import { signUpAs } from '../../support/signup.ts'
import { askFor } from '../../support/tasks.ts'
import { sendMessage } from '../../support/messaging.ts'
import { acceptAs } from '../../support/people.ts'

const world = await isolatedAccounts()
const { grid, owner } = world
const as = ({ id, alias }: { id: string; alias: string }) =>
  grid.store.account(owner.id, { type: 'agent', agentId: id, alias, credentialId: 'test' })
await hold(owner.store, { fromKind: 'agent', fromId: grid.alice.id })
await sendMessage(as(grid.alice), { to: 'bob', text: 'a held text', expiresInSeconds: 500_000 })
for (let n = 0; n < 120; n++) await sendMessage(as(grid.bob), { to: 'alice', text: `text ${n}` })
const desk = await owner.agent('acme-desk', { visibility: 'public', accessPolicy: 'allow_list', accessList: ['eve'] })
await owner.agent('acme-robot', { type: 'a2a', remoteUrl: 'https://robot.example/acme' })
await sendMessage(as(grid.bob), { to: 'acme-robot', text: 'for the robot' })
await sendMessage(storeOf(grid, grid.eve), { to: desk.alias, text: 'a text of eve' })
const hook = await createHook(owner.store, { name: 'acme-builds', to: '@bob', format: 'summary' })
await grid.post(new URL(hook.address).pathname, 'a text from outside', { 'Content-Type': 'text/plain' })
await askFor(as(grid.bob), 'a task elsewhere', { to: '@mate' })
// Detaches the guardrails from individual agents, because an import attaches guardrails to none.
await owner.store.write(
  (await owner.store.read.guardrails.list()).map(({ id }) => owner.store.change.guardrails.setAllAgents(id, 'both')),
)
await noteExport(grid.store, owner.id)
await followLog(grid.store)
const archive = await archiveOf(grid.store, owner.id)
const exported = rowsOf(archive)

/** An archive's rows without what an import changes: expiries of leases, the import's own row, and people. */
const kept = (rows: ReturnType<typeof rowsOf>) => ({
  ...rows,
  lease: rows.lease.map(({ expires_at: _, ...lease }) => lease),
  activity_entry: rows.activity_entry.filter(({ call }) => call !== 'import-account'),
  person: undefined,
})

test('an import stores every row of the archive in the same order', async () => {
  const target = await emptyGrid()

  await importInto(target.store, archive)

  expect(Object.keys(exported)).toEqual(
    expect.arrayContaining(['held_message', 'part', 'task', 'artifact_chunk', 'lease']),
  )
  expect(kept(rowsOf(await archiveOf(target.store, owner.id)))).toEqual(kept(exported))
})

test("after an import, an access list does not admit another account's agent that has a listed alias on the new grid", async () => {
  const target = await emptyGrid()
  await importInto(target.store, archive)
  const system = { type: 'system', job: 'test' } as const
  const { id } = await createAccount(target.store, { name: 'Other', ownerEmail: 'ann@other.example' }, system)
  const { apiKey } = await createAgent(target.store.account(id, system), { alias: 'eve' })
  const send = async (on: TestGrid, key: string) =>
    (await callTool(on, key, 'send_message', { to: '@acme-desk', message: 'hi' })).code ?? 'sent'

  expect(await send(grid, grid.eve.key)).toBe('sent')
  expect(await send(target as TestGrid, apiKey)).toBe('recipient_not_found')
  const conditions = await findConditions(target.store.account(owner.id, system))
  expect(conditions.filter(({ kind }) => kind === 'access')).toMatchObject([{ subject: '@acme-desk @eve' }])
})

test('each agent reads, finds and lists the same data on the new grid as on the old one', async () => {
  const target = await emptyGrid()
  const { keys } = await importInto(target.store, archive)
  await followLog(target.store)

  expect(keys.map(({ alias }) => alias).sort()).toEqual(['acme-agent', 'acme-desk', 'alice', 'bob'])
  // The desk is skipped because it has a message from another account.
  for (const { alias, api_key } of keys.filter(({ alias }) => alias !== desk.alias)) {
    const old = await newKeyOf(alias)
    for (
      const [tool, args] of [
        ['list_agents', {}],
        ['list_channels', {}],
        ['list_skills', {}],
        ['search_messages', { query: 'text' }],
        ['read_messages', {}],
      ] as const
    ) {
      const [before, after] = [await callTool(grid, old, tool, args), await callTool(target, api_key, tool, args)]
      expect(withoutPresence(after.text), `${tool} of ${alias}`).toEqual(withoutPresence(before.text))
    }
    expect(await tasksOf(target as TestGrid, api_key)).toEqual(await tasksOf(grid, old))
  }
})

test('an archive omits messages from agents of other accounts, and its manifest says how many', () => {
  expect(archive.text).not.toContain('a text of eve')
  expect(JSON.parse(archive.text.split('\n')[0]).left_out).toMatchObject({
    messages_from_other_accounts: 1,
    deliveries_to_other_accounts: 2,
    tasks_with_other_accounts: 1,
  })
  expect(exported.task).toHaveLength(2)
})

test('an import pauses remote agents, so that only one grid sends to them', async () => {
  const target = await emptyGrid()

  const { paused_agents } = await importInto(target.store, archive)

  expect(paused_agents).toEqual(['acme-robot'])
  const lines = await target.store.account(owner.id, { type: 'system', job: 'test' }).write([{
    sql:
      'SELECT paused_at IS NOT NULL AS paused, EXISTS (SELECT 1 FROM remote_outboxes AS line WHERE line.account_id = remote_agents.account_id) AS due FROM remote_agents WHERE account_id = ?',
    args: [owner.id],
    rows: 0,
  }])
  expect(lines[0]).toMatchObject([{ paused: 1, due: 1 }])
})

test('workers that run during an import delete nothing, and assign each message to the right conversation', async () => {
  const target = await emptyGrid()
  const at = target.clock.now
  target.clock.now += 400 * day

  await importInto(target.store, archive, {
    beforeUnit: async () => {
      await sweep(target.store)
      await followLog(target.store)
    },
  })

  target.clock.now = at
  expect(rowsOf(await archiveOf(target.store, owner.id)).message).toEqual(exported.message)
  expect(await pairsOf(target, owner.id)).toEqual(await pairsOf(grid, owner.id))
})

test('an import refuses a changed, moved, added or missing line', async () => {
  const lines = archive.text.split('\n')
  expect(await check(archive)).toBe(lines.length - 2)

  for (const [n, line] of lines.entries()) {
    if (line === '') continue
    const at = Math.floor(line.length / 2)
    const changed = line.slice(0, at) + (line[at] === 'x' ? 'y' : 'x') + line.slice(at + 1)
    await expect(check({ ...archive, text: lines.with(n, changed).join('\n') }), `line ${n}`).rejects.toMatchObject({
      code: expect.stringMatching(/^(archive_changed|wrong_fingerprint)$/),
    })
  }
  for (
    const other of [
      lines.toSpliced(3, 1),
      lines.toSpliced(3, 0, lines[3]),
      lines.with(2, lines[3]).with(3, lines[2]),
      lines.slice(0, -2),
      [...lines, 'more'],
    ]
  ) {
    await expect(check({ ...archive, text: other.join('\n') })).rejects.toMatchObject({ code: 'archive_changed' })
  }
})

test('an import refuses an archive whose signature belongs to another list of digests', async () => {
  const lines = archive.text.trimEnd().split('\n')
  const { public_key, protected: header, signature } = JSON.parse(lines.at(-1)!)
  const changed = lines.slice(0, -1).map((line) => line.replace('a text of acme', 'a text of no one'))

  const forged = await textOf(
    withSignature(each(changed), () => Promise.resolve({ public_key, protected: header, signature })),
  )

  expect(forged).toContain('a text of no one')
  await expect(check({ ...archive, text: forged })).rejects.toMatchObject({ code: 'archive_changed' })
})

test('an import refuses an archive signed by another grid, before it writes anything', async () => {
  const target = await emptyGrid()
  const other = await archiveOf((await testGrid()).store, owner.id).catch(() => undefined)
  const forged = { ...archive, fingerprint: other?.fingerprint ?? 'a'.repeat(43) }

  await expect(importInto(target.store, forged)).rejects.toMatchObject({ code: 'wrong_fingerprint' })

  expect(await target.store.global.accounts.any()).toBe(false)
})

test('an interrupted import shows no data, and can be repeated', async () => {
  const stop = new Error('killed')
  let units = 0
  await importInto((await emptyGrid()).store, archive, { beforeUnit: () => void units++ })
  expect(units).toBeGreaterThan(3)

  for (let last = 0; last < units; last++) {
    const target = await emptyGrid()
    const killed = importInto(target.store, archive, {
      beforeUnit: (n) => {
        if (n === last) throw stop
      },
    })

    await expect(killed).rejects.toBe(stop)
    expect(await target.store.global.accounts.byId(owner.id)).toMatchObject({ state: 'importing' })
    expect(await target.store.account(owner.id, { type: 'system', job: 'test' }).read.agents.total()).toBe(0)
    await importInto(target.store, archive)
    expect(kept(rowsOf(await archiveOf(target.store, owner.id)))).toEqual(kept(exported))
  }
})

test('an import refuses rows from another archive, and rows after its end', async () => {
  const target = await emptyGrid()
  const { lines, digests } = JSON.parse(archive.text.split('\n').at(-2)!)
  const list = JSON.stringify({ lines, digests })
  const skill = { id: newId(), name: 'late', description: '', created_at: 0 }
  const add = (list: string) => importRows(target.store, { account: owner.id, list, rows: [['skill', skill]] })
  await importInto(target.store, archive, {
    beforeUnit: async () => {
      await expect(add('another list')).rejects.toThrow()
    },
  })
  await expect(add(list)).rejects.toThrow()

  const account = target.store.account(owner.id, { type: 'system', job: 'test' })
  expect(await account.read.skills.byName('late')).toBeUndefined()
})

test('an interrupted import continues only with the same archive', async () => {
  const target = await emptyGrid()
  const stop = new Error('killed')
  const beforeUnit = (n: number) => {
    if (n === 1) throw stop
  }
  await expect(importInto(target.store, archive, { beforeUnit })).rejects.toBe(stop)
  const other = await changed(grid.store, archive, (lines) => lines.slice(0, -1))

  await expect(importInto(target.store, other)).rejects.toThrow('Another archive of this account')
  const end = { account: owner.id, list: 'another list', agents: [], withKeys: [], renamed: [], people: [] }
  await expect(endImport(target.store, end)).rejects.toThrow()

  expect(await target.store.global.accounts.byId(owner.id)).toMatchObject({ state: 'importing' })
})

test('an import fails if the archive has changed when it is read a second time', async () => {
  const target = await emptyGrid()
  const other = await changed(grid.store, archive, (lines) => lines.slice(0, -1))
  const texts = [archive, other]
  const importing = importArchive((command, args) => command.run(target.store, args), {
    read: (onLine) => readArchive(texts.shift()!, onLine),
    ...{ renames: [], reserved: [], now: target.clock.now },
  })

  await expect(importing).rejects.toMatchObject({ code: 'archive_changed' })

  expect(await target.store.global.accounts.byId(owner.id)).toMatchObject({ state: 'importing' })
})

test('an import fails if an agent of another account has the same id', async () => {
  const target = await testGrid()
  const columns = 'id, alias, type, visibility, access_policy, created_at'
  await rows(
    target,
    `INSERT INTO agents (account_id, ${columns}) VALUES (?, ?, 'elsewhere', 'mcp', 'private', 'auto_approve', 1)`,
    [target.evil.id, String(exported.agent[0].id)],
  )
  const renames = exported.agent.filter(({ deleted_at }) => deleted_at === null).map(({ alias }) =>
    `${alias}=b-${alias}`
  )

  await expect(importInto(target.store, archive, { renames })).rejects.toThrow(`agent ${exported.agent[0].id}`)
})

test('a lease without an expiry gets one when it is imported', async () => {
  const target = await emptyGrid()
  expect(exported.lease.map(({ expires_at }) => expires_at)).toContain(null)

  await importInto(target.store, archive)

  expect(rowsOf(await archiveOf(target.store, owner.id)).lease.map(({ expires_at }) => expires_at)).not.toContain(null)
})

test('an archive omits the alias of an agent that moved to another account', async () => {
  const other = await testGrid()
  const { id } = await other.acme.agent('moved-away')
  await rows(other, 'UPDATE agents SET moved_to = ?, deleted_at = 1 WHERE account_id = ? AND id = ?', [
    other.evil.id,
    other.acme.id,
    id,
  ])

  const { agent } = rowsOf(await archiveOf(other.store, other.acme.id))

  expect(agent.find((one) => one.id === id)).toMatchObject({ alias: id })
})

test('the operator can export an account only if it has an owner', async () => {
  const other = await testGrid()
  await signUpAs(other, 'tom@trial.example', 'on-trial')
  const account = (await other.store.global.accounts.page('', 10)).find(({ state }) => state === 'provisional')!

  await expect(noteExport(other.store, account.id)).rejects.toMatchObject({ code: 'not_allowed' })
})

test('an interrupted import can be deleted, which releases its aliases', async () => {
  const target = await emptyGrid()
  const stop = new Error('killed')
  const killed = importInto(target.store, archive, {
    beforeUnit: (n) => {
      if (n === 3) throw stop
    },
  })
  await expect(killed).rejects.toBe(stop)
  const { name } = (await target.store.global.accounts.byId(owner.id))!

  await deleteAccountCommand.run(target.store, { account: owner.id, name })
  await sweep(target.store)

  expect(await target.store.global.accounts.byId(owner.id)).toMatchObject({ state: 'removed' })
  expect(await target.store.feature(archiveImports).begun(owner.id)).toBeUndefined()
  const system = { type: 'system', job: 'test' } as const
  const { id } = await createAccount(target.store, { name: 'Other', ownerEmail: 'ann@other.example' }, system)
  await createAgent(target.store.account(id, system), { alias: 'alice' })
})

test('an import refuses taken aliases before it writes anything, and can rename the agents', async () => {
  const target = await emptyGrid()
  const system = { type: 'system', job: 'test' } as const
  const { id } = await createAccount(target.store, { name: 'Other', ownerEmail: 'ann@other.example' }, system)
  for (const alias of ['alice', 'bob']) await createAgent(target.store.account(id, system), { alias })

  await expect(importInto(target.store, archive)).rejects.toMatchObject({
    code: 'names_taken',
    message: expect.stringMatching(/alias @(alice|bob), alias @(alice|bob)\. Give these/),
  })
  expect(await target.store.global.accounts.byId(owner.id)).toBeUndefined()

  const { keys } = await importInto(target.store, archive, { renames: ['alice=acme-alice', '@bob=acme-bob'] })
  expect(keys.map(({ alias }) => alias)).toContain('acme-alice')
  await expect(importInto(target.store, archive, { renames: ['alice=b-alice', 'bob=b-bob'] })).rejects.toThrow(
    `account ${owner.id}`,
  )
})

test('an imported person gets an invitation, and has their alias again once they accept', async () => {
  const target = await emptyGrid()
  const { invitations } = await importInto(target.store, archive)
  const [{ email }] = invitations
  expect(await target.store.global.users.byEmail(email)).toBeUndefined()

  await acceptAs(target as TestGrid, invitations[0])

  const [{ agent_id }] = exported.person
  const account = target.store.account(owner.id, { type: 'system', job: 'test' })
  expect(await account.read.personAliases.holder(String(agent_id))).toMatchObject({ email })
})

test("an import's invitation expires after 30 days", async () => {
  const target = await emptyGrid()
  const { invitations: [first, second] } = await importInto(target.store, archive)
  target.clock.now += 30 * day - 1
  await acceptAs(target as TestGrid, first)
  target.clock.now += 2

  await expect(acceptAs(target as TestGrid, second)).rejects.toThrow()
})

test('a held message can be decided on the new grid, and expires at its original time', async () => {
  const target = await emptyGrid()
  const { invitations } = await importInto(target.store, archive)
  await acceptAs(target as TestGrid, invitations.find(({ role }) => role === 'owner')!)
  const ann = await ownerOf(target as TestGrid, owner.id)

  expect((await waiting(ann)).rule).toMatchObject({ isRisky: false })
  await approveOne(ann)

  const { delivery, held_message: [held] } = rowsOf(await archiveOf(target.store, owner.id))
  const delivered = delivery.find(({ message_id }) => message_id === held.message_id)
  expect(delivered).toMatchObject({ state: 'unread', expires_at: Number(held.sent_at) + 500_000_000 })
})

/** Returns the response without presence, which differs between the grids. */
function withoutPresence(answer: unknown): unknown {
  return JSON.parse(JSON.stringify(answer, (name, value) => name === 'presence' ? undefined : value))
}

/** Returns a client's archived tasks as reported by `ListTasks` and `GetTask`. */
async function tasksOf(grid: TestGrid, key: string): Promise<unknown[]> {
  const call = async (method: string, params: object) =>
    (await postA2a(grid, key, request(method, params), version)).body.result
  const { tasks: found } = await call('ListTasks', {})
  const tasks = found.filter(({ id }: { id: string }) => exported.task.some((task) => task.id === id))
  return [tasks, ...await Promise.all(tasks.map(({ id }: { id: string }) => call('GetTask', { id })))]
}

const version = { 'A2A-Version': '1.0' }

/** Creates a key for the agent on the old grid. */
async function newKeyOf(alias: string): Promise<string> {
  const agent = (await owner.store.read.agents.byAlias(alias))!
  const { key, hash, last4 } = mintKey('agent_key')
  const row = { id: newId(), kind: 'agent_key' as const, agentId: agent.id, userId: null, name: '', hash, last4 }
  await owner.store.write([owner.store.change.keys.add(row, grid.clock.now)])
  return key
}

/** Returns how many messages each pair of the account's agents exchanged. */
async function pairsOf({ store }: Pick<TestGrid, 'store'>, account: string) {
  const sql = `SELECT key, messages FROM threads WHERE account_id = ? AND kind = 'pair' AND EXISTS (
    SELECT 1 FROM agents WHERE agents.account_id = threads.account_id AND agents.id = substr(threads.key, 1, 36))
    AND EXISTS (SELECT 1 FROM agents WHERE agents.account_id = threads.account_id AND agents.id = substr(threads.key, 38))
    ORDER BY key`
  const [found] = await store.write([{ sql, args: [account], rows: 0 }])
  return found.map(({ key, messages }) => [key, messages])
}

async function* each(lines: string[]): AsyncIterable<string> {
  yield* lines
}
