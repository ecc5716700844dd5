/** Channels, skills and guardrails in a real browser, full and empty. `SCREENSHOTS=1` keeps pictures. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createChannel } from '../../src/grid/channels.ts'
import { createGuardrail, setAgentGuardrails } from '../../src/grid/guardrails.ts'
import { createSkill } from '../../src/grid/skills.ts'
import { accessibilityFaults, hasBrowser, screenshot, useBrowser, type Visit } from '../support/browser.ts'
import { liveGrid } from '../support/server.ts'
import { signedInAs } from '../support/roles.ts'
import type { TestAccount } from '../support/grid.ts'

const views: Required<Pick<Visit, 'scheme' | 'viewport'>>[] = [
  { scheme: 'light', viewport: 'desktop' },
  { scheme: 'dark', viewport: 'phone' },
]
if (process.env.SCREENSHOTS) views.push({ scheme: 'dark', viewport: 'desktop' }, { scheme: 'light', viewport: 'phone' })

const pages = [
  '/channels',
  '/channels/new',
  '/channels/CHANNEL',
  '/skills',
  '/skills/new',
  '/skills/SKILL',
  '/guardrails',
  '/guardrails/new',
  '/guardrails/new/phrases',
  '/guardrails/new/llm-judge',
  '/guardrails/GUARDRAIL',
]

describe.skipIf(!hasBrowser)('in Chromium', { timeout: 60_000 }, () => {
  const visit = useBrowser()
  let grid: Awaited<ReturnType<typeof liveGrid>>
  let ids: Record<string, string>
  const cookies: Record<string, [string, string]> = {}
  beforeAll(async () => {
    if (!hasBrowser) return
    grid = await liveGrid()
    ids = await furnish(grid.acme)
    for (
      const [name, role, account] of [['owner', 'owner', grid.acme], ['viewer', 'viewer', grid.acme], [
        'empty',
        'owner',
        grid.evil,
      ]] as const
    ) {
      cookies[name] = [...(await signedInAs(grid, role, account)).cookies][0]
    }
  }, 60_000)
  afterAll(() => grid?.close())

  async function look(who: string, account: TestAccount, page: string, view: Visit) {
    const path = page.replace(/[A-Z]+/, (name) => ids[name])
    const { page: tab, context, faults, close } = await visit(view)
    const [name, value] = cookies[who]
    await context.addCookies([{ name, value, url: grid.url }])
    const answer = await tab.goto(`${grid.url}/accounts/${account.id}${path}`)
    await screenshot(tab, `${who}${page.replaceAll('/', '-')}-${view.viewport}-${view.scheme}`)

    expect(answer!.status()).toBe(200)
    expect(await accessibilityFaults(tab)).toEqual([])
    expect(await tab.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
    expect(faults).toEqual([])
    await close()
  }

  test.each(pages.flatMap((page) => views.map((view) => ({ page, ...view }))))(
    '$page is accessible and fits ($scheme, $viewport)',
    async ({ page, ...view }) => await look('owner', grid.acme, page, view),
  )

  test.each(pages.filter((page) => /[A-Z]/.test(page)))(
    '%s is that for a viewer too',
    async (page) => await look('viewer', grid.acme, page, views[0]),
  )

  test.each(['/channels', '/skills', '/guardrails'])(
    '%s of an empty account',
    async (page) => await look('empty', grid.evil, page, views[0]),
  )
})

async function furnish(account: TestAccount): Promise<Record<string, string>> {
  const agents = [
    ['orders', 'Answers questions about orders'],
    ['review', 'Reviews pull requests and says what he would change, and why, in the tone of the house'],
    ['release-manager', 'Cuts releases on Thursdays'],
    ['translator', ''],
    ['night-watch', 'Reads logs, wakes somebody only when it matters'],
  ]
  for (const [alias, description] of agents) {
    await account.agent(alias, {
      description,
      skills: [{ name: 'proofreading', description: 'Finds mistakes in English and German prose' }],
    })
  }
  const { channel } = await createChannel(account.store, {
    name: 'release-train',
    description: 'What goes out on Thursday, and what has to wait for the next one.',
    members: ['orders', 'review', 'release-manager', 'alice'],
  })
  for (const name of ['general', 'incidents', 'a-name-of-all-thirty-two-letters']) {
    await createChannel(account.store, { name, description: name === 'general' ? 'Everybody' : '', members: ['bob'] })
  }
  for (const name of ['arithmetic', 'translation', 'SQL on PostgreSQL']) await createSkill(account.store, { name })
  const [skill] = await account.store.read.skills.found('proof', 1, 0)
  const guardrail = await createGuardrail(account.store, {
    name: 'No insults',
    provider: 'llm-judge',
    config: { baseUrl: 'https://llm.example/v1', model: 'small-judge', policy: 'No insults.\nNo threats.' },
    token: 'a token',
    action: 'flag',
  })
  await createGuardrail(account.store, { name: 'Personal data', provider: 'pii', action: 'redact' })
  await createGuardrail(account.store, {
    name: 'Injection',
    provider: 'phrases',
    config: { preset: 'injection' },
    enabled: false,
  })
  for (const agent of ['orders', 'translator']) {
    await setAgentGuardrails(account.store, {
      agent,
      guardrails: [{ ref: 'No insults', direction: 'outbound' }, { ref: 'Personal data' }],
    })
  }
  return { CHANNEL: channel.id, SKILL: skill.id, GUARDRAIL: guardrail.id }
}
