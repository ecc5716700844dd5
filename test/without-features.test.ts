/**
 * A grid without its optional features starts, transports messages, and empties the tables of unregistered features.
 * The suite tests without all features together. The long form also tests without each one, with the types and the
 * tests of the core. See docs/architecture.md, "Optional features".
 */
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createChannel } from '../src/grid/channels/channels.ts'
import { setDigest } from '../src/features/notifications/digests.ts'
import { subscribe } from '../src/features/notifications/subscriptions.ts'
import type { Feature } from '../src/feature.ts'
import { features } from '../src/features.ts'
import { ssoTables } from '../src/features/single-sign-on/store.ts'
import { createHook } from '../src/features/incoming/hooks.ts'
import { connectSlack } from '../src/features/slack/connect.ts'
import { slackTables } from '../src/features/slack/store.ts'
import { webhookTables } from '../src/features/webhooks/store.ts'
import { remoteState } from '../src/grid/remote-agents/manage.ts'
import { newId } from '../src/lib/id.ts'
import { hour } from '../src/lib/time.ts'
import { Outboxes } from '../src/worker/outboxes.ts'
import { storeCommands } from '../src/cli/store-commands.ts'
import { followLog } from '../src/worker/followers.ts'
import { a2a, callTool, get, post } from './e2e/client.ts'
import { copyWithout, featureNames } from './support/copy-without.ts'
import { type TestGrid, testGrid } from './support/grid.ts'
import { isLong } from './support/long.ts'
import { sendMessage } from './support/messaging.ts'
import { personWithAlias } from './support/person-aliases.ts'
import { person, signedIn } from './support/people.ts'
import { rows } from './support/database.ts'
import { runScriptOf, startServeOf, type TemporaryDatabase, temporaryDatabase } from './support/process.ts'
import { botToken, signingSecret, startSlack } from './support/slack.ts'

const run = promisify(execFile)
const word = 'zwiebelkuchen'

let database: TemporaryDatabase
const copies: string[] = []
beforeEach(() => {
  database = temporaryDatabase()
})
afterEach(() => {
  database.remove()
  for (const copy of copies.splice(0)) rmSync(copy, { recursive: true })
})

const sets = [featureNames, ...isLong && featureNames.length > 1 ? featureNames.map((name) => [name]) : []]

test.runIf(isLong).each(sets.map((names) => [names.join(', '), names] as const))(
  'without %s agents sign up, send over A2A and read over MCP',
  async (_, names) => {
    const copy = copied(names, { isDeleted: true })
    const server = await startServeOf(copy, { DATABASE_URL: database.url, OAUTH_CIMD: 'off', LOG_LEVEL: 'error' })
    const { url } = server
    const [ada, ben] = [await signUp(url), await signUp(url)]

    const sent = await a2a(url, ada.key, 'SendMessage', {
      ...{ messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text: word }] },
      metadata: { to: ben.alias },
    })
    const { messages } = await callTool(url, ben.key, 'read_messages')

    expect(sent.body).toMatchObject({ result: { message: { role: 'ROLE_AGENT' } } })
    expect(messages).toMatchObject([{ user: ada.alias, message: word }])
    expect((await fetch(`${url}/`)).status).toBe(200)
    expect((await get(url, '/readyz')).body).toMatchObject({ status: 'ready' })
    const { code, stderr } = await server.stop()
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  },
)

test("an account's words are erased and its rows removed, even in tables of unregistered features", async () => {
  const grid = await withRowsOfFeatures()
  const tables = ['slack_channels', 'slack_people', 'slack_messages', 'webhooks', 'webhook_events', 'mail_digests']
    .concat('incoming_hooks', 'push_subscriptions', 'sso_providers', 'sso_sign_ins')
  for (const table of tables) {
    expect(await rows(grid, `SELECT 1 FROM ${table} WHERE account_id = ?`, [grid.acme.id])).not.toEqual([])
  }
  await grid.store.close()

  const env = { DATABASE_URL: `file:${join(grid.folder, 'grid.db')}` }
  const copy = copied(featureNames, { isDeleted: true })
  const { stdout, stderr } = await runScriptOf(copy, 'test/support/end-account.ts', [grid.acme.id, word], env)

  expect(stderr).toBe('')
  // These rows remain, because rows of other accounts reference them.
  expect(JSON.parse(stdout)).toEqual({ erased: [], removed: expect.arrayContaining(['agents']) })
  expect(
    JSON.parse(stdout).removed.filter((table: string) => !['agents', 'agent_numbers', 'deliveries'].includes(table)),
  )
    .toEqual([])
})

