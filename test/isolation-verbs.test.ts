/**
 * Account isolation of the verbs. Each verb that takes something by name is called by an account that does not own it:
 * the result is the same as for an unknown name, and the owner's rows stay the same. How to add one is described in
 * `support/isolation-matrix.ts`. See docs/security.md, "Isolation matrix".
 */
import { readdirSync, readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createAdminKey } from '../src/grid/accounts/accounts.ts'
import { createAgent } from '../src/grid/agents/agents.ts'
import { listAgents } from '../src/grid/agents/find-agent.ts'
import { listSkills, setSkills } from '../src/grid/agents/skills.ts'
import { createChannel, listChannels } from '../src/grid/channels/channels.ts'
import { createGuardrail } from '../src/grid/guardrails/guardrails.ts'
import { cursorAt, readAgain } from '../src/grid/messaging/read-again.ts'
import { readMessages } from '../src/grid/messaging/read-messages.ts'
import { leaseMessages } from '../src/grid/messaging/timed-leases.ts'
import { newId } from '../src/lib/id.ts'
import type { AccountStore } from '../src/store/account.ts'
import { dump, rows } from './support/database.ts'
import { pausedConversation } from './support/echoes.ts'
import { type TestAgent, type TestGrid, testGrid } from './support/grid.ts'
import { type NamedKind, probes, verbsWithoutProbe } from './support/isolation-probes.ts'
import { sendMessage } from './support/messaging.ts'
import { askFor } from './support/tasks.ts'
import { seated } from './support/seats.ts'
import { accessTokenFor } from './support/oauth-token.ts'

let grid: TestGrid

