/**
 * `npm run recount`: computes every derived table and counter of a database anew and names each difference. The grid that
 * uses a local file must be stopped; the worker must have taken in all messages. `--without-history` leaves
 * out the counts of what happened: they differ once messages were blocked, removed or moved, or the clock jumped.
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
