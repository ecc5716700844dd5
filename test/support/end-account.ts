/**
 * `end-account.ts ACCOUNT WORD` with `DATABASE_URL`: erases @alice's messages, then deletes her account and removes it.
 * Prints the tables that contain the word after the erasure, and the tables with rows of the account after the removal.
 */
import process from 'node:process'
import { getTableName } from 'drizzle-orm'
import { accountTables } from '../../db/account-tables.ts'
import * as schema from '../../db/schema.ts'
import { processDeps } from '../../src/cli/process.ts'
import { readConfig } from '../../src/config.ts'
import { deleteAccount } from '../../src/grid/accounts/deletion.ts'
import { eraseWords } from '../../src/grid/accounts/erase-words.ts'
import { day } from '../../src/lib/time.ts'
import { openStore } from '../../src/store/store.ts'
import { sweep } from '../../src/worker/retention.ts'

const tables = (Object.keys(accountTables) as (keyof typeof accountTables)[]).map((name) => getTableName(schema[name]))

async function main(id: string, word: string): Promise<void> {
  let now = Date.now()
  const store = await openStore({ ...processDeps(readConfig({ LOG_LEVEL: 'error', ...process.env })), now: () => now })
  const account = store.account(id, { type: 'system', job: 'test' })
  const tablesWith = async (text: string) => {
    const found = await store.write(
      tables.map((table) => ({ sql: `SELECT * FROM "${table}" WHERE account_id = ?`, args: [id], rows: 0 })),
    )
    return tables.filter((_, n) => found[n].some((row) => JSON.stringify(row).includes(text)))
  }
  await eraseWords(account, 'alice')
  const erased = await tablesWith(word)
  await deleteAccount(account, { name: 'Acme' })
  now += 7 * day
  await sweep(store)
  console.log(JSON.stringify({ erased, removed: await tablesWith('') }))
  await store.close()
}

void main(process.argv[2], process.argv[3])
