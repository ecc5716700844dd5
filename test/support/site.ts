/** An account with data for every page, and the pages that tests visit. */
import { createAuthenticator } from '../../src/auth/bearer.ts'
import { allSso, ssoTables } from '../../src/features/single-sign-on/store.ts'
import { createAccount } from '../../src/grid/accounts/accounts.ts'
import { setPeopleRead } from '../../src/grid/accounts/people-read.ts'
import { createAgent } from '../../src/grid/agents/agents.ts'
import { createSkill } from '../../src/grid/agents/skills.ts'
import { changeChannelMembers, createChannel } from '../../src/grid/channels/channels.ts'
import { heldMessages } from '../../src/grid/approvals/held.ts'
import { createApprovalRule } from '../../src/grid/approvals/rules.ts'
import { createGuardrail, setAgentGuardrails } from '../../src/grid/guardrails/guardrails.ts'
import { setDigest } from '../../src/features/notifications/digests.ts'
import { subscribe } from '../../src/features/notifications/subscriptions.ts'
import { requestEmailLink } from '../../src/grid/people/email-links.ts'
import { inviteMember } from '../../src/grid/people/invitations.ts'
import { createSetUpLink } from '../../src/grid/people/people.ts'
import { chooseAlias } from '../../src/grid/people/person-aliases.ts'
import { beginTotp, replaceRecoveryCodes } from '../../src/grid/people/second-factor.ts'
import { sendVerificationLink } from '../../src/grid/people/send-email.ts'
import { reserve } from '../../src/grid/reservations/reserve.ts'
import { newId } from '../../src/lib/id.ts'
import { hour } from '../../src/lib/time.ts'
import { type Browser, browser } from './browse.ts'
import { crawl } from './crawl.ts'
import { pausedConversation } from './echoes.ts'
import { storeOf, type TestGrid } from './grid.ts'
import { callTool } from './mcp.ts'
import { sendMessage } from './messaging.ts'
import { emailedPath, password, person, signedIn } from './people.ts'
import { addPasskey, addTotp } from './second-factor.ts'
import { seedCases } from './seed-cases.ts'
import { seedTalk } from './seed-talk.ts'
import { waitFor } from './wait-for.ts'

/**
 * The users who open pages. `nobody` is not signed in; `half` has not entered the second factor; `beginner` owns an
 * empty account.
 */
export const visitors = ['nobody', 'half', 'owner', 'viewer', 'beginner'] as const
export type VisitorName = typeof visitors[number]

/** The ids and links that occur in page paths. */
export type SeededSite = Awaited<ReturnType<typeof seedSite>>

/** A page: its registered route, and its path in the seeded grid. */
export interface SitePage {
  name: string
  route: string
  path(site: SeededSite): string
  /** The visitor; by default the owner. */
  as?: VisitorName
  /** The expected status; 200 by default. */
  status?: number
}

const inAccount = (name: string, below: string, path: (site: SeededSite) => string = () => below): SitePage => ({
  name,
  route: `/accounts/:account${below.split('?')[0]}`,
  path: (site) => `/accounts/${site.account}${path(site)}`,
})

