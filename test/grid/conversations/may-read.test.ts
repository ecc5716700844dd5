/** Who may read which messages: every place, role, switch state and message age. */
import { describe, expect, test } from 'vitest'
import { type Role, roles } from '../../../src/auth/actor.ts'
import { createOwnedAccount } from '../../../src/grid/accounts/accounts.ts'
import { claimAccount, openClaim } from '../../../src/grid/accounts/claim.ts'
import { setPeopleRead } from '../../../src/grid/accounts/people-read.ts'
import { createChannel } from '../../../src/grid/channels/channels.ts'
import {
  isReadBySwitch,
  mayRead,
  type Place,
  placeOfThread,
  readerOf,
} from '../../../src/grid/conversations/may-read.ts'
import { hour } from '../../../src/lib/time.ts'
import { testGrid } from '../../support/grid.ts'
import { member, personWithAlias } from '../../support/person-aliases.ts'

const grid = await testGrid()
const start = grid.clock.now
const before = start - hour
const between = start + hour
const later = start + 3 * hour

const { channel: theirs } = await createChannel(grid.acme.store, { name: 'theirs', members: ['alice'] })
const readers = Object.fromEntries(
  await Promise.all(
    roles.map(async (role) =>
      [
        role,
        role === 'viewer' ? await member(grid, { role }) : await personWithAlias(grid, `a-${role}`, { role }),
      ] as const
    ),
  ),
)
grid.clock.now = start
const { channel: joined } = await createChannel(grid.acme.store, {
  name: 'joined',
  members: ['alice', 'a-owner', 'a-admin', 'a-member'],
})

const places: Record<string, Place> = {
  mine: { kind: 'mine' },
  'my channel': { kind: 'channel', channelId: joined.id },
  'another channel': { kind: 'channel', channelId: theirs.id },
  'between agents': { kind: 'others' },
}

/** Sets of messages by age: before anybody joined, after the person joined, and after reading was enabled. */
type Ages = 'none' | 'all' | 'since joined' | 'since switched' | 'since first'
const readable: Record<Ages, number[]> = {
  none: [],
  all: [before, between, later],
  'since joined': [between, later],
  'since switched': [later],
  'since first': [between, later],
}

/** The messages that owners and admins, members, and viewers can read, by switch state and place. */
const table: Record<string, Record<string, [managers: Ages, members: Ages, viewers: Ages]>> = {
  off: {
    mine: ['all', 'all', 'none'],
    'my channel': ['since joined', 'since joined', 'none'],
    'another channel': ['none', 'none', 'none'],
    'between agents': ['none', 'none', 'none'],
  },
  'on since later': {
    mine: ['all', 'all', 'none'],
    'my channel': ['since joined', 'since joined', 'none'],
    'another channel': ['since switched', 'none', 'none'],
    'between agents': ['since switched', 'none', 'none'],
  },
  'on for everything': {
    mine: ['all', 'all', 'none'],
    'my channel': ['all', 'since joined', 'none'],
    'another channel': ['all', 'none', 'none'],
    'between agents': ['all', 'none', 'none'],
  },
}
const switches: Record<string, number | null> = { off: null, 'on since later': later, 'on for everything': 0 }

describe('reading by switch state, place and role', () => {
  const cases = Object.entries(table).flatMap(([state, byPlace]) =>
    Object.entries(byPlace).flatMap((
      [place, [managers, members, viewers]],
    ) => (roles.map((role): [string, string, Role, Ages] => {
      return [state, place, role, role === 'viewer' ? viewers : role === 'member' ? members : managers]
    })))
  )
  test.each(cases)('with reading %s, messages in %s: %s reads %s', async (state, place, role, ages) => {
    await grid.store.write([grid.acme.store.change.profile.setPeopleRead(switches[state])])
    const reader = await readerOf(readers[role].account)

    const read = [before, between, later].filter((at) => mayRead(reader, places[place], at))

    expect(read).toEqual(readable[ages])
  })
})

test("an owner reads others' messages and posts from before joining only because of the switch, so these readings are recorded", async () => {
  const reader = await readerOf(readers.owner.account)
  const recorded = (place: string) => [before, between, later].filter((at) => isReadBySwitch(reader, places[place], at))

  expect(recorded('mine')).toEqual([])
  expect(recorded('my channel')).toEqual([before])
  expect(recorded('another channel')).toEqual([before, between, later])
  expect(recorded('between agents')).toEqual([before, between, later])
})

