/**
 * Authorization of every action of the pages: every role posts every form, also those that its pages do not show.
 * Add a row for each new action; without one this test fails. See docs/security.md, "Roles" and "Forms".
 */
import { afterAll, describe, expect, test } from 'vitest'
import { type Role, roles } from '../../src/auth/actor.ts'
import { createAdminKey } from '../../src/grid/accounts/accounts.ts'
import { createSkill } from '../../src/grid/agents/skills.ts'
import { createChannel } from '../../src/grid/channels/channels.ts'
import { createGuardrail } from '../../src/grid/guardrails/guardrails.ts'
import { inviteMember } from '../../src/grid/people/invitations.ts'
import { newId } from '../../src/lib/id.ts'
import { hour } from '../../src/lib/time.ts'
import { as, say } from '../support/conversations.ts'
import { dump } from '../support/database.ts'
import { pausedConversation } from '../support/echoes.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { accessTokenFor } from '../support/oauth-token.ts'
import { csrfTokenOf, password, person, signedIn } from '../support/people.ts'
import { addTotp } from '../support/second-factor.ts'

interface Action {
  /** The roles that may do it. All others get 403, and nothing changes. */
  may: readonly Role[]
  fields?: Record<string, string>
  /** Creates what the path or the form refers to: path parameters and form fields. */
  given?(grid: TestGrid): Promise<{ params?: Record<string, string>; fields?: Record<string, string> }>
}

const uuid = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g
const managers = ['owner', 'admin'] as const
const owners = ['owner'] as const
const writers = ['owner', 'admin', 'member'] as const