/** Pages that no other page links to: public pages, targets of links in emails, and pages in further states. */
const pages: SitePage[] = [
  { name: 'welcome', route: '/', path: () => '/', as: 'nobody' },
  { name: 'sign-in', route: '/sign-in', path: () => '/sign-in', as: 'nobody' },
  { name: 'sign-in-link', route: '/sign-in-link', path: () => '/sign-in-link', as: 'nobody' },
  { name: 'sign-in-link-sent', route: '/sign-in-link', path: () => '/sign-in-link?done=link-sent', as: 'nobody' },
  { name: 'sign-in-by-link', route: '/sign-in-link/:token', path: (site) => site.links.signIn, as: 'nobody' },
  { name: 'link-expired', route: '/sign-in-link/:token', path: () => '/sign-in-link/old', as: 'nobody', status: 400 },
  { name: 'sso', route: '/sso', path: () => '/sso', as: 'nobody' },
  { name: 'sso-unlinked', route: '/sso/unlinked', path: () => '/sso/unlinked' },
  { name: 'second-factor', route: '/second-factor', path: () => '/second-factor', as: 'half' },
  { name: 'confirm', route: '/confirm', path: () => '/confirm' },
  { name: 'confirm-by-password', route: '/confirm', path: () => '/confirm', as: 'viewer' },
  { name: 'reset', route: '/reset', path: () => '/reset', as: 'nobody' },
  { name: 'reset-by-link', route: '/reset/:token', path: (site) => site.links.reset, as: 'nobody' },
  { name: 'verify', route: '/verify/:token', path: (site) => site.links.verify },
  { name: 'new-address', route: '/new-address/:token', path: (site) => site.links.newAddress },
  { name: 'claim-stranger', route: '/claim/:token', path: (site) => site.links.claim, as: 'nobody' },
  { name: 'claim', route: '/claim/:token', path: (site) => site.links.claim },
  { name: 'claim-wrong-person', route: '/claim/:token', path: (site) => site.links.claim, as: 'viewer', status: 403 },
  { name: 'claim-proof', route: '/claim/:token/:proof', path: (site) => site.links.claimProof, as: 'nobody' },
  { name: 'claim-offer', route: '/claims/:id', path: (site) => site.links.claimOffer },
  { name: 'invitation', route: '/invitations/:token', path: (site) => site.links.invitation, as: 'nobody' },
  { name: 'invitation-known', route: '/invitations/:token', path: (site) => site.links.known, as: 'beginner' },
  { name: 'unsubscribe', route: '/unsubscribe/:token', path: () => '/unsubscribe/a-token', as: 'nobody' },
  { name: 'new-account', route: '/new-account', path: () => '/new-account' },
  { name: 'not-found', route: '/', path: () => '/accounts/none/agents', status: 404 },
  { name: 'consent', route: '/oauth/authorize', path: (site) => site.links.consent },
  inAccount('conversations-mine', '/conversations?show=you'),
  inAccount('conversations-waiting', '/conversations?show=waiting'),
  inAccount('search-found', '/search', () => '/search?q=a'),
  inAccount('conversation', '/conversations/:thread', ({ talk }) => `/conversations/${talk.conversation}`),
  inAccount('conversation-answer', '/conversations/:thread', ({ talk }) => {
    return `/conversations/${talk.mine}?reply=${talk.toMe}`
  }),
  inAccount('conversation-around', '/conversations/:thread', ({ talk }) => {
    return `/conversations/${talk.conversation}?m=${talk.message}`
  }),
  inAccount('message', '/messages/:message', ({ talk }) => `/messages/${talk.message}`),
  inAccount('chain', '/messages/:message/chain', ({ talk }) => `/messages/${talk.chained}/chain`),
  inAccount('agents-search', '/agents?search=nobody-at-all'),
  inAccount('agents-by-oldest', '/agents?sort=oldest'),
  inAccount('agent', '/agents/:alias', () => '/agents/night-watch'),
  inAccount('agent-remote', '/agents/:alias', () => '/agents/partner-desk'),
  inAccount('agent-settings', '/agents/:alias/settings', () => '/agents/night-watch/settings'),
  inAccount('agent-settings-remote', '/agents/:alias/settings', () => '/agents/partner-desk/settings'),
  inAccount('person', '/agents/:alias', () => '/agents/olga-marin'),
  inAccount('person-settings', '/agents/:alias/settings', () => '/agents/olga-marin/settings'),
  inAccount('channel', '/channels/:channel', (site) => `/channels/${site.channel}`),
  inAccount('guardrail', '/guardrails/:guardrail', (site) => `/guardrails/${site.guardrail}`),
  inAccount('held-message', '/held/:held', (site) => `/held/${site.held}`),
  inAccount('guardrail-cases', '/guardrails/:guardrail', (site) => `/guardrails/${site.busyGuardrail}`),
  inAccount('totp-set-up', '/settings/security/totp'),
]

