/**
 * `npm run recount`: recomputes every derived table and counter of a database and reports each difference. Stop a grid
 * that uses a local file first. The worker must have processed all messages. `--without-history` omits the counts of
 * past events. These counts differ after messages were blocked, removed or moved, or after the clock jumped.
 */
import process from 'node:process'
import { parseArgs } from 'node:util'
import { counts } from './recount/counts.ts'
import { recount } from './recount/recount.ts'

const { values } = parseArgs({ options: { 'without-history': { type: 'boolean' } } })
const { DATABASE_URL: url = 'file:./data/grid.db', DATABASE_AUTH_TOKEN: authToken } = process.env
const differences = await recount({ url, authToken }, { withHistory: !values['without-history'] })
for (const line of differences) console.log(line)
console.log(`${counts.length} derived tables and counters, ${differences.length} differences`)
process.exitCode = differences.length === 0 ? 0 : 1
