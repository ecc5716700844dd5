/** Text that people, agents and clients stored shows as text on every page. Security: O18. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { browser } from '../support/browse.ts'
import { hasBrowser, useBrowser } from '../support/browser.ts'
import { payloads } from '../support/hostile-text.ts'
import { callTool } from '../support/mcp.ts'
import { type LiveGrid, liveGrid } from '../support/server.ts'
import { furnish, type Furnished, pages, type SitePage } from '../support/site.ts'

/** Every stored field that a page may show, past what the doors let in. What must be unique has its id behind it. */
const fields: Record<string, string[]> = {
  agents: [
    'description = ?1',
    `alias = CASE WHEN alias IN ('night-watch', 'partner-desk') THEN alias ELSE 'z' || ?1 || id END`,
  ],
  agent_access: ['alias = ?1 || rowid'],
  credentials: ['name = ?1'],
  skills: ['name = ?1 || id', 'description = ?1'],
  channels: ['name = ?1 || id', 'description = ?1', 'external_channel_name = ?1'],
  guardrails: ['name = ?1 || id', `config = json_object('baseUrl', ?1, 'model', ?1, 'policy', ?1, 'phrases', ?1)`],
  messages: ['body = ?1', 'from_alias = ?1'],
  signups: ['address = ?1'],
  invitations: ['email = ?1 || id'],
}
const ofEverybody: Record<string, string[]> = {
  users: ['name = ?1'],
  sessions: ['user_agent = ?1', 'address = ?1'],
  accounts: ['name = ?1'],
  oauth_clients: ['name = ?1'],
}
const benign = 'plain words'

let grid: LiveGrid
let site: Furnished
beforeAll(async () => {
  grid = await liveGrid({ env: { DURABILITY: 'relaxed', SIGNUP_PER_HOUR: '1000' } })
  site = await furnish(grid)
  // The log is append-only: its arguments come in by the door.
  for (const text of payloads) {
    await callTool(grid, grid.acme.adminKey, 'admin_list_agents', { search: text.slice(0, 100) })
  }
}, 120_000)
afterAll(() => grid?.close())

describe('each of the payloads, in every field', () => {
  const rounds = Array.from({ length: Math.ceil(payloads.length / 4) }, (_, n) => payloads.slice(n * 4, n * 4 + 4))
  let plain: Map<string, string[]>
  beforeAll(async () => {
    await storeEverywhere(benign)
    plain = new Map()
    for (const page of pages) plain.set(page.name, skeleton(await htmlOf(page)))
  }, 120_000)

  test('there are sixty, and they change the page of whoever does not escape', () => {
    expect(new Set(payloads).size).toBe(60)
    expect(skeleton(`<p>${payloads[0]}</p>`)).not.toEqual(skeleton(`<p>${benign}</p>`))
  })

  test.each(rounds.map((round, n) => [n + 1, round] as const))('round %s', { timeout: 300_000 }, async (_, round) => {
    await storeEverywhere(round.join(' '))
    let shown = 0
    for (const page of pages) {
      const html = await htmlOf(page)
      expect(skeleton(html), page.name).toEqual(plain.get(page.name))
      expect(
        targets(html).filter((target) =>
          !/^(\/(?!\/)|#|https?:\/\/(127\.0\.0\.1|localhost)|data:image\/)/.test(target)
        ),
      )
        .toEqual([])
      if (round.every((text) => html.includes(escaped(text)))) shown++
    }
    expect(shown).toBeGreaterThan(25)
  })
})

describe.skipIf(!hasBrowser)('in Chromium', () => {
  const visit = useBrowser()

  test('all of them together open no dialog, add no element and break no rule', { timeout: 300_000 }, async () => {
    await storeEverywhere(benign)
    const counted = await look()
    await storeEverywhere(payloads.join(' '))

    expect(await look()).toEqual(counted)
  })

  /** How many elements each page has, and what went wrong on it. */
  async function look(): Promise<string[]> {
    const found: string[] = []
    for (const who of ['nobody', 'owner'] as const) {
      const { page, context, faults, close } = await visit()
      page.on('dialog', (dialog) => (faults.push(`dialog: ${dialog.message()}`), dialog.dismiss()))
      for (const [name, value] of site.browsers[who]?.cookies ?? []) {
        await context.addCookies([{ name, value, url: grid.url }])
      }
      for (const { name, path } of pages.filter(({ as = 'owner' }) => as === who)) {
        await page.goto(grid.url + path(site))
        found.push(`${name}: ${await page.evaluate('document.querySelectorAll("*:not(svg *)").length')}`)
      }
      expect(faults).toEqual([])
      await close()
    }
    return found
  }
})

async function storeEverywhere(text: string): Promise<void> {
  const { id } = grid.acme
  await grid.store.write([
    ...Object.entries(fields).map(([table, sets]) => ({
      sql: `UPDATE "${table}" SET ${sets.join(', ')} WHERE "account_id" = ?`,
      args: [text, id],
    })),
    ...Object.entries(ofEverybody).map(([table, sets]) => ({
      sql: `UPDATE "${table}" SET ${sets.join(', ')}`,
      args: [text],
    })),
  ])
}

async function htmlOf({ as = 'owner', path }: SitePage): Promise<string> {
  return await (await (site.browsers[as] ?? browser(grid)).request(path(site))).text()
}

const tag = /<(\/?[a-z][a-z0-9]*)((?:"[^"]*"|[^">])*)>/gi

/** Its elements with the names of their attributes: what no text may change. The icon of an agent is drawn from its alias. */
function skeleton(html: string): string[] {
  return [...html.matchAll(tag)].filter(([, name]) => !/^\/?(path|rect|circle)$/.test(name)).map(([, name, rest]) =>
    [name, ...rest.replace(/="[^"]*"/g, '').trim().split(/\s+/)].join(' ').trim()
  )
}

/** Where links, forms and pictures lead. */
function targets(html: string): string[] {
  return [...html.matchAll(/ (?:href|src|action)="([^"]*)"/g)].map(([, target]) => target)
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll("'", '&#39;').replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
}
