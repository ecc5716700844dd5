/** What letting programs in, and ending that, leaves in the activity log of the account. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { maxAccountsAtOnce } from '../../src/grid/oauth/all-grants.ts'
import { deleteAgent } from '../../src/grid/agents/agents.ts'
import { revokeOwnGrant } from '../../src/grid/oauth/grants.ts'
import { askForLink, resetPassword } from '../../src/grid/people/email-links.ts'
import { newId } from '../../src/lib/id.ts'
import { dump, rows } from '../support/database.ts'
import { accessTokenOf } from '../support/oauth-token.ts'
import {
  answer,
  apiKey,
  browse,
  callback,
  codeFor,
  exchange,
  issuer,
  type OAuthGrid,
  oauthGrid,
  openPage,
  opens,
  person,
  postForm,
  redirected,
  refresh,
  setRole,
  signedIn,
  signIn,
} from '../support/oauth.ts'
import { mailedPath } from '../support/people.ts'

let grid: OAuthGrid
beforeEach(async () => {
  grid = await oauthGrid({ env: { DURABILITY: 'relaxed' } })
})
afterEach(async () => {
  for (const { store } of [grid.acme, grid.evil]) expect(await store.read.activity.firstBroken()).toBeUndefined()
  await grid.close()
})

const ann = () => grid.ann.visitor.user.id
const admin = () => `admin:${grid.acme.id}`
const agent = () => `agent:${grid.alice.id}`
const revoke = (token: string, client_id = grid.clientId) => postForm(grid, '/oauth/revoke', { token, client_id })

describe('consent', () => {
  test.each([
    ['@admin', admin, 'Let program Demo act as @admin'],
    ['@alice', agent, 'Let program Demo act as @alice'],
  ])('to be %s is one row, and the use of it none', async (as, pick, sentence) => {
    const { handle } = await openPage(grid, grid.ann)
    const { code } = redirected(await answer(grid, grid.ann, { handle, pick: pick(), decision: 'allow' }))

    const [{ id }] = await rows(grid, 'SELECT id FROM oauth_grants WHERE account_id = ?', [grid.acme.id])
    const [row] = await log()
    expect(row).toMatchObject({ tool: 'give_grant', outcome: 'ok', actorType: 'user', userId: ann() })
    expect(row).toMatchObject({ credentialId: grid.ann.visitor.sessionId, credentialKind: 'session' })
    expect(JSON.parse(row.arguments)).toEqual({ id, program: 'Demo', client: grid.clientId, as })
    expect(await told()).toEqual([sentence])
    await refresh(grid, (await exchange(grid, code)).body.refresh_token)
    expect(await log()).toHaveLength(1)
    expect(await log(grid.evil)).toEqual([])
  })

  test('that comes after the role or the agent ended is told as refused', async () => {
    const [one, two] = [await openPage(grid, grid.ann), await openPage(grid, grid.ann)]
    await deleteAgent(grid.acme.store, 'alice')
    await answer(grid, grid.ann, { handle: one.handle, pick: agent(), decision: 'allow' })
    await setRole(grid, grid.ann, 'member')
    await answer(grid, grid.ann, { handle: two.handle, pick: admin(), decision: 'allow' })

    expect((await log()).map(({ tool, outcome }) => [tool, outcome])).toEqual([
      ['give_grant', 'access_denied'],
      ['give_grant', 'access_denied'],
    ])
    await setRole(grid, grid.ann, 'owner')
    expect(await told()).toEqual([
      'Could not let program Demo act as @adminaccess denied',
      'Could not let program Demo act as @alice (deleted)access denied',
    ])
  })

  test('of somebody who belongs to the account no more leaves nothing, and neither does a refusal', async () => {
    const bea = await person(grid, 'admin')
    const [one, two] = [await openPage(grid, bea), await openPage(grid, grid.ann)]
    await rows(grid, 'DELETE FROM memberships WHERE account_id = ? AND user_id = ?', [
      grid.acme.id,
      bea.visitor.user.id,
    ])

    const left = await answer(grid, bea, { handle: one.handle, pick: admin(), decision: 'allow' })
    await answer(grid, grid.ann, { handle: two.handle, pick: admin(), decision: 'deny' })
    const again = await answer(grid, grid.ann, { handle: two.handle, pick: admin(), decision: 'allow' })

    expect(redirected(left)).toMatchObject({ error: 'access_denied' })
    expect(again.status).toBe(400)
    expect(await log()).toEqual([])
  })

  test('is not told as given when its page is lost under it', async () => {
    const { handle } = await openPage(grid, grid.ann)
    await rows(
      grid,
      'CREATE TRIGGER lost AFTER UPDATE ON oauth_requests BEGIN UPDATE oauth_requests SET grant_id = NULL; END',
    )

    expect((await answer(grid, grid.ann, { handle, pick: admin(), decision: 'allow' })).status).toBe(409)

    expect((await log()).map(({ outcome }) => outcome)).toEqual(['write_conflict'])
    expect(await rows(grid, 'SELECT id FROM oauth_grants WHERE account_id = ?', [grid.acme.id])).toEqual([])
  })

  test('given twice at once is given once', async () => {
    const { handle } = await openPage(grid, grid.ann)
    const allow = () => answer(grid, grid.ann, { handle, pick: admin(), decision: 'allow' })

    const answers = await Promise.all([allow(), allow(), allow()])

    expect(answers.map(({ status }) => status).sort()).toEqual([303, 400, 400])
    expect((await log()).filter(({ outcome }) => outcome === 'ok')).toHaveLength(1)
    expect(await rows(grid, 'SELECT id FROM oauth_grants WHERE account_id = ?', [grid.acme.id])).toHaveLength(1)
  })
})

test('who ends a grant of their own is told in its account, whatever account they are looking at', async () => {
  await joinEvil()
  const { grantId } = await accessTokenOf(grid, ann(), grid.evil.id, grid.eve.id)
  const { grantId: eds } = await accessTokenOf(grid, grid.ed.visitor.user.id, grid.evil.id)
  const end = (id: string) =>
    browse(grid, grid.ann, `/accounts/${grid.acme.id}/settings/sessions/programs/${id}/end`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded', Origin: issuer },
      body: new URLSearchParams({ csrf: grid.ann.visitor.csrf }).toString(),
    })

  expect([await end(grantId), await end(grantId), await end(eds)].map(({ status }) => status)).toEqual([303, 404, 404])

  const [row, ...more] = await log(grid.evil)
  expect(more).toEqual([])
  expect(row).toMatchObject({ tool: 'revoke_own_grant', outcome: 'ok', userId: ann(), credentialKind: 'session' })
  expect(JSON.parse(row.arguments)).toEqual({ id: grantId, program: 'Client', client: 'client', as: '@eve' })
  expect(await told(grid.evil)).toEqual(['Disconnected program Client of their own, no longer to act as @eve'])
  expect(await log()).toEqual([])
})

describe('a client', () => {
  test.each([
    ['admin', admin, { who: 'ann@acme.example', as: '@admin' }],
    ['agent', agent, { who: '@alice', as: '@alice' }],
  ])('that revokes its refresh token is told once, as the grant of an %s', async (actorType, pick, { who, as }) => {
    const { access_token, refresh_token } = await signIn(grid, pick())
    const [{ id }] = await rows(grid, 'SELECT id FROM oauth_grants WHERE account_id = ?', [grid.acme.id])
    const other = await (await grid.post(`${issuer}/oauth/register`, { redirect_uris: [callback] })).json()

    await revoke(refresh_token, other.client_id)
    await revoke(access_token)
    expect(await log()).toHaveLength(1)
    const answers = [await revoke(refresh_token), await revoke(refresh_token)]

    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    const [row, ...before] = await log()
    expect(before.map(({ tool }) => tool)).toEqual(['give_grant'])
    expect(row).toMatchObject({ tool: 'return_grant', outcome: 'ok', actorType, userId: ann() })
    expect(row).toMatchObject({ credentialId: id, credentialKind: 'oauth' })
    expect((await told())[0]).toBe(`Disconnected program Demo, as it asked, no longer to act as ${as}`)
    expect(await page()).toMatch(new RegExp(`${who}<span[^>]*>program “Demo”, by OAuth`))
    expect(await log(grid.evil)).toEqual([])
  })

  test('that fetches a static key is told, without the key', async () => {
    const { access_token } = await signIn(grid, agent())
    const { access_token: adminToken } = await signIn(grid)
    const before = (await log()).length

    const { body } = await apiKey(grid, access_token)
    await apiKey(grid, adminToken)
    await apiKey(grid, grid.bob.key)

    const [row, ...more] = await log()
    expect(more).toHaveLength(before)
    expect(row).toMatchObject({ tool: 'fetch_agent_key', outcome: 'ok', actorType: 'agent', credentialKind: 'oauth' })
    expect(JSON.parse(row.arguments)).toEqual({ alias: '@alice' })
    expect(JSON.stringify(row)).not.toContain(body.apiKey.slice(9, -4))
    expect((await told())[0]).toBe('Fetched a new key for @alice')
  })
})

describe('a new password by a mailed link', () => {
  test('is told in each account where a program lost its access, and in no other', async () => {
    await joinEvil()
    await signIn(grid)
    await apiKey(grid, (await signIn(grid, agent())).access_token)
    await codeFor(grid)
    await revoke((await signIn(grid)).refresh_token)
    await accessTokenOf(grid, ann(), grid.evil.id)
    const eds = await accessTokenOf(grid, grid.ed.visitor.user.id, grid.evil.id)
    const [before, beforeEvil] = [(await log()).length, (await log(grid.evil)).length]
    const alone = await newAccount()

    await reset()

    const [[here, ...older], [there, ...olderEvil]] = [await log(), await log(grid.evil)]
    expect([older.length, olderEvil.length]).toEqual([before, beforeEvil])
    for (const row of [here, there]) {
      expect(row).toMatchObject({ tool: 'reset_password', outcome: 'ok', actorType: 'user', userId: ann() })
    }
    const named = ({ arguments: json }: typeof here) =>
      JSON.parse(json).programs.map(({ name, as }: { name: string; as: string }) => `${name} ${as}`).sort()
    expect(named(here)).toEqual(['Demo @admin', 'Demo @admin', 'Demo @alice', 'a fetched key @alice'])
    expect(named(there)).toEqual(['Client @admin'])
    expect(await told(grid.evil, await signedIn(grid, grid.ed.visitor.user))).toContain(
      'Disconnected Client by choosing a new password',
    )
    expect(await opens(grid, eds.token)).toBe('admin tools')
    expect(await logOf(alone)).toEqual([])
  })

  test('leaves nothing when nothing was let in', async () => {
    await reset()

    expect(await log()).toEqual([])
  })

  test('is told once in each of very many accounts', async () => {
    const ids = []
    for (let n = 0; n <= 2 * maxAccountsAtOnce; n++) ids.push(await newAccount())
    const tokens = []
    for (const id of ids) tokens.push((await accessTokenOf(grid, ann(), id)).token)

    await reset()

    for (const [n, id] of ids.entries()) {
      expect((await logOf(id)).map(({ tool }) => tool)).toEqual(['reset_password'])
      expect(await opens(grid, tokens[n])).toBe('401')
    }
  })

  test('is all in one unit: when one account cannot be told, nothing ends in the others', async () => {
    await joinEvil()
    const [here, there] = [
      await accessTokenOf(grid, ann(), grid.acme.id),
      await accessTokenOf(grid, ann(), grid.evil.id),
    ]
    await rows(
      grid,
      `CREATE TRIGGER no_log BEFORE INSERT ON activity WHEN NEW.account_id = '${grid.evil.id}'
        BEGIN SELECT RAISE(ABORT, 'no log today'); END`,
    )

    await expect(reset()).rejects.toMatchObject({ code: 'write_conflict' })

    expect([await log(), await log(grid.evil)]).toEqual([[], []])
    expect([await opens(grid, here.token), await opens(grid, there.token)]).toEqual(['admin tools', 'admin tools'])
  })

  test('looks again when a program is let in elsewhere between the look and the end', async () => {
    await joinEvil()
    await accessTokenOf(grid, ann(), grid.acme.id)
    let late: { token: string } | undefined
    const store: typeof grid.store = {
      ...grid.store,
      async record(found, statements) {
        late ??= await accessTokenOf(grid, ann(), grid.evil.id)
        await grid.store.record(found, statements)
      },
    }

    await reset(store)

    expect(await opens(grid, late!.token)).toBe('401')
    for (const account of [grid.acme, grid.evil]) {
      expect((await log(account)).map(({ tool }) => tool)).toEqual(['reset_password'])
    }
  })

  test('names also what was let in at the last moment', async () => {
    await signIn(grid)
    const { handle } = await openPage(grid, grid.ann)

    await Promise.all([reset(), answer(grid, grid.ann, { handle, pick: agent(), decision: 'allow' })])

    const told = await log()
    const given = told.filter(({ tool, outcome }) => tool === 'give_grant' && outcome === 'ok').length
    const { programs } = JSON.parse(told.find(({ tool }) => tool === 'reset_password')!.arguments)
    expect(programs).toHaveLength(given)
  })
})

test('when the log cannot be written, none of it is done', async () => {
  const tokens = await signIn(grid, agent())
  const [{ id }] = await rows(grid, 'SELECT id FROM oauth_grants WHERE account_id = ?', [grid.acme.id])
  const { handle } = await openPage(grid, grid.ann)
  await askForLink(grid.store, 'reset', { email: 'ann@acme.example' }, '203.0.113.9')
  const mailed = mailedPath(grid).split('/').at(-1)!
  // Its first use is noted.
  await opens(grid, tokens.access_token)
  await grid.store.write([])
  await rows(grid, "CREATE TRIGGER no_log BEFORE INSERT ON activity BEGIN SELECT RAISE(ABORT, 'no log today'); END")
  const before = await dump(grid, grid.acme)
  const acts = {
    consent: () => answer(grid, grid.ann, { handle, pick: admin(), decision: 'allow' }),
    own: () => revokeOwnGrant(grid.store, grid.ann.visitor, String(id), null),
    client: () => revoke(tokens.refresh_token),
    key: () => apiKey(grid, tokens.access_token),
    reset: () => resetPassword(grid.store, mailed, 'a new horse battery', null),
  }

  for (const act of Object.values(acts)) {
    const answered = await act().catch((error) => error)
    expect(answered?.code === 'write_conflict' || answered?.status >= 400).toBe(true)
    expect(await dump(grid, grid.acme)).toBe(before)
  }
  await rows(grid, 'DROP TRIGGER no_log')
  expect(await opens(grid, tokens.access_token)).toBe('agent tools')
  await acts.reset()
  expect(await opens(grid, tokens.access_token)).toBe('401')
})

/** The rows of an account, newest first. */
function log(account = grid.acme) {
  return account.store.read.activity.list()
}