test("a pair's thread and a channel's thread each have one place, and a conversation id's thread counts as others' messages", async () => {
  const { account, personAlias } = await personWithAlias(grid, 'dan')
  const reader = await readerOf(account)
  const agents = [{ id: grid.alice.id, alias: 'alice', isForeign: false, isDeleted: false, isHook: false }, {
    id: personAlias.agentId,
    alias: 'dan',
    isForeign: false,
    isDeleted: false,
    isHook: false,
  }]
  const channel = { id: theirs.id, name: 'theirs', isDeleted: false }

  expect(placeOfThread(reader, { kind: 'pair', channel: null, agents })).toEqual({ kind: 'mine' })
  expect(placeOfThread(reader, { kind: 'channel', channel, agents: [] })).toEqual({
    kind: 'channel',
    channelId: theirs.id,
  })
  expect(placeOfThread(reader, { kind: 'conversation', channel: null, agents })).toEqual({ kind: 'others' })
})

test("in an account that a person created, owners can read messages from the beginning, but not in a claimed signup's account", async () => {
  const ann = await member(grid, { role: 'owner' })
  const user = { user: { id: ann.person.id, email: ann.person.email, emailVerifiedAt: 1 }, sessionId: 's' }
  const signup = await (await grid.post('/api/v1/agentic-signup', { owner_email: ann.person.email, alias: 'zoe' }))
    .json()
  const { provisionalId, agents } = await openClaim(grid.store, signup.trial.claim_url.split('/').at(-1))
  const made = await createOwnedAccount(grid.store, { name: 'Mine' }, user, null)
  const decision = { keep: agents.map(({ id }) => id), move: [], discard: [], name: 'Claimed' }
  await claimAccount(grid.store, signup.trial.claim_url.split('/').at(-1), user, decision, null)

  const since = (id: string) => grid.store.account(id, ann.person.actor('owner')).read.profile.peopleReadSince()
  expect(await since(made)).toBe(0)
  expect(await since(provisionalId)).toBeNull()
})

test('losing a role or a membership ends reading immediately', async () => {
  const one = await personWithAlias(grid, 'cat', { role: 'owner' })
  await grid.store.write([grid.acme.store.change.profile.setPeopleRead(0)])
  expect(mayRead(await readerOf(one.account), { kind: 'others' }, later)).toBe(true)

  await grid.store.write([grid.acme.store.change.team.setRole(one.person.id, 'member')])
  expect(mayRead(await readerOf(one.account), { kind: 'others' }, later)).toBe(false)
  await grid.store.write([grid.acme.store.change.team.remove(one.person.id)])
  await expect(readerOf(one.account)).rejects.toMatchObject({ code: 'not_allowed' })
})

test.each(['agent', 'admin'] as const)('an %s cannot read conversations, whatever the switch state', async (type) => {
  const account = type === 'agent'
    ? grid.store.account(grid.acme.id, { type, agentId: grid.alice.id, alias: 'alice', credentialId: 'key' })
    : grid.store.account(grid.acme.id, { type, credentialId: 'key', credentialKind: 'admin_key', userId: null })

  await expect(readerOf(account)).rejects.toMatchObject({ code: 'wrong_credential' })
})

describe('the switch that lets people read', () => {
  test.each(roles)('%s', async (role) => {
    const { account } = await member(grid, { role })
    const change = setPeopleRead(account, { choice: 'on' })
    if (role === 'owner') expect(await change).toBeDefined()
    else await expect(change).rejects.toMatchObject({ code: 'not_allowed' })
  })

  test('the switch applies from the time it is turned on, the choice "older" adds earlier messages, and turning it off resets both', async () => {
    const { account, person } = await member(grid, { role: 'owner' })
    const again = () => grid.store.account(grid.acme.id, person.actor('owner'))
    expect(await setPeopleRead(account, { choice: 'off' })).toEqual({ since: null })
    await expect(setPeopleRead(account, { choice: 'older' })).rejects.toMatchObject({ code: 'invalid_input' })

    grid.clock.now = later
    expect(await setPeopleRead(again(), { choice: 'on' })).toEqual({ since: later })
    grid.clock.now = later + hour
    expect(await setPeopleRead(again(), { choice: 'on' })).toEqual({ since: later })
    expect(await setPeopleRead(again(), { choice: 'older' })).toEqual({ since: 0 })
    expect(await setPeopleRead(again(), { choice: 'off' })).toEqual({ since: null })
    expect(await setPeopleRead(again(), { choice: 'on' })).toEqual({ since: later + hour })
  })
})
