/**
 * A minimal broker for one machine on Bun: `Bun.serve` in front of `bun:sqlite`. Each publish and each take is one
 * statement with one fsynced commit. It has no keys, accounts, input validation, leases or history.
 */
import process from 'node:process'

/** The part of Bun that this file uses. Bun's types are not installed. */
interface BunRuntime {
  serve(options: { port: number; hostname: string; fetch(request: Request): Promise<Response> }): void
}
interface BunDatabase {
  exec(sql: string): void
  query(sql: string): { run(...values: string[]): void; get(...values: string[]): { body: string } | null }
}

const { Bun } = globalThis as unknown as { Bun: BunRuntime }
// The module name is in a variable, because only Bun can resolve it.
const module: string = 'bun:sqlite'
const { Database } = await import(module) as { Database: new (path: string) => BunDatabase }

const database = new Database(process.env.DATABASE_FILE!)
database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
database.exec('CREATE TABLE messages (id INTEGER PRIMARY KEY, queue TEXT NOT NULL, body TEXT NOT NULL, taken_at TEXT)')
database.exec('CREATE INDEX waiting ON messages (queue, id) WHERE taken_at IS NULL')
const publish = database.query('INSERT INTO messages (queue, body) VALUES (?, ?)')
const take = database.query(`UPDATE messages SET taken_at = datetime() WHERE id = (
  SELECT id FROM messages WHERE queue = ? AND taken_at IS NULL ORDER BY id LIMIT 1
) RETURNING body`)

process.once('SIGTERM', () => process.exit(0))
Bun.serve({
  port: Number(process.env.PORT),
  hostname: '127.0.0.1',
  async fetch(request) {
    const { pathname } = new URL(request.url)
    if (pathname === '/readyz') return Response.json({ ready: true })
    const { queue, text } = await request.json()
    if (pathname === '/take') return Response.json({ text: take.get(queue)?.body })
    publish.run(queue, text)
    return Response.json({ stored: true }, { status: 201 })
  },
})