async function logOf(id: string) {
  const { activity } = grid.store.account(id, { type: 'system', job: 'test' }).read
  expect(await activity.firstBroken()).toBeUndefined()
  return await activity.list()
}

async function page(account = grid.acme, browser = grid.ann): Promise<string> {
  return await (await browse(grid, browser, `/accounts/${account.id}/activity`)).text()
}

/** The sentences of the page, newest first. */
async function told(account = grid.acme, browser = grid.ann): Promise<string[]> {
  const happened = (await page(account, browser)).matchAll(/<span class="happened">(.*?)<\/span><details/gs)
  return [...happened].map(([, sentence]) => sentence.replace(/<[^>]+>/g, ''))
}

async function joinEvil(): Promise<void> {
  await grid.store.write([grid.store.global.users.addMembership(grid.evil.id, ann(), 'admin', grid.clock.now)])
  Object.assign(grid.ann, await signedIn(grid, grid.ann.visitor.user))
}

/** The id of a new account of Ann. */
async function newAccount(): Promise<string> {
  const { accounts, users } = grid.store.global
  const id = newId()
  await grid.store.write([
    accounts.add({ id, name: 'One more', state: 'claimed', joinEmail: null }, grid.clock.now),
    users.addMembership(id, ann(), 'owner', grid.clock.now),
  ])
  return id
}

async function reset(store = grid.store): Promise<void> {
  await askForLink(grid.store, 'reset', { email: 'ann@acme.example' }, '203.0.113.9')
  await resetPassword(store, mailedPath(grid).split('/').at(-1)!, 'a new horse battery', null)
}