/** Returns all pages: those in `pages`, and for each visitor one page of every other route that is linked. */
export async function pagesOf(grid: TestGrid, site: SeededSite): Promise<SitePage[]> {
  const routes = grid.app.routes.filter(({ method, path }) => method === 'GET' && path.startsWith('/accounts/:account'))
  // Leave out pages whose optional feature is not installed.
  const all = pages.filter(({ route }) => grid.app.routes.some(({ path }) => path === route))
  for (const as of ['owner', 'viewer', 'beginner'] as const) {
    const account = as === 'beginner' ? site.emptyAccount : site.account
    const start = `/accounts/${account}/settings/profile`
    const found = await crawl(site.browsers[as]!, { pages: routes.map(({ path }) => path), forms: [] }, start)
    for (const [route, path] of found.pages) {
      if (all.some((page) => page.route === route && (page.as ?? 'owner') === as)) continue
      const words = route.split('/').slice(3).map((word) => word.replace(':', ''))
      all.push({ name: [...words, ...as === 'owner' ? [] : ['as', as]].join('-'), route, path: () => path, as })
    }
  }
  return all
}

const words = {
  agents: [
    ['night-watch', 'Reads logs, and wakes someone only when it matters'],
    ['translator', 'Translates between German, Greek and English'],
    ['release-manager', 'Cuts releases on Thursdays'],
    ['review', 'Reviews pull requests and says what it would change, and why, in the tone of the house'],
  ],
  skills: ['proofreading', 'translation', 'incident response', 'SQL on PostgreSQL', 'statistics', 'release notes'],
  browsers: [
    'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
    'Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605 (KHTML) Version/19.0 Safari/604.1',
  ],
}