describe('a verb', () => {
  let acme: { dump: string; values: Record<NamedKind, Record<string, string>> }
  beforeEach(async () => {
    grid = await testGrid()
    const { alice, bob } = grid
    await createChannel(grid.acme.store, { name: 'secret', members: ['alice', 'bob'] })
    await createChannel(grid.acme.store, { name: 'closed', members: ['alice', 'bob'] })
    await setSkills(as(alice), { skills: [{ name: 'spying', description: 'of Acme' }] })
    const { id } = await sendMessage(as(alice), {
      to: 'bob',
      text: 'for Acme alone',
      a2a: { messageId: 'm', parts: [{ text: 'for Acme alone '.repeat(1_000) }] },
    })
    await sendMessage(as(alice), { to: '#secret', text: 'for the channel' })
    const asked = await askFor(as(alice), 'for Acme alone', { contextId: 'a context of acme' })
    const gone = await grid.acme.agent('gone')
    await rows(grid, 'UPDATE agents SET deleted_at = 1 WHERE account_id = ? AND id = ?', [grid.acme.id, gone.id])
    await rows(grid, "UPDATE channels SET deleted_at = 1 WHERE account_id = ? AND name = 'closed'", [grid.acme.id])
    const guardrail = await createGuardrail(grid.acme.store, { name: 'watch', provider: 'pii' })
    const [skill] = await grid.acme.store.read.skills.list()
    await createChannel(grid.evil.store, { name: 'home' })
    for (const alias of ['mallory', ...Array.from({ length: 9 }, (_, n) => `own-${n}`)]) await grid.evil.agent(alias)

    const channel = await rows(grid, "SELECT id FROM channels WHERE account_id = ? AND name = 'secret'", [grid.acme.id])
    const [key] = await grid.acme.store.read.keys.adminKeys()
    const [owner] = await rows(grid, 'SELECT user_id FROM memberships WHERE account_id = ?', [grid.acme.id])
    const grant = await accessTokenFor(grid, String(owner.user_id), grid.acme.id)
    const paused = await pausedConversation(grid.acme.store, ['alice', 'bob'])
    const { leaseId } = await leaseMessages(as(bob), { limit: 1 })
    acme = {
      dump: await dump(grid, grid.acme),
      values: {
        agent: { foreign: 'bob', 'with @': '@bob', 'its id': bob.id, deleted: 'gone' },
        channel: { foreign: 'secret', 'its id': String(channel[0].id), deleted: 'closed' },
        message: { foreign: id, "of an agent's id": alice.id },
        credential: { foreign: key.id },
        grant: { foreign: grant.grantId },
        skill: { foreign: skill.id },
        guardrail: { foreign: guardrail.id },
        conversation: { foreign: paused },
        lease: { foreign: leaseId! },
        task: { foreign: asked.id },
      },
    }
  })
  afterEach(() => grid.close())

  const verbCases = probes.flatMap((probe) =>
    ({
      agent: ['foreign', 'with @', 'its id', 'deleted'],
      channel: ['foreign', 'its id', 'deleted'],
      message: ['foreign', "of an agent's id"],
      credential: ['foreign'],
      grant: ['foreign'],
      skill: ['foreign'],
      guardrail: ['foreign'],
      conversation: ['foreign'],
      lease: ['foreign'],
      task: ['foreign'],
    })[probe.takes].map((kind) => ({ ...probe, kind }))
  )

  test.each(verbCases)(
    '$name: $takes ($kind) is answered like an unknown one',
    async ({ takes, kind, call, ...probe }) => {
      const callers = {
        agent: () => as(grid.eve),
        admin: () => grid.evil.store,
        person: async () => (await seated(grid, 'emma', { account: grid.evil })).account,
      }
      const caller = await callers[probe.as]()
      const foreign = acme.values[takes][kind]
      const random = randomLike(foreign)

      const result = await resultOf(call(caller, foreign), foreign)
      const randomResult = await resultOf(call(caller, random), random)

      expect(result).toBe(randomResult)
      expect(await dump(grid, grid.acme)).toBe(acme.dump)
    },
  )

  test('every verb that takes an account has a probe, or a reason for none', () => {
    const files = readdirSync('src/grid', { recursive: true }).map(String).filter((file) => file.endsWith('.ts'))
    const verbs = files.flatMap((file) =>
      [
        ...readFileSync(`src/grid/${file}`, 'utf8').matchAll(
          /^export (?:async )?function\*? (\w+)\(\s*account: AccountStore/gm,
        ),
      ]
        .map(([, verb]) => verb)
    )
    const probed = probes.map(({ name }) => name.split(' ')[0])

    expect([...new Set([...probed, ...Object.keys(verbsWithoutProbe)])].sort()).toEqual(verbs.sort())
  })

  test('lists and inboxes contain nothing of another account', async () => {
    const eve = as(grid.eve)

    const seen = JSON.stringify([
      await readMessages(eve, {}),
      await readAgain(eve, {}),
      await readAgain(eve, { since: 'last_batch' }),
      await readAgain(eve, { since: '9d' }),
      await readAgain(eve, { since: cursorAt(eve, grid.eve.id, 0) }),
      await listAgents(eve, {}),
      await listAgents(eve, { public: true }),
      await listAgents(eve, { search: 'spying' }),
      await listChannels(eve),
      await listSkills(eve, {}),
    ])

    expect(seen).not.toMatch(/alice|bob|gone|secret|spying|Acme/)
    expect(await dump(grid, grid.acme)).toBe(acme.dump)
  })

  test('the same names in two accounts name two things', async () => {
    await setSkills(as(grid.eve), { skills: [{ name: 'spying', description: 'of Evil' }] })
    await createChannel(grid.evil.store, { name: 'secret', members: ['eve', 'mallory'] })
    await sendMessage(as(grid.eve), { to: '#secret', text: 'for Evil' })
    await createAdminKey(grid.evil.store, 'first key')

    expect((await listSkills(as(grid.alice), {})).skills).toEqual([{ name: 'spying', description: 'of Acme' }])
    expect(await dump(grid, grid.acme)).toBe(acme.dump)
  })

  test('who was written to may answer the writer, and reaches nothing else', async () => {
    await rows(grid, "UPDATE agents SET visibility = 'public' WHERE account_id = ? AND alias = 'eve'", [grid.evil.id])
    const unknown = await resultOf(sendMessage(as(grid.eve), { to: 'bob', text: 'before' }), 'bob')
    await sendMessage(as(grid.bob), { to: 'eve', text: 'question' })
    const before = JSON.parse(await dump(grid, grid.acme)) as string[][]
    const mallory = (await grid.evil.store.read.agents.byAlias('mallory'))!

    for (const [agent, to] of [[grid.eve, 'alice'], [{ ...mallory, key: '' }, 'bob'], [grid.eve, 'gone']] as const) {
      expect(await resultOf(sendMessage(as(agent), { to, text: 'before' }), to)).toBe(unknown)
    }
    expect(JSON.parse(await dump(grid, grid.acme))).toEqual(before)

    const { id } = await sendMessage(as(grid.eve), { to: 'bob', text: 'answer' })
    const after = JSON.parse(await dump(grid, grid.acme)) as string[][]
    const added = after.flatMap((table, n) => table.filter((row) => !before[n].includes(row)))
    expect(after.flat()).toHaveLength(before.flat().length + 1)
    // The turns of the two are counted in both accounts.
    const [pair, ...others] = added.filter((row) => row.includes('"key":"@bob @eve"'))
    expect([added.filter((row) => row !== pair), others]).toEqual([[expect.stringContaining(id)], []])
    expect(added.find((row) => row.includes(id))).toContain(grid.bob.id)
  })

  test('the alias of a deleted agent stays reserved for its account', async () => {
    await expect(createAgent(grid.evil.store, { alias: 'gone' })).rejects.toMatchObject({ code: 'alias_taken' })

    await expect(createAgent(grid.acme.store, { alias: 'gone' })).resolves.toBeDefined()
  })

  test('an agent that reuses an alias inherits neither messages nor channels', async () => {
    const first = await grid.acme.agent('phoenix')
    await createChannel(grid.acme.store, { name: 'birds', members: ['alice', 'phoenix'] })
    await sendMessage(as(grid.alice), { to: 'phoenix', text: 'for the first' })
    await sendMessage(as(grid.alice), { to: '#birds', text: 'for the first' })
    await rows(grid, 'UPDATE agents SET deleted_at = 1 WHERE account_id = ? AND id = ?', [grid.acme.id, first.id])

    const second = await grid.acme.agent('phoenix')

    expect((await readMessages(as(second), {})).messages).toEqual([])
    expect((await listChannels(as(second))).channels).toEqual([])
  })

  test('the data of one account contains no credentials of another', async () => {
    const tables = JSON.stringify(await dump(grid, grid.evil))

    for (const secret of [grid.alice.key, grid.acme.adminKey, grid.alice.id, grid.acme.id]) {
      expect(tables).not.toContain(secret)
    }
  })
})

function as(agent: TestAgent): AccountStore {
  const account = [grid.alice, grid.bob].includes(agent) || agent.alias === 'phoenix' ? grid.acme : grid.evil
  return grid.store.account(account.id, { type: 'agent', agentId: agent.id, alias: agent.alias, credentialId: 'test' })
}

/** A value of the same form that names nothing. */
function randomLike(value: string): string {
  if (/^[0-9a-f-]{36}$/.test(value)) return newId()
  return value.startsWith('@') ? '@never-was' : 'never-was'
}

/** The result or error of a call as JSON, without the value that it named. */
async function resultOf(call: Promise<unknown>, value: string): Promise<string> {
  const result = await call.then(
    (result) => ({ result }),
    (error) => ({ code: error.code, message: error.message, details: error.details }),
  )
  return JSON.stringify(result).replaceAll(value.replace(/^@/, ''), '…')
}
