/** Page sizes of lists for agents. Pages are short, because each row fills a model's context. */
import type { PageBudget } from '../lib/read-page.ts'

/** A search reads at most `rows` rows for one page. */
export const agentPage: PageBudget = { entries: 200, bytes: 29_500, chunk: 25, rows: 1_000 }
