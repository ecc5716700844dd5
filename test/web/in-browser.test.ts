/** The pages of a lively account in Chromium: accessible, fitting, by the policy. `SCREENSHOTS=1` keeps pictures. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bearer } from '../../src/auth/bearer.ts'
import { createGuardrail, setAgentGuardrails } from '../../src/grid/guardrails.ts'
import { sendMessage } from '../../src/grid/messages.ts'
import { hour } from '../../src/lib/time.ts'
import {
  accessibilityFaults,
  hasBrowser,
  screenshot,
  useBrowser,
  type Visit,
  type Visitor,
} from '../support/browser.ts'
import { callTool } from '../support/mcp.ts'
import { type LiveGrid, liveGrid } from '../support/server.ts'

const password = 'correct horse battery'
const pages = {
  'overview': '',
  'agents': '/agents',
  'agents-none': '/agents?search=nobody',
  'agent': '/agents/bob',
  'agent-remote': '/agents/partner-desk',
  'new-agent': '/new-agent',
  'activity': '/activity',
  'activity-none': '/activity?tool=none',
}
/** Each scheme and each size once; for pictures, all four. */
const views: Required<Pick<Visit, 'scheme' | 'viewport'>>[] = [
  { scheme: 'light', viewport: 'desktop' },
  { scheme: 'dark', viewport: 'phone' },
]
if (process.env.SCREENSHOTS) views.push({ scheme: 'dark', viewport: 'desktop' }, { scheme: 'light', viewport: 'phone' })

describe.skipIf(!hasBrowser)('in Chromium', { timeout: 120_000 }, () => {
  const visit = useBrowser()
  let grid: LiveGrid
  beforeAll(async () => {
    grid = await liveGrid()
    await fill(grid)
  }, 60_000)
  afterAll(() => grid?.close())

  test.each(views)(
    'every page is accessible, fits and breaks no rule of its policy ($scheme, $viewport)',
    async (view) => {
      const visitor = await visit(view)
      const found: string[] = []
      await signIn(visitor)
      for (const [name, path] of Object.entries(pages)) {
        await visitor.page.goto(`${grid.url}/accounts/${grid.acme.id}${path}`)
        await screenshot(visitor.page, `${name}-${view.viewport}-${view.scheme}`)
        found.push(...(await accessibilityFaults(visitor.page)).map((fault) => `${name}: ${fault}`))
        const excess = await visitor.page.evaluate('document.documentElement.scrollWidth - innerWidth')
        if (Number(excess) > 0) found.push(`${name} is ${excess} px too wide`)
      }

      expect(found).toEqual([])
      expect(visitor.faults).toEqual([])
      await visitor.close()
    },
  )

  test.each([true, false])('an agent is made, and its key shown, with script: %s', async (withScript) => {
    const visitor = await visit({ withScript })
    const { page } = visitor
    await signIn(visitor)
    await page.goto(`${grid.url}/accounts/${grid.acme.id}/new-agent`)

    expect(await page.locator('[name=remoteUrl]').isVisible()).toBe(false)
    await page.check('[name=type][value=a2a]')
    await page.check('[name=accessPolicy][value=allow_list]')
    await page.fill('[name=remoteUrl]', 'https://partner.example/a2a')
    await page.fill('[name=accessList]', 'eve')
    await page.fill('[name=alias]', `made-${withScript ? 'with' : 'without'}-script`)
    await page.click('text=Create agent')

    expect(await page.locator('#secret-text').textContent()).toMatch(/^grid_agt_/)
    await screenshot(page, `key-${withScript ? 'with' : 'without'}-script`)
    expect(visitor.faults).toEqual([])
    await visitor.close()
  })

  async function signIn({ page }: Visitor): Promise<void> {
    await page.goto(`${grid.url}/sign-in`)
    await page.fill('[name=email]', 'ann@acme.example')
    await page.fill('[name=password]', password)
    await page.click('text=Sign in >> nth=-1')
    await page.waitForURL(/\/accounts\//)
  }
})

/** Two days of an account that is used. */
async function fill(grid: LiveGrid): Promise<void> {
  const { acme } = grid
  await grid.setPassword('ann@acme.example', password)
  await acme.agent('night-watch', { description: 'Reads logs, wakes somebody only when it matters' })
  await acme.agent('translator', { description: 'Translates', skills: [{ name: 'German' }, { name: 'Greek' }] })
  await acme.agent('partner-desk', {
    type: 'a2a',
    remoteUrl: 'https://partner.example/a2a',
    remoteToken: 'x',
    visibility: 'public',
    accessPolicy: 'allow_list',
    accessList: ['eve'],
  })
  await createGuardrail(acme.store, { name: 'no secrets', provider: 'pii' })
  await setAgentGuardrails(acme.store, { agent: 'bob', guardrails: [{ ref: 'no secrets', direction: 'inbound' }] })
  const alice = await bearer(grid.store)(`Bearer ${grid.alice.key}`)
  for (let n = 0; n < 40; n++) {
    for (let m = 0; m < n * 7 % 11; m++) await sendMessage(alice, { to: m % 3 ? 'bob' : 'translator', text: 'hi' })
    grid.clock.now += hour
  }
  const admin = (name: string, input: Record<string, unknown>) => callTool(grid, acme.adminKey, name, input)
  const skills = [
    'research',
    'writing',
    'A skill whose name goes on and on until it is too long',
    'summaries',
    'sources',
  ]
  await admin('admin_set_agent_skills', { alias: 'alice', skills: [...skills, 'statistics', 'figures', 'interviews'] })
  await admin('admin_create_agent', { alias: 'alice' })
  await admin('admin_delete_agent', { alias: 'nobody' })
}
