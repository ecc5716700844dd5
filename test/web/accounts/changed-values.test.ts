/** Activity shows the values that a change replaced. docs/protocol/mcp.md, "Activity log". */
import { beforeAll, expect, test } from 'vitest'
import { recordActivity } from '../../../src/grid/activity.ts'
import { updateAgent } from '../../../src/grid/agents/agent-settings.ts'
import { createSkill, updateSkill } from '../../../src/grid/agents/skills.ts'
import { createChannel, updateChannel } from '../../../src/grid/channels/channels.ts'
import { createGuardrail, updateGuardrail } from '../../../src/grid/guardrails/guardrails.ts'
import { setAutomated } from '../../../src/grid/messaging/turns.ts'
import { setMemberRole } from '../../../src/grid/people/team.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import type { Browser } from '../../support/browse.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { person, signedIn, signedInByEmail } from '../../support/people.ts'

let grid: TestGrid
let path: string
let owner: Awaited<ReturnType<typeof person>>
let olga: Browser
beforeAll(async () => {
  grid = await testGrid()
  path = `/accounts/${grid.acme.id}`
  owner = await person(grid, { role: 'owner' })
  olga = await signedIn(grid, owner)
})

/** Makes a change as pages, REST and commands do. Resolves to the change's row on the log page and in the database. */
async function rowOf(input: object, change: (account: AccountStore) => Promise<unknown>) {
  const account = grid.store.account(grid.acme.id, owner.actor('owner'))
  await recordActivity(account, { tool: 'a_change', arguments: input, requestId: null }, change)
  const { html } = await olga.open(`${path}/activity`)
  const shown = html.match(/<ul class="changed">.*?<\/ul>/s)![0].replaceAll(/<\/li>/g, '; ').replaceAll(/<[^>]*>/g, '')
  const [stored] = await account.read.activity.list()
  return { shown, stored: JSON.stringify(stored) }
}

const [oldUrl, newUrl] = ['https://one.example/hook?key=old-secret', 'https://two.example/hook?key=new-secret']
const [oldKey, newKey] = ['old-secret', 'new-secret'].map((text) => `whsec_${btoa(text.repeat(3))}`)

test.each<[string, string, () => Promise<Awaited<ReturnType<typeof rowOf>>>]>([
  ['a role', 'role: from member to viewer; ', async () => {
    const { id: userId } = await person(grid, { role: 'member' })
    return rowOf({ userId }, (account) => setMemberRole(account, { userId, role: 'viewer' }))
  }],
  ['settings of an agent', 'visibility: from private to public; description: from “” to Helps; ', () => {
    const input = { agent: 'bob', visibility: 'public', description: 'Helps' } as const
    return rowOf(input, (account) => updateAgent(account, input))
  }],
  [
    'the address and token of a remote agent',
    'remote url: from https://one.example/hook?… to https://two.example/hook?…; ',
    async () => {
      await grid.acme.agent('desk', { type: 'a2a', remoteUrl: oldUrl, remoteToken: oldKey })
      const input = { agent: 'desk', remoteUrl: newUrl, remoteToken: newKey }
      return rowOf(input, (account) => updateAgent(account, input))
    },
  ],
  ['an agent that works in long exchanges', 'is automated: from false to true; ', () => {
    const input = { agent: 'alice', isAutomated: true }
    return rowOf(input, (account) => setAutomated(account, input))
  }],
  ['a channel', 'description: from Old to New; ', async () => {
    const { channel } = await createChannel(grid.acme.store, { name: 'team', description: 'Old' })
    const input = { channel: channel.id, description: 'New' }
    return rowOf(input, (account) => updateChannel(account, input))
  }],
  ['a skill', 'name: from law to tax law; ', async () => {
    const { id } = await createSkill(grid.acme.store, { name: 'law', description: 'Knows it' })
    const input = { name: 'tax law', description: 'Knows it' }
    return rowOf({ id, ...input }, (account) => updateSkill(account, id, input))
  }],
  [
    'the service, token and action of a guardrail',
    'url: from https://one.example/hook?… to https://two.example/hook?…; action: from block to flag; ' +
    'host: from one.example to two.example; ',
    async () => {
      const made = { name: 'hook', provider: 'webhook', config: { url: oldUrl }, token: oldKey }
      const { id } = await createGuardrail(grid.acme.store, made)
      const input = { config: { url: newUrl }, token: newKey, action: 'flag' } as const
      return rowOf({ id, ...input }, (account) => updateGuardrail(account, id, input))
    },
  ],
])('a change of %s is logged with its old and new values, without secrets', async (_, changes, change) => {
  const { shown, stored } = await change()

  expect(shown).toBe(changes)
  for (const secret of ['old-secret', 'new-secret', oldKey, newKey]) expect(stored).not.toContain(secret)
})

test('a change made on a page is logged with only the values that differ', async () => {
  const ann = await signedInByEmail(grid, 'ann@acme.example')
  const settings = `${path}/settings/account/turns`
  await ann.submit(settings, { warn: '10', perHour: '200', hops: '64' })
  const { text } = await ann.open(`${path}/activity`)

  expect(text).toMatch(/warn ?: from 30 to 10/)
  expect(text).not.toMatch(/per hour ?: from/)
})
