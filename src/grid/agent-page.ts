/** Page sizes of lists for agents, kept small because each row takes up space in the model's context. */
import type { PageBudget } from '../lib/read-page.ts'

/** A search reads at most `rows` entries for one page. */
export const agentPage: PageBudget = { entries: 200, bytes: 29_500, chunk: 25, rows: 1_000 }