/** Seeds two days of activity: all kinds of agents, a team, invitations, email links, and a claim. */
export async function seedSite(grid: TestGrid) {
  const { acme, evil, store } = grid
  const olga = await person(grid, { role: 'owner', name: 'Olga Marin', email: 'olga@acme.example' })
  const vera = await person(grid, { role: 'viewer', name: 'Vera Lund', email: 'vera@acme.example' })
  const bea = await person(grid, { role: 'owner', name: 'Bea', email: 'bea@evil.example', account: evil })
  const rita = await person(grid, { email: 'rita@corp.example' })
  await person(grid, { role: 'admin', name: 'Tomás Rey', email: 'tomas@acme.example' })
  await person(grid, { role: 'member', email: 'a.person.with.a.rather.long.address@subsidiary.acme.example' })
  await store.write([{ sql: 'UPDATE agents SET deleted_at = 1 WHERE account_id = ?', args: [evil.id] }])

  const provider = { id: newId(), name: 'Corp', issuer: 'https://login.corp.example', clientId: 'the-grid' }
  const rolesOfClaim = {
    proof: 'a-proof',
    domain: 'corp.example',
    roleClaim: 'groups',
    roles: { ops: 'admin' as const },
  }
  const sso = acme.store.feature(ssoTables).change
  await acme.store.write([
    sso.save({ ...provider, ...rolesOfClaim }, await acme.store.seal('sso_providers', provider.id, 'a secret')),
    sso.setVerified({ domain: 'corp.example', verifiedAt: grid.clock.now, missingSince: null }, grid.clock.now),
    ...store.feature(allSso).addIdentity(olga.id, { issuer: provider.issuer, subject: 'u-1' }, null, grid.clock.now),
    acme.store.change.team.keepOut(rita.id, grid.clock.now),
    ...sso.addSignIn({
      ...{ issuer: provider.issuer, subject: 'u-2', userId: rita.id, at: grid.clock.now, outcome: 'removed' },
      report: {
        ...{ email: rita.email, isVerified: true, roles: [], notes: [] },
        ...{ claims: ['sub', 'email', 'email_verified'], missing: ['groups'] },
      },
    }),
  ])
  for (const [alias, description] of words.agents) await acme.agent(alias, { description })
  const reserved = { names: ['src/auth/**', 'docs/security.md'], note: 'new tokens', space: 'git.example/acme/app' }
  await reserve(storeOf(grid, grid.bob), reserved, { seconds: 0 })
  await acme.agent('partner-desk', {
    type: 'a2a',
    description: 'The help desk of a partner, on its own server',
    remoteUrl: 'https://partner.example/a2a',
    remoteToken: 'a token',
    visibility: 'public',
    accessPolicy: 'allow_list',
    accessList: ['alice', 'bob', 'partner-bot', 'partner-clerk'],
  })
  const system = { type: 'system', job: 'test' } as const
  const partner = await createAccount(store, { name: 'Partner', ownerEmail: 'pia@partner.example' }, system)
  for (const alias of ['partner-bot', 'partner-clerk']) await createAgent(store.account(partner.id, system), { alias })
  const admin = (name: string, input: Record<string, unknown>) => callTool(grid, acme.adminKey, name, input)
  for (const name of words.skills) await createSkill(acme.store, { name, description: `Knows about ${name}.` })
  await admin('admin_set_agent_skills', { alias: 'night-watch', skills: ['incident response', 'statistics'] })
  const { channel } = await createChannel(acme.store, {
    name: 'release-train',
    description: 'What goes out on Thursday, and what has to wait for the next one.',
    members: ['night-watch', 'review', 'release-manager', 'alice'],
  })
  for (const name of ['general', 'incidents', 'a-name-of-all-thirty-two-letters']) {
    await createChannel(acme.store, { name, description: name === 'general' ? 'All agents' : '', members: ['bob'] })
  }
  const guardrail = await createGuardrail(acme.store, {
    name: 'No insults',
    provider: 'llm-judge',
    config: { baseUrl: 'https://llm.example/v1', model: 'small-judge', policy: 'No insults.\nNo threats.' },
    token: 'a token',
    action: 'flag',
  })
  await createGuardrail(acme.store, { name: 'Personal data', provider: 'pii', action: 'redact' })
  const injection = { name: 'Injection', provider: 'phrases', config: { preset: 'injection' }, enabled: false }
  await createGuardrail(acme.store, injection)
  const guardrails = [{ ref: 'No insults', direction: 'outbound' as const }, { ref: 'Personal data' }]
  await setAgentGuardrails(acme.store, { agent: 'night-watch', guardrails: guardrails.slice(1) })
  await setAgentGuardrails(acme.store, { agent: 'review', guardrails })

  const busyGuardrail = await seedCases(grid, store.account(acme.id, olga.actor('owner')))
  const authenticate = createAuthenticator(store)
  const [alice, bob] = await Promise.all([grid.alice, grid.bob].map(({ key }) => authenticate(`Bearer ${key}`)))
  for (let n = 0; n < 40; n++) {
    for (let m = 0; m < n * 7 % 11; m++) await sendMessage(m % 2 ? alice : bob, { to: 'translator', text: `Note ${m}` })
    grid.clock.now += hour
  }
  await sendMessage(alice, { to: 'translator', text: 'Is Blue Heron late?' }).catch(() => {})
  await sendMessage(alice, { to: '#release-train', text: 'Thursday stands.\nThe notes are in review.' })
  await admin('admin_create_agent', { alias: 'alice' })
  await admin('admin_delete_agent', { alias: 'nobody' })

  const account = store.account(acme.id, olga.actor('owner'))
  await chooseAlias(account, { alias: 'olga-marin', description: 'Decides about releases and money' })
  // Both channels get the member, because the crawl may find either of them first.
  for (const name of ['release-train', 'a-name-of-all-thirty-two-letters']) {
    await changeChannelMembers(acme.store, { channel: name, add: ['olga-marin'] })
  }
  await setDigest(account, olga, 'daily')
  for (const [n, userAgent] of words.browsers.entries()) {
    const keys = { p256dh: `B${'A'.repeat(86)}`, auth: 'A'.repeat(22) }
    await subscribe(store, account, { endpoint: `https://push.example/${n}`, ...keys, userAgent })
  }
  await pausedConversation(acme.store, ['night-watch', 'release-manager'])
  await setPeopleRead(account, { choice: 'off' })
  await setPeopleRead(account, { choice: 'on' })
  const talk = await seedTalk(grid, account, channel.id)
  const links: Record<string, string> = {}
  const emailed = async (name: string, ask: () => Promise<unknown>) => {
    const before = grid.emails.length
    await ask()
    if (grid.emails.length === before) throw new Error(`No email for ${name}: over a limit?`)
    links[name] = emailedPath(grid)
  }
  const address = '198.51.100.20'
  await emailed('signIn', () => requestEmailLink(store, 'sign_in', { email: vera.email }, address))
  await emailed('reset', () => requestEmailLink(store, 'reset', { email: 'tomas@acme.example' }, address))
  await emailed('verify', () => sendVerificationLink(store, olga, address))
  for (const [name, email, role] of [['invitation', 'paul@acme.example', 'member'], ['known', bea.email, 'admin']]) {
    links[name] = new URL((await inviteMember(account, { email, role })).url).pathname
  }

  const claims = []
  for (const alias of ['weather', 'tides']) {
    const input = { owner_email: olga.email, alias, description: 'Knows the coast', skills: ['forecasts'] }
    claims.push(await (await grid.post('/api/v1/agentic-signup', input)).json())
  }
  links.claim = new URL(claims[0].trial.claim_url).pathname
  links.claimOffer = `/claims/${(await store.global.claims.offer(olga.email))!.provisionalId}`
  const foreignSignup = { owner_email: 'zoe@new.example', alias: 'harbour' }
  const other =
    new URL((await (await grid.post('/api/v1/agentic-signup', foreignSignup)).json()).trial.claim_url).pathname
  const proof = await waitFor('the claim email', () => grid.emails.find(({ link }) => link?.includes(other))?.link)
  links.claimProof = new URL(proof).pathname

  await addPasskey(grid, olga, 'Laptop')
  await addPasskey(grid, olga, 'Phone')
  await replaceRecoveryCodes(store, { ...olga.actor('owner'), user: olga })
  await beginTotp(store, { ...olga.actor('owner'), user: olga })
  const hal = await person(grid, { role: 'member', name: 'Hal Moss', email: 'hal@acme.example' })
  await addPasskey(grid, hal, 'Laptop')
  await addTotp(grid, hal)

  const browsers: Partial<Record<VisitorName, Browser>> = { half: browser(grid) }
  await browsers.half!.signIn(hal.email, password)
  for (const [name, user] of Object.entries({ owner: olga, viewer: vera, beginner: bea })) {
    browsers[name as VisitorName] = await signedIn(grid, user)
  }
  for (const name of words.browsers) await signedIn(grid, olga, '198.51.100.21', name)
  const profile = `/accounts/${acme.id}/settings/profile`
  await emailed('newAddress', async () => {
    const fields = { email: 'olga.marin@acme.example', current: password }
    await browsers.owner!.submit(profile, fields, `${profile}/email`)
  })

  const redirect = 'http://127.0.0.1:4100/callback'
  const registration = { client_name: 'Desk', redirect_uris: [redirect] }
  const client = await (await grid.post('/oauth/register', registration)).json()
  links.consent = `/oauth/authorize?${new URLSearchParams({
    response_type: 'code',
    client_id: client.client_id,
    redirect_uri: redirect,
    code_challenge: 'c'.repeat(43),
    code_challenge_method: 'S256',
  })}`

  const rule = { name: 'Releases', from: '@release-manager', to: 'any', expiresInHours: 8 }
  await createApprovalRule(acme.store, rule)
  const manager = (await acme.store.read.agents.byAlias('release-manager'))!
  const asManager = store.account(acme.id, {
    ...{ type: 'agent', agentId: manager.id, alias: manager.alias, credentialId: 'test' },
  })
  const drafts = [
    'Ship 2.4 now?',
    'Tell the partners that 2.4 is late.',
    'The notes of 2.4 are ready.\n\nRead them first.',
  ]
  for (const text of drafts) await sendMessage(asManager, { to: 'translator', text })
  const [held] = await heldMessages(account)

  const [skill] = await acme.store.read.skills.search('incident', 1, 0)
  return {
    account: acme.id,
    emptyAccount: evil.id,
    channel: channel.id,
    talk,
    skill: skill.id,
    held: held.id,
    guardrail: guardrail.id,
    busyGuardrail,
    links,
    /** The session of each signed-in visitor. */
    browsers,
  }
}

/** The path of an empty grid's first page. */
export async function setUpPath(grid: Pick<TestGrid, 'store'>): Promise<string> {
  return new URL((await createSetUpLink(grid.store))!).pathname
}
