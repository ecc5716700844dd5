import type { PageBudget } from '../lib/read-page.ts'

/**
 * A page of a list for an agent, which costs its model context. A search goes through at most `rows` entries for one
 * page, so that no call takes long, however many there are. See docs/protocol.md, "Pages".
 */
export const agentPage: PageBudget = { entries: 200, bytes: 32_000, chunk: 25, rows: 1_000 }