test('work that waits for an unregistered feature does not block other outboxes', async () => {
  const { store, clock } = await withRowsOfFeatures()
  const due = async (...kinds: string[]) => {
    const found = await store.global.outboxes.due(clock.now, store.instanceId, { origins: [], accounts: [], kinds }, 1)
    return found.map(({ kind }) => kind)
  }

  expect(await due('webhook', 'inbox')).toEqual(['webhook'])
  expect(await due('inbox')).toEqual(['inbox'])
  const removed = (features as Feature[]).splice(0)
  const { duty } = new Outboxes(store)
  ;(features as Feature[]).push(...removed)
  expect(duty).toMatchObject({ at: ['inbox outboxes', 'task outboxes'] })
})

test("without the Slack feature, messages to Slack wait, the agent's page says why, and they are sent when the feature is back", async () => {
  const grid = await withRowsOfFeatures({ isOpen: true })
  const { store, acme, clock } = grid
  const agent = (await acme.store.read.agents.byAlias('slack-town'))!
  const run = async () => {
    const outboxes = new Outboxes(store)
    await outboxes.run()
    await outboxes.settled()
  }
  const removed = (features as Feature[]).splice(0)
  try {
    for (let n = 0; n < 30; n++) {
      await run()
      clock.now += hour
    }
  } finally {
    ;(features as Feature[]).push(...removed)
  }

  const error = 'Its messages wait, because this grid runs without the feature "slack".'
  expect(await remoteState(acme.store, agent.id)).toMatchObject({ transport: 'slack', unread: 1, error, attempts: 0 })
  const olga = await signedIn(grid, await person(grid, { role: 'owner' }))
  const page = await olga.open(`/accounts/${acme.id}/agents/slack-town`)
  expect(page.text).toContain('this grid runs without the feature')
  expect(page.text).not.toContain('Read the card')

  await rows(grid, 'DELETE FROM slack_messages WHERE account_id = ?', [acme.id])
  // The server is closed, so the first attempt fails. The wait for the feature does not count as failing time.
  await run()
  expect(await remoteState(acme.store, agent.id)).toMatchObject({ unread: 1, attempts: 1, failingSince: clock.now })
})

test('without a sign-in feature, an account that requires its provider cannot be opened with a password', async () => {
  const removed = (features as Feature[]).splice(0)
  const grid = await testGrid().finally(() => (features as Feature[]).push(...removed))
  await requireProvider(grid)
  const rita = await signedIn(grid, await person(grid, { role: 'owner' }))
  const home = `/accounts/${grid.acme.id}/home`

  for (
    const refused of [await rita.open(home), await rita.post(`/accounts/${grid.acme.id}/settings/account/name`, [])]
  ) {
    expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('which this grid does not offer')])
  }

  await storeCommands.find(({ name }) => name === 'stop-requiring-sso')!.run(grid.store, { account: grid.acme.id })
  expect((await rita.open(home)).status).toBe(200)
})

test.runIf(isLong).each(featureNames)('without %s the types are correct', async (name) => {
  const copy = copied([name], { isDeleted: true })

  await run('npx', ['deno', 'check', 'src/main.ts', 'src/client.ts', 'src/thread.ts'], { cwd: copy })
})

