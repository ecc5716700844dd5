/** Only the sender and the deciders of a held message can see it. docs/protocol/messages.md, "Held messages". */
import { expect, test } from 'vitest'
import { createSessions } from '../../../src/auth/session.ts'
import { servedOrigins } from '../../../src/edge.ts'
import { createChannel } from '../../../src/grid/channels/channels.ts'
import { heldMessages } from '../../../src/grid/approvals/held.ts'
import { restRoutes } from '../../../src/rest/routes.ts'
import { AttentionCounts } from '../../../src/web/attention/counts.ts'
import { createWebApp } from '../../../src/web/web.ts'
import { webFeatures } from '../../../src/features.ts'
import { followLog } from '../../../src/worker/followers.ts'
import { postA2a, request, send10 } from '../../support/a2a.ts'
import { crawl } from '../../support/crawl.ts'
import { rows } from '../../support/database.ts'
import { storeOf, type TestAgent, testGrid } from '../../support/grid.ts'
import { hold } from '../../support/held.ts'
import { callTool } from '../../support/mcp.ts'
import { sendMessage } from '../../support/messaging.ts'
import { person, signedIn } from '../../support/people.ts'
import { callRest } from '../../support/rest.ts'
import { member, personWithAlias } from '../../support/person-aliases.ts'

/** A word in every held text, and a prefix with which a search would find it. */
const canary = 'xanthoquine'
const part = 'xantho'

test('a held message is invisible to its recipients, other agents, keys, and people of every role', async () => {
  const grid = await testGrid()
  const { acme, alice, bob } = grid
  const pat = await personWithAlias(grid, 'pat')
  const people = [
    pat.person,
    ...await Promise.all(
      (['owner', 'viewer'] as const).map((role) => person(grid, { role })),
    ),
  ]
  const dora = await member(grid)
  await createChannel(acme.store, { name: 'room', members: ['alice', 'bob', 'pat'] })
  await rows(grid, 'UPDATE accounts SET people_read_since = 0 WHERE id = ?', [acme.id])
  // Other people's rules hold messages to a person only with that person's consent.
  const consent =
    "INSERT INTO guardrail_consents (account_id, agent_id, provider, host, created_at) VALUES (?, ?, 'approvals', 'members', 1)"
  await rows(grid, consent, [acme.id, pat.personAlias.agentId])
  const before = await sendMessage(storeOf(grid, bob), { to: '@alice', text: 'a question' })
  await hold(acme.store, { deciders: [dora.person.id] })

  const from = storeOf(grid, alice)
  const parts = [{ raw: btoa(canary.repeat(3_000)), filename: `${canary}.txt`, mediaType: 'text/plain' }]
  const text = `the ${canary}`
  const sent = [
    await sendMessage(from, { to: '@bob', text, conversationId: canary, replyToMessageId: before.id, parts }),
    await sendMessage(from, { to: '#room', text, parts }),
    await sendMessage(from, { to: '@pat', text }),
    await sendMessage(from, { to: '@bob', text, a2a: { messageId: canary, parts: [{ text }, ...parts] } }),
  ].map(({ id }) => id)
  const { body } = await postA2a(
    grid,
    alice.key,
    send10({ parts: [{ text }], metadata: {} }, { configuration: { returnImmediately: true } }),
    { 'A2A-Version': '1.0' },
    `/a2a/v1/agents/bob`,
  )
  const made = await rows(grid, 'SELECT id FROM tasks WHERE account_id = ?', [acme.id])
  expect(made.length, JSON.stringify(body)).toBe(1)
  await followLog(grid.store)
  expect(await heldMessages(dora.account)).toHaveLength(5)

  const held = await rows(grid, 'SELECT id, seq FROM messages WHERE account_id = ? AND seq < 0', [acme.id])
  const ids = [...new Set([...sent, ...held.map(({ id }) => String(id)), String(made[0].id)])]
  const guesses = ids.flatMap((id) => [id, `${id}.0`, `${id}.1`, `${id}.rest`])
  const seen: string[] = []
  const look = (where: string, answer: unknown) => {
    if (JSON.stringify(answer).includes(part)) seen.push(where)
  }

  const asAgent = async (agent: TestAgent) => {
    const call = async (name: string, args: object = {}) => {
      const { text } = await callTool(grid, agent.key, name, { ...args })
      // A text that the caller itself sent is not a leak.
      look(`${agent.alias} ${name} ${JSON.stringify(args)}`, JSON.stringify(text).replaceAll(`"${part}"`, ''))
    }
    for (const args of [{}, { since: '1h' }, { since: 'last_batch' }, { peek: true }]) await call('read_messages', args)
    for (const id of guesses) {
      await call('read_messages', { message_id: id, offset: 0 })
      await call('read_part', { part_id: id })
      await call('message_status', { message_id: id })
      await call('update_task', { task_id: id, state: 'working' })
    }
    await call('search_messages', { query: part })
    await call('list_channels')
    for (const { method, path, caller } of restRoutes) {
      if (method !== 'GET' || caller !== 'agent key') continue
      for (const id of path.includes('{') ? guesses : ['']) {
        const { text } = await callRest(grid, agent.key, `${method} ${path}`, path.includes('{') ? { id } : {})
        look(`${agent.alias} ${method} ${path}`, text)
      }
    }
    for (const id of ids) {
      for (const method of ['GetTask', 'CancelTask']) {
        look(
          `${agent.alias} ${method}`,
          (await postA2a(grid, agent.key, request(method, { id }), { 'A2A-Version': '1.0' })).body,
        )
      }
    }
    look(
      `${agent.alias} ListTasks`,
      (await postA2a(grid, agent.key, request('ListTasks', {}), { 'A2A-Version': '1.0' })).body,
    )
  }
  await asAgent(bob)
  await asAgent(await acme.agent('cat'))

  const app = createWebApp({
    store: grid.store,
    sessions: createSessions(grid.store, servedOrigins(grid.deps.config)),
    attention: new AttentionCounts(grid.store.deps),
    features: webFeatures(),
  }, [])
  const below = app.routes.filter(({ path }) => path.startsWith('/accounts/:account'))
  const routes = { pages: below.filter(({ method }) => method === 'GET').map(({ path }) => path), forms: [] }
  const of = `/accounts/${acme.id}`
  const places = held.flatMap(({ id, seq }) =>
    [id, seq].flatMap((name) => [`${of}/messages/${name}`, `${of}/messages/${name}/chain`])
  )
  for (const one of people) {
    const browser = await signedIn(grid, one)
    const { pages } = await crawl(browser, routes, `${of}/home`, [...places, `${of}/search?q=${part}`])
    expect(pages.size).toBeGreaterThan(10)
    for (const path of new Set([...pages.values(), ...places, `${of}/search?q=${part}`])) {
      const { html } = await browser.open(path)
      look(path, html.replaceAll(new RegExp(`${part}(?!q)`, 'g'), ''))
    }
  }

  expect(seen).toEqual([])
})