/** By path below `/accounts/:account`. */
const actions: Record<string, Action> = {
  '/settings/profile/name': { may: roles, fields: { name: 'Another name' } },
  '/settings/profile/keyboard': { may: roles, fields: { keys: 'off' } },
  '/settings/profile/verify': { may: roles },
  '/settings/profile/email': { may: roles, fields: { email: 'new@people.example', current: password } },
  '/settings/profile/alias': { may: writers, given: () => Promise.resolve({ fields: { alias: aName() } }) },
  '/settings/profile/password': { may: roles, fields: { current: password, password: 'another horse battery' } },
  '/settings/sessions/end-others': { may: roles },
  '/settings/security/totp': { may: roles },

  '/settings/account/name': { may: owners, fields: { name: 'Another' } },
  '/settings/account/turns': { may: managers, fields: { warn: '40', perHour: '300', hops: '0' } },
  '/conversations/:conversation/resume': {
    may: managers,
    given: async ({ acme }) => ({ params: { conversation: await pausedConversation(acme.store, ['alice', aName()]) } }),
  },
  '/write': {
    may: writers,
    given: () => Promise.resolve({ fields: { alias: aName(), to: '@alice', text: 'Hello' } }),
  },
  '/conversations/:thread/read': { may: writers, fields: { upTo: '1' }, given: aConversation },
  '/conversations/:thread/unread': { may: writers, fields: { from: '1' }, given: aConversation },
  '/attention/snooze': {
    may: roles,
    given: async ({ acme }) => ({
      fields: { kind: 'paused', subject: await pausedConversation(acme.store, ['alice', aName()]), time: 'hour' },
    }),
  },
  '/attention/show-again': { may: roles, fields: { kind: 'paused', subject: 'any' } },
  '/settings/account/second-factor': { may: owners, fields: { required: 'no' } },
  '/settings/account/reading': { may: owners, fields: { choice: 'on' } },
  '/settings/account/contents': { may: owners, fields: { visible: 'yes' } },
  '/settings/account/keys': { may: managers, fields: { keyName: 'a key' } },
  '/settings/account/keys/:key/delete': {
    may: managers,
    given: async ({ acme }) => ({ params: { key: (await createAdminKey(acme.store, 'doomed')).id } }),
  },
  '/settings/account/programs/:grant/end': {
    may: managers,
    given: async (grid) => {
      const { id } = await person(grid, { role: 'owner' })
      return { params: { grant: (await accessTokenFor(grid, id, grid.acme.id)).grantId } }
    },
  },

  '/settings/team/invitations': {
    may: managers,
    given: () => Promise.resolve({ fields: { email: `${newId()}@people.example`, role: 'admin' } }),
  },
  '/settings/team/invitations/:invitation/again': { may: managers, given: anInvitation },
  '/settings/team/invitations/:invitation/withdraw': { may: managers, given: anInvitation },
  '/settings/team/members/:member/role': { may: managers, fields: { role: 'admin' }, given: aMember },
  '/settings/team/members/:member/remove': { may: managers, given: aMember },
  '/settings/team/members/:member/reset-second-factor': { may: owners, given: aProtectedMember },
  '/settings/team/leave': { may: roles },
  '/settings/team/hand-over': {
    may: owners,
    given: async (grid) => ({
      fields: {
        member: (await person(grid, { role: 'member' })).id,
        confirmation: (await grid.store.global.accounts.byId(grid.acme.id))!.name,
      },
    }),
  },

  '/new-agent': { may: managers, given: () => Promise.resolve({ fields: { alias: aName(), ...agentFields } }) },
  '/agents/:alias/settings': { may: managers, fields: { description: 'another' }, given: anAgent },
  '/agents/:alias/automated': { may: managers, fields: { automated: 'yes' }, given: anAgent },
  '/agents/:alias/requeue': { may: managers, given: anAgent },
  '/agents/:alias/skills': { may: managers, fields: { skills: 'counting' }, given: anAgent },
  '/agents/:alias/guardrails': { may: managers, given: anAgent },
  '/agents/:alias/key': { may: managers, given: anAgent },
  '/agents/:alias/keys': { may: managers, fields: { name: 'another' }, given: anAgent },
  '/agents/:alias/keys/:key/revoke': {
    may: managers,
    given: async (grid) => {
      const { params: { alias } } = await anAgent(grid)
      const agent = await grid.acme.store.read.agents.byAlias(alias)
      const [key] = await grid.acme.store.read.keys.ofAgent(agent!.id, grid.clock.now)
      return { params: { alias, key: key.id } }
    },
  },
  '/agents/:alias/programs/:grant/end': {
    may: managers,
    given: async (grid) => {
      const { id } = await person(grid, { role: 'owner' })
      const { params: { alias } } = await anAgent(grid)
      return { params: { alias, grant: (await accessTokenFor(grid, id, grid.acme.id)).grantId } }
    },
  },
  '/agents/:alias/delete': { may: managers, given: anAgent },

  '/channels/new': { may: managers, given: () => Promise.resolve({ fields: { name: aName() } }) },
  '/channels/:channel/settings': { may: managers, fields: { description: 'another' }, given: aChannel },
  '/channels/:channel/members': { may: managers, fields: { members: 'bob' }, given: aChannel },
  '/channels/:channel/members/remove': { may: managers, fields: { members: 'alice' }, given: aChannel },
  '/channels/:channel/delete': { may: managers, given: aChannel },

  '/skills/new': { may: managers, given: () => Promise.resolve({ fields: { name: aName() } }) },
  '/skills/:skill': { may: managers, given: async (grid) => ({ ...await aSkill(grid), fields: { name: aName() } }) },
  '/skills/:skill/delete': { may: managers, given: aSkill },

  '/guardrails/new/:provider': {
    may: managers,
    given: () => Promise.resolve({ params: { provider: 'length' }, fields: { ...lengthFields, name: aName() } }),
  },
  '/guardrails/new/:provider/try': {
    may: managers,
    given: () => Promise.resolve({ params: { provider: 'length' }, fields: { ...lengthFields, text: 'a text' } }),
  },
  '/guardrails/:guardrail': {
    may: managers,
    given: async (grid) => ({ ...await aGuardrail(grid), fields: { ...lengthFields, name: aName() } }),
  },
  '/guardrails/:guardrail/delete': { may: managers, given: aGuardrail },
  '/guardrails/:guardrail/try': { may: managers, fields: { text: 'a text' }, given: aGuardrail },
  '/guardrails/:guardrail/allow': { may: managers, fields: { textHash: '0'.repeat(64) }, given: aGuardrail },
  '/guardrails/:guardrail/disallow': { may: managers, fields: { textHash: '0'.repeat(64) }, given: aGuardrail },
}

/** Actions on the user's own sessions and grants, for any role. They have their own tests. */
const withoutRow: Record<string, string> = {
  '/conversations/:thread/messages': 'writes as the alias of the user (web/conversations/writing-roles)',
  '/settings/notifications/browsers': 'is for users with an alias (web/people/notifications)',
  '/settings/notifications/browsers/:browser/remove': 'names a browser of the user (the same)',
  '/settings/notifications/test': 'is for users with an alias (the same)',
  '/settings/notifications/digest': 'the same',
  '/settings/profile/alias/give-up': 'ends the alias of the user (web/people/alias)',
  '/settings/sessions/:session/end': 'ends a session of the user (web/people/settings)',
  '/settings/sessions/programs/:grant/end': 'ends a grant of the user (web/oauth/programs)',
  '/settings/security/totp/finish': 'sets up an app of the user (web/people/second-factor)',
  '/settings/security/totp/remove': 'removes the app of the user (web/people/second-factor)',
  '/settings/security/recovery-codes': 'replaces the codes of the user (web/people/confirmation)',
  '/settings/security/passkeys': 'adds a passkey of the user (web/people/passkeys)',
  '/settings/security/passkeys/:passkey/remove': 'removes a passkey of the user (web/people/passkeys)',
}

