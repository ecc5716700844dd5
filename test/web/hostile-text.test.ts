/** Every page escapes stored text of users, agents and clients. See docs/security.md, "Pages". */
import { beforeAll, describe, expect, test } from 'vitest'
import { browser } from '../support/browse.ts'
import { hostileTexts } from '../support/hostile-text.ts'
import { callTool } from '../support/mcp.ts'
import { type LiveGrid, liveGrid } from '../support/server.ts'
import { pagesOf, type SeededSite, seedSite, type SitePage } from '../support/site.ts'

/** SQL assignments, without validation, for each stored field that a page may show. Unique fields append the id. */
const fields: Record<string, string[]> = {
  agents: [
    'description = ?1',
    `alias = CASE WHEN alias IN ('night-watch', 'partner-desk') THEN alias ELSE 'z' || ?1 || id END`,
  ],
  agent_access: ['alias = ?1 || rowid'],
  credentials: ['name = ?1'],
  skills: ['name = ?1 || id', 'description = ?1'],
  channels: [
    'name = ?1 || id',
    'description = ?1',
    'external_channel_name = ?1',
    `external_integration_type = 'slack'`,
  ],
  guardrails: ['name = ?1 || id', `config = json_object('baseUrl', ?1, 'model', ?1, 'policy', ?1, 'phrases', ?1)`],
  verdicts: [
    'guardrail_name = ?1',
    'kinds = json_array(?1)',
    'sender_alias = ?1',
    'recipient = ?1',
    'content = iif(content IS NULL, NULL, ?1)',
  ],
  messages: [
    'body = ?1',
    'from_alias = ?1',
    'recipient = substr(recipient, 1, 1) || ?1',
    'conversation_id = iif(conversation_id IS NULL, NULL, ?1)',
  ],
  // The id of a conversation is part of the key.
  threads: [`key = iif(kind = 'conversation', substr(key, 1, instr(key, '/')) || ?1 || id, key)`],
  signups: ['address = ?1'],
  invitations: ['email = ?1 || id'],
}
const globalFields: Record<string, string[]> = {
  users: ['name = ?1'],
  sessions: ['user_agent = ?1', 'address = ?1'],
  accounts: ['name = ?1'],
  oauth_clients: ['name = ?1'],
}
const benign = 'plain words'

let grid: LiveGrid
let site: SeededSite
let pages: SitePage[]
beforeAll(async () => {
  grid = await liveGrid({ env: { DURABILITY: 'relaxed', SIGNUP_PER_HOUR: '1000' } })
  site = await seedSite(grid)
  pages = await pagesOf(grid, site)
  // Opens every page once, because reading conversations adds rows to the log.
  for (const page of pages) await htmlOf(page)
  // The log is append-only, so these rows come from real calls.
  for (const text of hostileTexts) {
    await callTool(grid, grid.acme.adminKey, 'admin_list_agents', { search: text.slice(0, 100) })
  }
}, 120_000)

describe('each hostile text in every field', () => {
  const rounds = Array.from(
    { length: hostileTexts.length / 12 },
    (_, n) => hostileTexts.slice(n * 12, n * 12 + 12),
  )
  let plain: Map<string, string[]>
  beforeAll(async () => {
    await storeEverywhere(benign)
    plain = new Map()
    for (const page of pages) plain.set(page.name, skeleton(await htmlOf(page)))
  }, 120_000)

  test('an unescaped hostile text would change a page', () => {
    expect(skeleton(`<p>${hostileTexts[0]}</p>`)).not.toEqual(skeleton(`<p>${benign}</p>`))
  })

  test.each(rounds.map((round, n) => [n + 1, round] as const))('round %s', { timeout: 300_000 }, async (_, round) => {
    await storeEverywhere(round.join(' '))
    let shown = 0
    for (const page of pages) {
      const html = await htmlOf(page)
      expect(skeleton(html), page.name).toEqual(plain.get(page.name))
      expect(
        targets(html).filter((target) =>
          !/^(\/(?!\/)|#|\?[\w=&;]*#text$|https?:\/\/(127\.0\.0\.1|localhost)|data:image\/|otpauth:\/\/totp\/)/
            .test(target)
        ),
      )
        .toEqual([])
      if (round.every((text) => html.includes(escaped(text)))) shown++
    }
    expect(shown).toBeGreaterThan(25)
  })
})

// Older versions stored direction controls. See docs/security.md, "Pages".
test('no stored text reorders its neighbours', { timeout: 120_000 }, async () => {
  await storeEverywhere('\u202ereversed\u2069')
  const found: string[] = []
  for (const page of pages) {
    const seen = (await htmlOf(page))
      .replace(/<textarea[^>]*>[^<]*<\/textarea>/g, '')
      .replace(/ value="[^"]*"/g, '')
      // Removes the page's own bidi isolates.
      .replace(/\u2068[^\u2069]*\u2069/g, '')
    for (const [around] of seen.matchAll(/.{0,80}[\u202a-\u202e\u2066-\u2069]/g)) found.push(`${page.name}: ${around}`)
  }

  expect(found).toEqual([])
})

async function storeEverywhere(text: string): Promise<void> {
  const { id } = grid.acme
  await grid.store.write([
    ...Object.entries(fields).map(([table, sets]) => ({
      sql: `UPDATE "${table}" SET ${sets.join(', ')} WHERE "account_id" = ?`,
      args: [text, id],
    })),
    ...Object.entries(globalFields).map(([table, sets]) => ({
      sql: `UPDATE "${table}" SET ${sets.join(', ')}`,
      args: [text],
    })),
  ])
}

async function htmlOf({ as = 'owner', path }: SitePage): Promise<string> {
  return await (await (site.browsers[as] ?? browser(grid)).request(path(site))).text()
}

const tag = /<(\/?[a-z][a-z0-9]*)((?:"[^"]*"|[^">])*)>/gi

/** The HTML of a message's Markdown, up to the offered answers or the following element. */
const markdown =
  /<div class="text">([\s\S]*?)(?:<div class="offer">|<\/div>(?=<div class="below">|<\/div><\/section>|<a class="alone(?: small)?"|<\/li>))/g
/** The elements that Markdown can produce. Links are checked separately: their `rel` reveals nothing to the target. */
const ofMarkdown =
  /^(\/?(p|blockquote|ul|ol|li|em|strong|s|code|pre|br|hr|table|thead|tbody|tr|th|td|span|bdi|div)( (dir|class|start|tabindex))*|a href rel target|a href|\/a)( \/)?$/

/**
 * Returns the elements with their attribute names. No text may change them, except for elements that Markdown produces.
 * Agent icons are ignored, because they depend on the alias.
 */
function skeleton(html: string): string[] {
  const others = html.replace(markdown, (_, text: string) => {
    expect(elementsIn(text).filter((element) => !ofMarkdown.test(element))).toEqual([])
    return '<div class="text"></div>'
  })
  return elementsIn(others)
}

function elementsIn(html: string): string[] {
  return [...html.matchAll(tag)].filter(([, name]) => !/^\/?(path|rect|circle)$/.test(name)).map(([, name, rest]) =>
    [name, ...rest.replace(/="[^"]*"/g, '').trim().split(/\s+/)].join(' ').trim()
  )
}

/** Returns the URLs of links, forms and images. */
function targets(html: string): string[] {
  return [...html.matchAll(/ (?:href|src|action)="([^"]*)"/g)].map(([, target]) => target)
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll("'", '&#39;').replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
}