test.runIf(isLong).each(featureNames)(
  "without the line that registers %s, the core's tests pass",
  async (name) => {
    // Isolation tests create rows in every table, so they need the feature's folder.
    const copy = copied([name], { isDeleted: false })
    const words = ['vitest', 'run', '--config', 'test/vitest.config.ts', '--exclude', 'test/features/**']
    // Excluded: documents list the settings of all features, and Deno may not load the linked folder of packages.
    const left = [
      'test/without-features.test.ts',
      'test/docs.test.ts',
      'test/{e2e,docs,scripts,cli}/**',
      '**/*-runtimes.test.ts',
    ]

    await run('npx', [...words, ...left.flatMap((path) => ['--exclude', path])], {
      cwd: copy,
      env: { ...process.env, LONG_TESTS: undefined },
      maxBuffer: 2 ** 26,
    })
  },
  3_600_000,
)

function copied(...[names, options]: Parameters<typeof copyWithout>): string {
  const copy = copyWithout(names, options)
  copies.push(copy)
  return copy
}

async function requireProvider({ acme }: TestGrid): Promise<void> {
  const { change } = acme.store.feature(ssoTables)
  const provider = { id: newId(), name: 'Corp', issuer: 'https://login.corp.example', clientId: 'the-grid' }
  const mapping = { domain: 'corp.example', proof: 'a proof', roleClaim: '', roles: {} }
  await acme.store.write([
    change.save({ ...provider, ...mapping }, await acme.store.seal('sso_providers', provider.id, 'a secret')),
    change.setVerified({ domain: 'corp.example', verifiedAt: 1, missingSince: null }, 1),
    change.require(),
    ...change.addSignIn({
      ...{ issuer: provider.issuer, subject: 'una', userId: null, at: 1, outcome: 'no_address' },
      report: { email: null, isVerified: false, roles: [], claims: [], missing: [], notes: [] },
    }),
  ])
}

async function signUp(url: string): Promise<{ alias: string; key: string }> {
  const alias = `agent-${randomUUID().slice(0, 8)}`
  const { body } = await post(url, '/api/v1/agentic-signup', { owner_email: 'owner@acme.example', alias })
  return { alias: body.alias, key: body.api_key }
}

/** Creates rows of Acme in each feature's tables, with @alice's words in each table that stores words. */
async function withRowsOfFeatures({ isOpen = false } = {}) {
  const slack = await startSlack()
  const grid = await testGrid({ safeFetch: slack.safeFetch })
  const { acme, store, alice } = grid
  const { channel } = await createChannel(acme.store, { name: 'town', members: ['alice', 'bob'] })
  const { id } = await connectSlack(acme.store, {
    ...{ channel: channel.id, slackChannel: 'C01', token: botToken, signingSecret },
  })
  await slack.close()
  const asAlice = store.account(acme.id, { type: 'agent', agentId: alice.id, alias: 'alice', credentialId: 'test' })
  const message = await sendMessage(asAlice, { to: '#town', text: word })
  const ann = (await store.global.users.byEmail('ann@acme.example'))!
  const { change } = acme.store.feature(slackTables)
  await acme.store.write([
    change.addMessage(id, { ts: '1.1', threadTs: '1.1', messageId: message.id }),
    change.askToLink(id, ann.id, 'a hash', 1),
  ])
  await createHook(acme.store, { name: 'builds', to: '@alice', format: 'summary' })
  const webhook = newId()
  const hooks = acme.store.feature(webhookTables).change
  await acme.store.write([
    hooks.add(webhook, 'https://acme.example/', ['message'], await acme.store.seal('webhooks', webhook, '{}'), 1),
    ...hooks.notifyOfConditions(
      webhook,
      { before: '{}', after: '{}' },
      [{ id: newId(), type: 'message', data: {} }],
      1,
    ),
  ])
  const person = await personWithAlias(grid, 'ann-lee')
  await setDigest(person.account, person.person, 'daily')
  const keys = { p256dh: `B${'A'.repeat(86)}`, auth: 'A'.repeat(22) }
  await subscribe(store, person.account, { endpoint: 'https://push.example/1', ...keys, userAgent: 'a browser' })
  if (!isOpen) await requireProvider(grid)
  await followLog(store)
  return grid
}