/** POST routes outside accounts, and what authorizes them. */
const open: Record<string, string> = {
  '/api/v1/agentic-signup': 'nothing: public',
  '/sign-in': 'a password',
  '/sign-in/form': 'nothing: it keeps a form that waits (web/kept-form)',
  '/second-factor/form': 'the same',
  '/confirm/form': 'the same',
  '/sign-out': 'the session',
  '/notifications/renew': 'the session (web/people/notifications)',
  '/unsubscribe/:token': 'the token in a mail digest, which ends that digest (web/people/notifications)',
  '/passkey': 'nothing: public',
  '/passkey/sign-in': 'a passkey (web/people/passkeys)',
  '/second-factor': 'the half session, and a code (web/people/second-factor)',
  '/second-factor/passkey': 'the half session, and a passkey (web/people/passkeys)',
  '/confirm': 'the session, and a code or the password (web/people/confirmation)',
  '/confirm/passkey': 'the session, and a passkey (web/people/passkeys)',
  '/sign-in-link': 'nothing: public',
  '/sign-in-link/:token': 'the link',
  '/reset': 'nothing: public',
  '/reset/:token': 'the link',
  '/verify/:token': 'the link and the session',
  '/new-address/:token': 'the link and the session',
  '/set-up/:token': 'the link',
  '/claim/:token': 'the link, the session and the verified email address (web/accounts/claim)',
  '/claim/:token/proof': 'the link',
  '/claims/:id': 'the session and the verified email address (web/accounts/claim)',
  '/claim/:token/:proof': 'both links',
  '/invitations/:token': 'the link and the session',
  '/invitations/:token/register': 'the link',
  '/new-account': 'the session',
  '/oauth/authorize': 'the session, and the entries that the consent page offered (oauth/authorize)',
  '/oauth/token': 'the client and its code or refresh token',
  '/oauth/register': 'nothing: public',
  '/oauth/revoke': 'the client and its token',
  '/api/oauth/api-key': 'an access token of an agent',
  '/api/v1/inbox/leases': 'an agent key (roles)',
  '/api/v1/inbox/leases/:lease/extend': 'the same',
  '/api/v1/inbox/leases/:lease/ack': 'the same',
  '/api/v1/inbox/leases/:lease/release': 'the same',
  '/api/v1/messages': 'the same',
  '/api/v1/guardrails': 'an admin key or an access token of an admin (roles)',
}

/** The operations of A2A at each of their endpoints: they take the key of an agent, and no cookie. */
const isA2a = (path: string) => /^\/a2a\/v1\/(grid|agents\/:alias)(\/|$)/.test(path)

