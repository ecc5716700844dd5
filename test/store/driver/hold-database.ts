/** Opens the database given as its first argument, prints the outcome, and holds the database until stdin ends. */
import { processDeps } from '../../../src/cli/process.ts'
import { readConfig } from '../../../src/config.ts'
import { openStore } from '../../../src/store/store.ts'

const config = readConfig({ DATABASE_URL: process.argv[2], LOG_LEVEL: 'error' })

openStore(processDeps(config)).then(async (store) => {
  await store.write([{
    sql: "INSERT INTO store_facts (key, value) VALUES (?, 'held')",
    args: [`held by ${process.pid}`],
  }])
  print({ opened: true })
  for await (const _ of process.stdin);
  await store.close()
}, (error) => print({ refused: error.message, code: error.code }))

function print(line: unknown): void {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}
