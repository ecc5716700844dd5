/** The PostgreSQL queue as an HTTP service: the two statements behind JSON requests with a key. */
import { Hono } from 'hono'
import pg from 'pg'
import process from 'node:process'
import { hashForLookup } from '../../../src/lib/secrets.ts'
import { listen } from '../../../src/listen.ts'
import { publish, take } from './postgresql-queue.ts'

/** The pool size that was fastest in trials on two cores. */
const connections = 16

const pool = new pg.Pool({ max: connections })
const byKey = { name: 'by key', text: 'SELECT queue FROM keys WHERE hash = $1' }

async function queueOf(authorization: string | undefined): Promise<string | undefined> {
  const key = authorization?.replace(/^Bearer /, '') ?? ''
  return (await pool.query({ ...byKey, values: [hashForLookup(key)] })).rows[0]?.queue
}

const app = new Hono()
app.get('/readyz', async (c) => c.json((await pool.query('SELECT 1')).rows))
app.post('/publish', async (c) => {
  const queue = await queueOf(c.req.header('authorization'))
  if (queue === undefined) return c.json({ error: 'unknown key' }, 401)
  const { text } = await c.req.json()
  await pool.query({ ...publish, values: [queue, text] })
  return c.json({ stored: true }, 201)
})
app.post('/take', async (c) => {
  const queue = await queueOf(c.req.header('authorization'))
  if (queue === undefined) return c.json({ error: 'unknown key' }, 401)
  return c.json({ text: (await pool.query({ ...take, values: [queue] })).rows[0]?.body })
})

process.once('SIGTERM', () => process.exit(0))
void listen((request) => Promise.resolve(app.fetch(request)), { port: Number(process.env.PORT), host: '127.0.0.1' })