describe('the table of roles and actions', async () => {
  const grid = await testGrid({ env: { DURABILITY: 'relaxed' } })
  afterAll(() => grid.close())

  test('has a row for every POST route', () => {
    const posts = grid.app.routes.filter(({ method }) => method === 'POST').map(({ path }) => path)
    const known = [
      ...[...Object.keys(actions), ...Object.keys(withoutRow)].map((path) => `/accounts/:account${path}`),
      ...Object.keys(open),
    ]

    expect([...new Set(posts)].filter((path) => !isA2a(path)).sort()).toEqual(known.sort())
  })

  const cases = Object.entries(actions).flatMap(([path, action]) => roles.map((role) => [role, path, action] as const))
  test.each(cases)('%s: %s', async (role, path, { may, ...action }) => {
    // Stay below the limit of emails per client address.
    grid.clock.now += hour
    const { at, fields } = await ready(path, action)
    const one = await signedIn(grid, await person(grid, { role, isVerified: false }))
    const csrf = await csrfTokenOf(one, `/accounts/${grid.acme.id}/settings/sessions`)
    const before = await dump(grid, grid.acme, ['activity'])

    const response = await post(one, at, { csrf, ...fields })

    if (may.includes(role)) {
      expect([200, 303]).toContain(response.status)
    } else {
      expect(response.status).toBe(403)
      expect(await dump(grid, grid.acme, ['activity'])).toBe(before)
    }
  })

  const outsiders = Object.entries(actions).flatMap(([path, action]) =>
    (['owner of another account', 'no session'] as const).map((who) => [who, path, action] as const)
  )
  test.each(outsiders)('%s: %s', async (who, path, action) => {
    const { at, fields } = await ready(path, action)
    const isSignedOut = who === 'no session'
    const one = await signedIn(grid, await person(grid, { role: 'owner', account: grid.evil }))
    const csrf = await csrfTokenOf(one, `/accounts/${grid.evil.id}/settings/sessions`)
    if (isSignedOut) one.cookies.clear()
    const before = await dump(grid, grid.acme)

    const response = await post(one, at, { csrf, ...fields })

    // Without a session, 307 leads to the sign-in with the form.
    expect(isSignedOut ? [401, 307] : [404]).toContain(response.status)
    expect(response.headers.get('location') ?? '/sign-in/form').toMatch(/^\/sign-in\/form/)
    expect(await dump(grid, grid.acme)).toBe(before)
  })

  test.each(Object.entries(actions))('without the CSRF token: %s', async (path, action) => {
    const { at, fields } = await ready(path, action)
    const one = await signedIn(grid, await person(grid, { role: 'owner' }))
    const before = await dump(grid, grid.acme)

    expect((await post(one, at, fields)).status).toBe(403)
    expect(await dump(grid, grid.acme)).toBe(before)
  })

  // Providers are global; every other parameter refers to something in the account.
  test.each(Object.entries(actions).filter(([path]) => path.includes('/:') && !path.includes('/:provider')))(
    'an owner of another account cannot reach it through their own account: %s',
    async (path, action) => {
      const { at, fields, params } = await ready(path, action)
      const one = await signedIn(grid, await person(grid, { role: 'owner', account: grid.evil }))
      const csrf = await csrfTokenOf(one, `/accounts/${grid.evil.id}/settings/sessions`)
      const before = await dump(grid, grid.acme)
      const foreign = at.replace(grid.acme.id, grid.evil.id)
      const random = Object.values(params).reduce(
        (path, value) => path.replace(`/${value}`, `/${value.length === 36 ? newId() : aName()}`),
        foreign,
      )

      const answers = await Promise.all([foreign, random].map((path) => post(one, path, { csrf, ...fields })))

      expect(answers.map(({ status }) => status)).toEqual([404, 404])
      const [text, textForRandom] = await Promise.all(answers.map((answer) => answer.text()))
      const withoutNames = (text: string) => text.replace(uuid, '…').replace(/\bn-[0-9a-f]{12}\b/g, '…')
      expect(withoutNames(text)).toBe(withoutNames(textForRandom))
      expect(await dump(grid, grid.acme)).toBe(before)
    },
  )

  /** The path and fields of an action, after creating what it refers to. */
  async function ready(path: string, { fields = {}, given }: Omit<Action, 'may'>) {
    const made = await given?.(grid)
    const filled = path.replace(/:(\w+)/g, (_, name) => made!.params![name])
    const params = made?.params ?? {}
    return { at: `/accounts/${grid.acme.id}${filled}`, fields: { ...fields, ...made?.fields }, params }
  }
})

function post(one: Awaited<ReturnType<typeof signedIn>>, path: string, fields: Record<string, string>) {
  return one.request(path, {
    method: 'POST',
    headers: { 'Origin': 'http://localhost:8787', 'Content-Type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(fields).toString(),
  })
}

async function aMember(grid: TestGrid) {
  return { params: { member: (await person(grid, { role: 'viewer' })).id } }
}

async function aProtectedMember(grid: TestGrid) {
  const member = await person(grid, { role: 'viewer' })
  await addTotp(grid, member)
  return { params: { member: member.id } }
}

async function anInvitation(grid: TestGrid) {
  const owner = await person(grid, { role: 'owner' })
  const account = grid.store.account(grid.acme.id, owner.actor('owner'))
  const { id } = await inviteMember(account, { email: `${newId()}@people.example`, role: 'member' })
  return { params: { invitation: id } }
}

const agentFields = { type: 'mcp', visibility: 'private', accessPolicy: 'auto_approve' }
const lengthFields = { 'config.maxCharacters': '100', action: 'block', onFailure: 'closed' }

function aName(): string {
  return `n-${newId().slice(-12)}`
}

async function anAgent(grid: TestGrid) {
  return { params: { alias: (await grid.acme.agent(aName())).alias } }
}

async function aConversation(grid: TestGrid) {
  const alice = as(grid, grid.acme, grid.alice)
  const { seq } = await say(grid, alice, 'bob', 'Hello')
  const { threadId } = (await alice.read.threadMessages.bySeqs([seq]))[0]
  return { params: { thread: String(threadId) } }
}

async function aChannel({ acme }: TestGrid) {
  const { channel } = await createChannel(acme.store, { name: aName(), members: ['alice'] })
  return { params: { channel: channel.id } }
}

async function aSkill({ acme }: TestGrid) {
  return { params: { skill: (await createSkill(acme.store, { name: aName(), description: '' })).id } }
}

async function aGuardrail({ acme }: TestGrid) {
  const { id } = await createGuardrail(acme.store, {
    name: aName(),
    provider: 'length',
    config: { maxCharacters: 100 },
  })
  return { params: { guardrail: id } }
}
