import type { PageBudget } from '../lib/read-page.ts'

/** A page of a list for an agent, which costs its model context. See docs/protocol.md, "Pages". */
export const agentPage: PageBudget = { entries: 200, bytes: 32_000, chunk: 25 }
