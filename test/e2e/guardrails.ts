/** Guardrails and runaway conversations as an owner and two agents meet them, on a server known only by its address. */
import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import type { Browser } from '../support/browse.ts'
import { waitFor } from '../support/wait-for.ts'
import { bearer, callTool, post } from './client.ts'

const json = { 'Content-Type': 'application/json' }

interface Agent {
  /** With `@`. */
  alias: string
  key: string
}

/** `home` is the path of the account of the owner. */
export async function guardrailScenario(base: string, owner: Browser, home: string): Promise<void> {
  const settings = `${home}/settings/account`
  const { html } = await owner.submit(settings, { keyName: 'scenario' }, `${settings}/keys`)
  const adminKey = html.match(/grid_adm_\w{49}/)![0]
  const kim = await newAgent(base, adminKey, 'kim')
  const lee = await newAgent(base, adminKey, 'lee')

  await managesGuardrails(base, adminKey, owner, home, kim, lee)
  await pausesRunawayConversations(base, adminKey, owner, home, [kim, lee])
}

async function newAgent(base: string, adminKey: string, name: string): Promise<Agent> {
  const alias = `${name}-${randomUUID().slice(0, 8)}`
  const created = await callTool(base, adminKey, 'admin_create_agent', { alias })
  return { alias: `@${alias}`, key: created.api_key }
}

async function managesGuardrails(
  base: string,
  adminKey: string,
  owner: Browser,
  home: string,
  kim: Agent,
  lee: Agent,
): Promise<void> {
  const path = '/api/v1/guardrails'
  const rest = async (method: string, at: string, body?: object) => {
    const init = { method, headers: { ...json, ...bearer(adminKey) }, body: body && JSON.stringify(body) }
    const response = await fetch(base + at, init)
    return { status: response.status, allow: response.headers.get('Allow'), body: await response.json() }
  }
  const send = (message: string) => callTool(base, kim.key, 'send_message', { to: lee.alias, message })
  const name = `Codenames ${randomUUID()}`
  const config = { patterns: ['orion-\\d+'] }
  const created = await post(base, path, { name, provider: 'patterns', config, action: 'redact' }, bearer(adminKey))
  const { id } = created.body
  const attached = { alias: kim.alias, guardrails: [{ id, direction: 'outbound' }] }
  await callTool(base, adminKey, 'admin_set_agent_guardrails', attached)

  expect(created).toMatchObject({ status: 201, body: { name, action: 'redact', enabled: true } })
  expect(await send('About Orion-1 and orion-22, Grüße 🙂')).toHaveProperty('redacted')
  const { messages } = await callTool(base, lee.key, 'read_messages')
  expect(messages).toMatchObject([{ message: 'About Orion-1 and [redacted], Grüße 🙂', flagged: true }])

  expect((await rest('PATCH', `${path}/${id}`, { action: 'block' })).body).toMatchObject({ id, action: 'block' })
  const secret = 'Only orion-7'
  expect((await send(secret)).error).toMatchObject({
    code: 'guardrail_blocked',
    message: expect.stringContaining(name),
  })
  const page = `${home}/guardrails/${id}`
  const cases = await owner.open(page)
  expect(cases.text).toMatch(new RegExp(`${kim.alias} to ${lee.alias} .*blocked`))
  expect(cases.html).toContain('class="chart"')
  expect(cases.text).not.toContain(secret)
  expect((await owner.submit(page, {}, `${page}/allow`)).text).toContain('Allowed texts')
  expect(await send(secret)).toMatchObject({ recipient: lee.alias })
  await owner.submit(page, {}, `${page}/disallow`)
  expect((await send(secret)).error.code).toBe('guardrail_blocked')
  const tried = await owner.submit(page, { text: 'orion-3 and more' }, `${page}/try#try`)
  expect(tried.html).toContain('<mark>orion-3</mark> and more')

  expect(await rest('PUT', `${path}/${id}`, {})).toMatchObject({ status: 405, allow: 'GET, PATCH, DELETE' })
  expect((await rest('DELETE', `${path}/${id}`)).body).toEqual({ deleted: true, id })
  expect((await rest('GET', `${path}/${id}`)).status).toBe(404)
  expect(await send(secret)).toMatchObject({ recipient: lee.alias })
  await callTool(base, lee.key, 'read_messages')
}

async function pausesRunawayConversations(
  base: string,
  adminKey: string,
  owner: Browser,
  home: string,
  [kim, lee]: [Agent, Agent],
): Promise<void> {
  const settings = `${home}/settings/account`
  await owner.submit(settings, { warn: '3', perHour: '6', hops: '0' }, `${settings}/turns`)
  const send = (from: Agent, to: Agent) => callTool(base, from.key, 'send_message', { to: to.alias, message: 'Go on.' })
  const echo = async () => {
    for (let turns = 0; turns < 50; turns++) {
      const [from, to] = turns % 2 === 0 ? [lee, kim] : [kim, lee]
      const read = await callTool(base, from.key, 'read_messages')
      const sent = await send(from, to)
      if (sent.error) return { turns, read, refused: sent.error }
      if (sent.turns === 3) expect(sent.note).toContain('stop unless there is new work')
    }
    throw new Error('the echo was not stopped')
  }

  await send(kim, lee)
  const { turns, read, refused } = await echo()
  expect([turns, read.turns]).toEqual([6, 6])
  expect(refused).toEqual({
    code: 'conversation_paused',
    message: expect.stringMatching(
      /paused, because it had 6 turns within an hour.*can resume it on the page Attention/,
    ),
  })

  const attention = `${home}/attention`
  await waitFor('the pause on the page', async () => /are paused 6 turns/.test((await owner.open(attention)).text))
  const resume = (await owner.open(attention)).html.match(/action="([^"]*\/conversations\/[^"]*\/resume)"/)![1]
  expect((await owner.submit(attention, {}, resume)).text).toContain('The conversation continues.')
  expect(await send(lee, kim)).toMatchObject({ recipient: kim.alias })

  // A script that writes one way is in nobody's way, and neither is an agent that is marked as automated.
  for (let n = 0; n < 20; n++) expect(await send(kim, lee)).not.toHaveProperty('error')
  await owner.submit(
    `${home}/agents/${lee.alias.slice(1)}/settings`,
    {},
    `${home}/agents/${lee.alias.slice(1)}/automated`,
  )
  await expect(echo()).rejects.toThrow('the echo was not stopped')
  await owner.submit(settings, { warn: '30', perHour: '200', hops: '64' }, `${settings}/turns`)
  for (const { alias } of [kim, lee]) await callTool(base, adminKey, 'admin_delete_agent', { alias })
}
